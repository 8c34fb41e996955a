"""The shrinker: the shortest sequence with the same finding."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.minimising import without
from groupcheck.model.vocabulary import ErrorCode, Protocol, Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.merge_steps import advances_merged, shorter_forms
from groupcheck.properties.findings.shrink import fair, shrink, simpler, sooner
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from support import requests
from support.model_port import ModelPort
from support.spaces import explored_once

if TYPE_CHECKING:
    import pytest


class TakesOldGenerations(ModelPort):
    """Accepts heartbeats of any generation."""

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        seen = super().request(request, expected)
        wrong = kafka.HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)
        return seen._replace(
            responses=tuple(
                r._replace(body=kafka.HeartbeatResponse(ErrorCode.NONE)) if r.body == wrong else r
                for r in seen.responses
            )
        )


def _join(request_id: int, version: int = 3) -> Request:
    body = kafka.JoinGroupRequest(
        GROUP_ID, 300_000, 450_000, protocols=(Protocol("range", b"one"),)
    )
    return Request(request_id, version, body)


NOISY = Sequence(
    "2.7",
    {"group.initial.rebalance.delay.ms": 150_000},
    (
        Request(1, 5, kafka.DescribeGroupsRequest((GROUP_ID,))),
        _join(2, 7),
        _join(3),
        Request(4, 4, requests.heartbeat("nobody", 0)),
        Advance(150_000),
        Advance(150_000),
        Request(5, 5, kafka.DescribeGroupsRequest((GROUP_ID,))),
        Request(6, 4, requests.heartbeat("#3", 0)),
    ),
)


class ListsMembersToFollowers(ModelPort):
    """Gives followers the leader's member list."""

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        seen = super().advance(ms, expected)
        lists = [getattr(r.body, "members", ()) for r in seen.responses]
        everybody = max(lists, key=len, default=())
        return seen._replace(
            responses=tuple(
                r._replace(body=r.body._replace(members=everybody))
                if isinstance(r.body, kafka.JoinGroupResponse) and r.body.error_code == 0
                else r
                for r in seen.responses
            )
        )


def _first(
    sequences: list[Sequence], key: tuple[str, ...], port: type[ModelPort]
) -> Finding | None:
    found = (replay(sequence, port()) for sequence in sequences)
    return next((f for f in found if f is not None and f.key == key), None)


def _trial(sequences: list[Sequence]) -> Finding | None:
    return _first(sequences, _found().key, TakesOldGenerations)


def _found() -> Finding:
    finding = replay(NOISY, TakesOldGenerations())
    assert finding is not None
    assert len(finding.sequence.steps) == len(NOISY.steps)
    return finding


def _shorter(sequence: Sequence, size: int) -> Iterator[Sequence]:
    return fair(sequence, without(sequence.steps, size))


def test_removing_steps_ends_when_every_step_is_needed() -> None:
    small = shrink(_found(), _trial)
    assert len(small.sequence.steps) == 3  # JoinGroup, the initial delay, the old heartbeat
    assert all(_trial([s]) is None for s in _shorter(small.sequence, 1))


def test_the_state_graph_has_a_shorter_trace_than_removing_steps() -> None:
    space = explored_once(virtual_time_instances(PROFILES["2.7"], 2)["membership"])
    small = shrink(_found(), _trial, [StateGraph(space)])
    assert len(small.sequence.steps) == 3
    assert small.key == _found().key


def test_consecutive_advances_are_merged() -> None:
    steps = advances_merged(NOISY).steps
    assert len(steps) == len(NOISY.steps) - 1
    assert Advance(300_000) in steps


def test_the_last_advance_is_as_short_as_the_finding_allows() -> None:
    long = Sequence("2.7", {}, (_join(1), _join(2), Advance(600_000)))
    finding = replay(long, ListsMembersToFollowers())
    assert finding is not None
    small = shrink(finding, lambda ss: _first(ss, finding.key, ListsMembersToFollowers))
    assert small.sequence.steps[-1] == Advance(6_000)  # the initial delay and its extension


