"""Differences that random walks have found, minimised."""

from __future__ import annotations

from groupcheck.model.instances.inputs import GROUP_ID, PROTOCOLS, commit
from groupcheck.model.state import (
    Advance,
    FailAppends,
    HoldAppends,
    Loading,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    Request,
    SyncGroupRequest,
)
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence

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
    asked = (OffsetFetchRequestTopic("topic", (0, 0)), OffsetFetchRequestTopic("other", ()))
    fetch = Request(1, 1, OffsetFetchRequest(GROUP_ID, asked))
    for profile in ("2.7", "4.1"):
        for fault in (Shutdown(), Unload(), Loading()):
            assert _conforms(profile, fault, fetch)


def _join(request_id: int, member_id: str = "") -> Request:
    body = JoinGroupRequest(GROUP_ID, 10_000, 20_000, member_id, protocols=PROTOCOLS)
    return Request(request_id, 3, body)


def _sync(request_id: int, member_id: str, *assignments: Assignment) -> Request:
    body = SyncGroupRequest(GROUP_ID, 2, member_id, None, None, None, assignments)
    return Request(request_id, 4, body)


def test_follower_that_waits_for_two_appends_gets_one_response_when_they_are_lost() -> None:
    stable = (_join(1), _join(2), _join(3, "#1"))
    synced = (_sync(4, "#2"), _sync(5, "#1", Assignment("#1", b"a"), Assignment("#2", b"b")))
    for end in (Unload(), Shutdown()):
        assert _conforms("4.1", HoldAppends(), *stable, *synced, end)


def test_static_member_with_a_rebalance_timeout_of_zero_lets_time_advance() -> None:
    body = JoinGroupRequest(GROUP_ID, 10_000, 0, "", "one", protocols=PROTOCOLS)
    alone = Request(1, 5, body)
    leaves = LeaveGroupRequest(GROUP_ID, (MemberIdentity("#3"),))
    comes = Request(3, 3, body._replace(group_instance_id=None))
    steps = (alone, Advance(0), comes, Request(4, 3, leaves), Advance(20), Advance(10_000))
    for profile in ("2.7", "4.1"):
        assert _conforms(profile, *steps)


def _restarts(request_id: int, member_id: str = "") -> Request:
    body = JoinGroupRequest(GROUP_ID, 60_000, 60_000, member_id, "one", protocols=PROTOCOLS)
    return Request(request_id, 7, body)


FAILS = FailAppends(1, ErrorCode.KAFKA_STORAGE_ERROR)
STABLE = (_restarts(1), Request(2, 3, SyncGroupRequest(GROUP_ID, 1, "#1", "one")))


def test_static_member_replaced_twice_gets_no_response_if_the_first_append_fails() -> None:
    steps = (*STABLE, HoldAppends(), FAILS, _restarts(3), _restarts(4), ReleaseAppends())
    assert _conforms("2.7", *steps, Advance(1_000), _restarts(5))


def test_static_member_with_its_new_id_gets_no_second_response_when_the_append_fails() -> None:
    leaves = LeaveGroupRequest(GROUP_ID, (MemberIdentity("#4"),))
    answered = (_restarts(3), _join(4), Request(5, 3, leaves))
    assert _conforms("2.7", *STABLE, HoldAppends(), FAILS, *answered, ReleaseAppends())
