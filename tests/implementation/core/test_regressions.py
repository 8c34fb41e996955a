"""Differences that random walks have found, minimised."""

from __future__ import annotations

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID, commit
from groupcheck.model.classic.state import (
    Advance,
    FailAppends,
    HoldAppends,
    Loading,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import ErrorCode, Request
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from support.requests import join, leave, sync

AT_ONCE = {"group.initial.rebalance.delay.ms": 0}


def _conforms(profile: str, *steps: Input) -> bool:
    return replay(Sequence(profile, AT_ONCE, steps), BuiltinPort()) is None


def test_duplicate_partition_of_a_commit_is_returned_once_after_a_shutdown() -> None:
    body = commit(-1, "")
    (topic,) = body.topics
    twice = body._replace(topics=(topic._replace(partitions=topic.partitions * 2),))
    for profile, version in (("2.7", 8), ("4.1", 9)):
        assert _conforms(profile, Shutdown(), Request(1, version, twice))


def test_fetch_that_fails_is_answered_as_in_kafka_if_it_repeats_a_partition() -> None:
    asked = (
        kafka.OffsetFetchRequestTopic("topic", (0, 0)),
        kafka.OffsetFetchRequestTopic("other", ()),
    )
    fetch = Request(1, 1, kafka.OffsetFetchRequest(GROUP_ID, asked))
    for profile in ("2.7", "4.1"):
        for fault in (Shutdown(), Unload(), Loading()):
            assert _conforms(profile, fault, fetch)


def _join(request_id: int, member_id: str = "") -> Request:
    return Request(request_id, 3, join(member_id, rebalance_ms=20_000))


def _sync(request_id: int, member_id: str, assignments: dict[str, bytes]) -> Request:
    body = sync(member_id, 2, assignments, protocol_type=None, protocol_name=None)
    return Request(request_id, 4, body)


def test_follower_that_waits_for_two_appends_gets_one_response_when_they_are_lost() -> None:
    stable = (_join(1), _join(2), _join(3, "#1"))
    synced = (_sync(4, "#2", {}), _sync(5, "#1", {"#1": b"a", "#2": b"b"}))
    for end in (Unload(), Shutdown()):
        assert _conforms("4.1", HoldAppends(), *stable, *synced, end)


def test_static_member_with_a_rebalance_timeout_of_zero_lets_time_advance() -> None:
    alone = Request(1, 5, join(rebalance_ms=0, instance="one"))
    comes = Request(3, 3, join(rebalance_ms=0))
    steps = (alone, Advance(0), comes, Request(4, 3, leave("#3")), Advance(20), Advance(10_000))
    for profile in ("2.7", "4.1"):
        assert _conforms(profile, *steps)


def _restarts(request_id: int, member_id: str = "") -> Request:
    body = join(member_id, session_ms=60_000, rebalance_ms=60_000, instance="one")
    return Request(request_id, 7, body)


FAILS = FailAppends(1, ErrorCode.KAFKA_STORAGE_ERROR)
STABLE = (_restarts(1), Request(2, 3, sync("#1", 1, {}, instance="one")))


def test_static_member_replaced_twice_gets_no_response_if_the_first_append_fails() -> None:
    steps = (*STABLE, HoldAppends(), FAILS, _restarts(3), _restarts(4), ReleaseAppends())
    assert _conforms("2.7", *steps, Advance(1_000), _restarts(5))


def test_static_member_with_its_new_id_gets_no_second_response_when_the_append_fails() -> None:
    answered = (_restarts(3), _join(4), Request(5, 3, leave("#4")))
    assert _conforms("2.7", *STABLE, HoldAppends(), FAILS, *answered, ReleaseAppends())