def test_an_advance_after_which_edited_rules_have_no_outcome_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = Sequence("2.7", {}, (_join(1), _join(2), Advance(600_000)))
    finding = replay(long, ListsMembersToFollowers())
    assert finding is not None
    earlier = list(sooner(finding))
    monkeypatch.setattr("groupcheck.properties.findings.shrink.successors", lambda *_: [])
    assert list(sooner(finding)) == earlier[:1]
    assert len(earlier) > 1


def test_a_wait_for_a_timer_that_is_late_is_not_made_shorter() -> None:
    """On a real clock, no time may be left on a timer that has not fired."""
    long = Sequence("2.7", {}, (_join(1), _join(2), Advance(600_000)))
    finding = replay(long, ListsMembersToFollowers())
    assert finding is not None
    before = finding.before
    assert before is not None
    assert before.group is not None
    assert before.group.join_timer is not None
    late = before.group.join_timer._replace(left_ms=-31)
    group = before.group._replace(join_timer=late)
    assert not list(sooner(finding._replace(before=before._replace(group=group))))


def test_removing_a_join_removes_the_steps_with_its_member_id() -> None:
    for size in range(1, 8):
        for smaller in _shorter(NOISY, size):
            assert smaller.steps[-1] == NOISY.steps[-1]
            assert _join(3) in smaller.steps


def test_needless_elements_of_lists_and_settings_that_no_graph_has_are_removed() -> None:
    space = explored_once(virtual_time_instances(PROFILES["2.7"], 1)["membership"])
    range_, other = Protocol("range", b"one"), Protocol("other", b"")
    join = kafka.JoinGroupRequest(GROUP_ID, 300_000, 450_000, protocols=(other, range_, other))
    heartbeat = Request(4, 4, requests.heartbeat("#3", 0))
    broker = {"group.initial.rebalance.delay.ms": 1_000, "offset.metadata.max.bytes": 0}
    steps = (Request(3, 3, join), Advance(1_000), heartbeat)
    finding = replay(Sequence("2.7", broker, steps), TakesOldGenerations())
    assert finding is not None
    small = shrink(finding, _trial, [StateGraph(space)]).sequence
    assert small.broker == {"group.initial.rebalance.delay.ms": 1_000}
    one_protocol = Request(3, 3, join._replace(protocols=(other,)))
    assert small.steps == (one_protocol, Advance(1_000), heartbeat)
    assert shrink(finding, _trial).sequence.broker == broker


def test_topics_and_partitions_of_a_commit_are_removed_one_by_one() -> None:
    partitions = tuple(kafka.OffsetCommitRequestPartition(n, n) for n in range(3))
    first = kafka.OffsetCommitRequestTopic("first", partitions)
    other = kafka.OffsetCommitRequestTopic("other", partitions[:1])
    commit = kafka.OffsetCommitRequest(GROUP_ID, topics=(first, other))
    candidates = simpler(Sequence("2.7", {}, (Request(1, 7, commit),)))
    bodies: list[Any] = [getattr(each.steps[0], "body", None) for each in candidates]
    assert [[len(topic.partitions) for topic in body.topics] for body in bodies] == [
        [1],
        [2, 1],
        [2, 1],
        [2, 1],
        [3],
    ]
    assert len(set(bodies)) == len(bodies)


def test_one_step_replaces_two() -> None:
    asks, joins = _join(1, 7), _join(2, 7)
    joins = joins._replace(body=rename(joins.body, {"": "#1"}, 0))
    heartbeat = Request(4, 4, requests.heartbeat("#3", 1))
    steps = (asks, joins, Advance(1), _join(3), Advance(2), heartbeat)
    found = {each.steps for each in shorter_forms(Sequence("2.7", {}, steps))}
    first = Request(4, 4, requests.heartbeat("#1", 1))
    assert found == {
        (_join(1, 3), Advance(1), _join(3), Advance(2), heartbeat),  # a member at once
        (asks, joins, Advance(1), Advance(2), first),  # one member instead of two
        (asks, joins, _join(3), Advance(3), heartbeat),  # the times after both, and before
        (asks, joins, Advance(3), _join(3), heartbeat),
    }
