"""The optimised coordinator alone: scenarios of Kafka 2.7, with no model to compare with."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import pytest

from groupcheck.implementation import Config, Coordinator
from groupcheck.implementation.core.config import random_member_id
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.timers import NEVER, Timer, Timers
from groupcheck.model.vocabulary import (
    DescribeGroupsRequest,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    Protocol,
    Request,
    SyncGroupRequest,
    SyncGroupResponse,
)
from support.coordinators import (
    DELAY_MS,
    NEW_MEMBER_MS,
    RANGE,
    REBALANCE_MS,
    SESSION_MS,
    Bench,
    Chooser,
    joined,
    stable,
)

# JoinGroup


@pytest.mark.parametrize("session_timeout_ms", [5_999, 1_800_001])
def test_a_session_timeout_out_of_range_is_refused_before_a_group_is_made(
    session_timeout_ms: int,
) -> None:
    bench = Bench()
    request_id = bench.join(session_timeout_ms=session_timeout_ms)
    assert bench.answers[request_id] == JoinGroupResponse(ErrorCode.INVALID_SESSION_TIMEOUT)
    assert bench.coordinator.views() == ()


@pytest.mark.parametrize("session_timeout_ms", [6_000, 1_800_000])
def test_the_bounds_of_the_session_timeout_are_allowed(session_timeout_ms: int) -> None:
    bench = Bench()
    assert bench.join(session_timeout_ms=session_timeout_ms) not in bench.answers


def test_a_refused_join_repeats_the_member_id_and_carries_generation_minus_one() -> None:
    bench = Bench()
    request_id = bench.join("stranger")
    assert bench.answers[request_id] == JoinGroupResponse(
        ErrorCode.UNKNOWN_MEMBER_ID, generation_id=-1, leader="", member_id="stranger"
    )
    assert bench.coordinator.views() == ()


@pytest.mark.parametrize("fields", [{"protocols": ()}, {"protocol_type": ""}])
def test_a_group_made_by_a_refused_join_stays_as_an_empty_one(fields: dict[str, Any]) -> None:
    bench = Bench()
    request_id = bench.join(**fields)
    assert bench.answers[request_id].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.view.state == GroupState.EMPTY
    assert bench.view.protocol_type is None


def test_inconsistent_protocols_win_over_an_unknown_member_id() -> None:
    bench = joined(1)
    request_id = bench.join("stranger", protocol_type="connect")
    assert bench.answers[request_id].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_from_version_4_a_new_member_is_told_its_id_and_stays_pending() -> None:
    bench = Bench()
    request_id = bench.join(version=4)
    assert bench.answers[request_id] == JoinGroupResponse(
        ErrorCode.MEMBER_ID_REQUIRED, member_id="m1"
    )
    assert (bench.view.state, bench.view.pending_members) == (GroupState.EMPTY, ("m1",))
    bench.join("m1", version=4)
    assert (bench.member_ids, bench.view.pending_members) == (["m1"], ())
    bench.advance(SESSION_MS - 1)
    bench.heartbeat("m1")
    bench.advance(1)  # nothing is left of the timer it had while pending
    assert (bench.member_ids, bench.view.generation_id) == (["m1"], 1)


def test_a_pending_member_is_forgotten_after_its_session_timeout() -> None:
    bench = Bench()
    bench.join(version=4)
    bench.advance(SESSION_MS - 1)
    assert bench.view.pending_members == ("m1",)
    bench.advance(1)
    assert not bench.view.pending_members
    assert bench.answers[bench.join("m1")].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_leader_alone_is_told_the_members_with_their_metadata() -> None:
    bench = Bench()
    one, two = bench.join(), bench.join(protocols=(Protocol("range", b"x"),))
    bench.advance(DELAY_MS * 2)
    leader, follower = bench.answers[one], bench.answers[two]
    assert [m.member_id for m in leader.members] == ["m1", "m2"]
    assert [m.metadata for m in leader.members] == [b"r", b"x"]
    assert leader._replace(members=()) == JoinGroupResponse(
        ErrorCode.NONE, 1, "consumer", "range", "m1", "m1"
    )
    assert follower == JoinGroupResponse(ErrorCode.NONE, 1, "consumer", "range", "m1", "m2")


def test_a_second_join_of_a_parked_member_replaces_the_first_which_is_never_answered() -> None:
    bench = stable(2)
    one = bench.join("m1")
    two = bench.join("m1")
    bench.join("m2")
    assert one not in bench.answers
    assert bench.answers[two].generation_id == 2


def test_a_join_repeated_while_completing_gets_the_generation_again() -> None:
    bench = joined(2)
    assert len(bench.answers[bench.join("m1")].members) == 2
    assert bench.answers[bench.join("m2")].members == ()
    assert bench.view.state == GroupState.COMPLETING_REBALANCE


def test_a_join_with_other_metadata_while_completing_starts_over() -> None:
    bench = joined(2)
    parked = bench.sync("m2")
    bench.join("m2", protocols=(Protocol("range", b"x"),))
    assert bench.answers[parked] == SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)
    assert bench.view.state == GroupState.PREPARING_REBALANCE
    assert bench.member("m2").awaiting_join


def test_an_unchanged_follower_of_a_stable_group_does_not_rebalance_it() -> None:
    bench = stable(2)
    assert bench.answers[bench.join("m2")].generation_id == 1
    assert bench.view.state == GroupState.STABLE


def test_the_unchanged_leader_of_a_stable_group_rebalances_it() -> None:
    bench = stable(2)
    assert bench.join("m1") not in bench.answers
    assert bench.view.state == GroupState.PREPARING_REBALANCE
    assert bench.heartbeat("m2") == ErrorCode.REBALANCE_IN_PROGRESS


def test_joining_again_does_not_change_the_timeouts() -> None:
    bench = stable(1)
    bench.join("m1", session_timeout_ms=20_000, rebalance_timeout_ms=40_000)
    member = bench.member("m1")
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (SESSION_MS, REBALANCE_MS)


def test_a_sole_member_cannot_change_to_protocols_it_did_not_support() -> None:
    bench = stable(1)
    request_id = bench.join("m1", protocols=(Protocol("sticky", b""),))
    assert bench.answers[request_id].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_with_most_votes_among_the_common_ones_is_selected() -> None:
    a, b, c = (Protocol(name, b"") for name in "abc")
    bench = Bench()
    for protocols in ((a, b), (b, a), (c, b, a)):
        bench.join(protocols=protocols)
    bench.advance(DELAY_MS * 2)
    assert bench.view.protocol_name == "b"


def test_a_protocol_named_twice_counts_once() -> None:
    bench = Bench()
    request_id = bench.join(protocols=RANGE * 2)
    bench.advance(DELAY_MS)
    assert bench.answers[request_id].protocol_name == "range"


# The initial delay and the rebalance timeout


def test_an_initial_delay_of_zero_completes_the_join_before_it_returns() -> None:
    bench = Bench(Config(group_initial_rebalance_delay_ms=0))
    assert bench.answers[bench.join()].generation_id == 1


def test_the_initial_delay_is_extended_while_new_members_come_up_to_the_rebalance_timeout() -> None:
    bench = Bench()
    ends = []
    bench.join(rebalance_timeout_ms=7_000)
    for _ in range(9):
        bench.advance(1_000)
        ends.append(bench.view.state == GroupState.COMPLETING_REBALANCE)
        if not ends[-1]:
            bench.join(rebalance_timeout_ms=60_000)
    assert ends.index(True) == 6  # after 7 seconds: 3, 3 more, and the one that is left


def test_without_new_members_the_initial_delay_is_not_extended() -> None:
    bench = Bench()
    bench.join()
    bench.advance(DELAY_MS - 1)
    assert bench.view.state == GroupState.PREPARING_REBALANCE
    bench.advance(1)
    assert bench.view.state == GroupState.COMPLETING_REBALANCE


def test_a_wish_for_extension_left_over_extends_the_next_rebalance_from_empty() -> None:
    bench = Bench()
    bench.join(rebalance_timeout_ms=DELAY_MS)  # nothing remains after the delay
    bench.join()
    bench.advance(DELAY_MS)
    bench.leave("m1", "m2")
    bench.advance(REBALANCE_MS)
    assert bench.view.state == GroupState.EMPTY
    bench.join()
    bench.advance(DELAY_MS)
    assert bench.view.state == GroupState.PREPARING_REBALANCE
    bench.advance(DELAY_MS)
    assert bench.view.state == GroupState.COMPLETING_REBALANCE


def test_a_group_left_by_all_during_the_initial_delay_waits_it_out_and_is_empty() -> None:
    bench = Bench()
    bench.join()
    assert bench.leave("m1") == [ErrorCode.NONE]
    assert (bench.view.state, bench.member_ids) == (GroupState.PREPARING_REBALANCE, [])
    other_type = bench.join(protocol_type="connect")
    assert bench.answers[other_type].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    bench.advance(DELAY_MS)
    assert (bench.view.state, bench.view.generation_id) == (GroupState.EMPTY, 1)
    assert (bench.view.leader, bench.view.protocol_name) == (None, None)


def test_members_that_do_not_join_within_the_longest_rebalance_timeout_are_out() -> None:
    bench = stable(2)
    parked = bench.join("m2", protocols=(Protocol("range", b"x"),))
    for _ in range(REBALANCE_MS // 5_000):
        assert bench.heartbeat("m1") == ErrorCode.REBALANCE_IN_PROGRESS
        bench.advance(5_000)
    assert bench.answers[parked].leader == "m2"
    assert bench.member_ids == ["m2"]


def test_a_pending_member_delays_the_join_and_survives_its_completion() -> None:
    bench = stable(1)
    bench.join(version=4, session_timeout_ms=60_000)
    parked = bench.join("m1")
    assert parked not in bench.answers
    bench.advance(REBALANCE_MS)
    assert bench.answers[parked].generation_id == 2
    assert bench.view.pending_members == ("m2",)


def test_the_join_completes_when_the_last_pending_member_leaves() -> None:
    bench = stable(1)
    bench.join(version=4)
    parked = bench.join("m1")
    assert bench.leave("m2") == [ErrorCode.NONE]
    assert bench.answers[parked].generation_id == 2


def test_the_join_completes_when_the_last_pending_member_is_late() -> None:
    bench = stable(1)
    bench.join(version=4)
    parked = bench.join("m1")
    bench.advance(SESSION_MS)
    assert bench.answers[parked].generation_id == 2


def test_the_last_member_leaves_at_once_even_if_somebody_is_pending() -> None:
    bench = stable(1)
    bench.join(version=4)
    bench.leave("m1")  # no member, so a rebalance timeout of nothing
    assert (bench.view.state, bench.view.generation_id) == (GroupState.EMPTY, 2)
    assert bench.view.pending_members == ("m2",)


# Sessions


def test_a_member_without_heartbeats_is_out_after_its_session_timeout() -> None:
    bench = stable(2)
    bench.advance(SESSION_MS - 1)
    assert bench.heartbeat("m2") == ErrorCode.NONE
    bench.advance(1)
    assert bench.member_ids == ["m2"]
    assert bench.view.state == GroupState.PREPARING_REBALANCE
    assert bench.heartbeat("m1") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_new_parked_member_is_out_after_five_minutes_and_told_to_start_anew() -> None:
    bench = Bench(Config(group_initial_rebalance_delay_ms=NEW_MEMBER_MS * 2))
    parked = bench.join()
    bench.advance(NEW_MEMBER_MS - 1)
    assert parked not in bench.answers
    bench.advance(1)
    assert bench.answers[parked] == JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, member_id="")


def test_a_heartbeat_of_a_new_parked_member_puts_it_under_its_session_timeout() -> None:
    bench = Bench(Config(group_initial_rebalance_delay_ms=NEW_MEMBER_MS))
    parked = bench.join()
    assert bench.heartbeat("m1", 0) == ErrorCode.REBALANCE_IN_PROGRESS
    bench.advance(SESSION_MS)
    assert bench.answers[parked].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_parked_member_that_is_not_new_never_expires() -> None:
    bench = stable(2)
    parked = bench.join("m1")
    bench.heartbeat("m1")
    for _ in range(4):
        bench.heartbeat("m2")
        bench.advance(SESSION_MS - 1)
    assert bench.answers[parked].generation_id == 2


def test_a_parked_sync_keeps_its_member_alive() -> None:
    bench = joined(2)
    bench.sync("m2")
    for _ in range(3):
        bench.advance(SESSION_MS - 1)
        bench.heartbeat("m1")
    assert bench.member_ids == ["m1", "m2"]


def test_the_session_runs_anew_once_a_parked_request_is_answered() -> None:
    bench = joined(2)
    bench.sync("m2")
    bench.advance(SESSION_MS - 1)
    bench.sync("m1")
    bench.advance(SESSION_MS - 1)
    assert bench.member_ids == ["m1", "m2"]
    bench.advance(1)
    assert bench.view.state == GroupState.EMPTY


def test_heartbeats_while_completing_keep_the_member_alive() -> None:
    bench = joined(1)
    for _ in range(3):
        bench.advance(SESSION_MS - 1)
        assert bench.heartbeat("m1") == ErrorCode.NONE
    assert bench.view.state == GroupState.COMPLETING_REBALANCE


def test_a_leader_that_expires_while_completing_sends_the_others_back_to_join() -> None:
    bench = joined(2)
    parked = bench.sync("m2")
    bench.advance(SESSION_MS)
    assert bench.answers[parked].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert (bench.view.leader, bench.member_ids) == ("m2", ["m2"])


@pytest.mark.parametrize("act", ["sync", "commit"])
def test_a_sync_or_commit_in_a_stable_group_keeps_the_member_alive(act: str) -> None:
    bench = stable(1)
    bench.advance(SESSION_MS - 1)
    if act == "sync":
        assert bench.answers[bench.sync("m1")].assignment == b"a1"
    else:
        bench.commit(5, member_id="m1", generation_id=1)
    bench.advance(SESSION_MS - 1)
    assert bench.member_ids == ["m1"]


# SyncGroup


def test_each_member_gets_what_the_leader_assigned_and_nothing_if_it_was_not_named() -> None:
    bench = joined(2)
    follower, leader = bench.sync("m2"), bench.sync("m1", m1=b"one", ghost=b"boo")
    assert bench.answers[leader] == SyncGroupResponse(ErrorCode.NONE, "consumer", "range", b"one")
    assert bench.answers[follower].assignment == b""


def test_a_second_sync_of_a_parked_member_replaces_the_first_which_is_never_answered() -> None:
    bench = joined(2)
    one, two = bench.sync("m2"), bench.sync("m2")
    bench.sync("m1")
    assert one not in bench.answers
    assert two in bench.answers


def test_a_member_that_leaves_while_its_sync_is_parked_never_gets_that_answer() -> None:
    bench = joined(3)
    leaver, stayer = bench.sync("m2"), bench.sync("m3")
    bench.leave("m2")
    bench.advance(NEW_MEMBER_MS)
    assert leaver not in bench.answers
    assert bench.answers[stayer].error_code == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("version", "fields", "error"),
    [
        (5, {"protocol_type": "consumer"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (5, {"protocol_name": "range"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (5, {"protocol_name": "range", "protocol_type": "consumer"}, ErrorCode.NONE),
        (4, {}, ErrorCode.NONE),
        (5, {"group_id": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (4, {"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        (4, {"group_id": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        (4, {"member_id": "m9", "generation_id": 9}, ErrorCode.UNKNOWN_MEMBER_ID),
        (4, {"generation_id": 9, "protocol_name": "x"}, ErrorCode.ILLEGAL_GENERATION),
        (4, {"protocol_name": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (4, {"protocol_type": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_sync_errors_come_in_the_order_of_kafka(
    version: int, fields: dict[str, Any], error: ErrorCode
) -> None:
    body = SyncGroupRequest("g", 1, "m1")._replace(**fields)
    assert stable(1).ask(body, version).error_code == error


def test_a_sync_while_preparing_is_told_to_join() -> None:
    bench = stable(2)
    bench.join("m1")
    assert bench.answers[bench.sync("m2")].error_code == ErrorCode.REBALANCE_IN_PROGRESS


# Appends that complete later


def test_a_held_sync_of_the_leader_is_answered_at_the_release() -> None:
    bench = joined(1)
    bench.log.hold()
    bench.log.hold()
    parked = bench.sync("m1", m1=b"one")
    assert parked not in bench.answers
    assert bench.member("m1").awaiting_sync
    bench.release()
    assert bench.answers[parked].assignment == b"one"
    assert bench.view.state == GroupState.STABLE


def test_a_leader_that_syncs_again_gets_the_assignment_it_sent_first() -> None:
    bench = joined(1)
    bench.log.hold()
    one, two = bench.sync("m1", m1=b"one"), bench.sync("m1", m1=b"two")
    bench.release()
    assert one not in bench.answers
    assert bench.answers[two].assignment == b"one"
    assert bench.member("m1").assignment == b"one"


def test_an_assignment_stored_too_late_for_its_generation_goes_nowhere() -> None:
    bench = joined(2)
    bench.log.hold()
    stale = bench.sync("m1", m1=b"old")
    bench.join("m2", protocols=(Protocol("range", b"x"),))
    assert bench.answers[stale].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    bench.join("m1")
    assert bench.view.generation_id == 2
    bench.release()
    assert bench.view.state == GroupState.COMPLETING_REBALANCE


def test_a_held_commit_is_unstable_and_not_readable_before_its_completion() -> None:
    bench = Bench()
    bench.commit(1)
    bench.log.hold()
    held = bench.commit(2)
    assert bench.commit_error(held) is None
    assert bench.fetch() == (1, ErrorCode.NONE)
    assert bench.fetch(stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    bench.release()
    assert bench.commit_error(held) == ErrorCode.NONE
    assert bench.fetch(stable=True) == (2, ErrorCode.NONE)


def test_held_commits_complete_in_order_and_the_last_one_wins() -> None:
    bench = Bench()
    bench.log.hold()
    bench.commit(1)
    bench.commit(2)
    bench.release()
    assert bench.fetch(stable=True) == (2, ErrorCode.NONE)


def test_equal_commits_of_one_millisecond_are_one_pending_commit() -> None:
    bench = Bench()
    bench.log.hold()
    for offset in (1, 2, 1):
        bench.commit(offset)
    bench.release()  # the first clears what the third had staged, and the second finds nothing
    assert bench.fetch(stable=True) == (1, ErrorCode.NONE)


# Heartbeat and LeaveGroup


def test_heartbeat_errors_come_in_the_order_of_kafka() -> None:
    bench = stable(1)
    heartbeats = [("", 1, "m1"), ("other", 1, "m1"), ("g", 9, "m9"), ("g", 9, "m1"), ("", 1, "")]
    assert [bench.ask(HeartbeatRequest(g, n, m)).error_code for g, n, m in heartbeats] == [
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.INVALID_GROUP_ID,
    ]


def test_a_commit_group_with_no_name_is_not_open_to_heartbeats() -> None:
    bench = Bench()
    topics = (OffsetCommitRequestTopic("t", (OffsetCommitRequestPartition(0, 1),)),)
    bench.send(OffsetCommitRequest("", topics=topics))
    assert bench.view.group_id == ""
    error = bench.ask(HeartbeatRequest("", 0, "m1")).error_code
    assert error == ErrorCode.INVALID_GROUP_ID


def test_leaving_an_unknown_group_names_each_member_unknown() -> None:
    assert Bench().leave("x", "y") == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


def test_leaving_or_joining_no_group_at_all_is_an_invalid_group_id() -> None:
    bench = Bench()
    left = bench.ask(LeaveGroupRequest("", (MemberIdentity("m1"),)))
    assert (left.error_code, left.members) == (ErrorCode.INVALID_GROUP_ID, ())
    refused = bench.ask(JoinGroupRequest("", SESSION_MS, member_id="m1"))
    assert refused == JoinGroupResponse(ErrorCode.INVALID_GROUP_ID, member_id="m1")


def test_a_batch_of_leavers_is_taken_one_after_the_other() -> None:
    bench = stable(2)
    unknown, none = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE
    assert bench.leave("m2", "m2", "", "m1") == [none, unknown, unknown, none]
    assert (bench.view.state, bench.view.generation_id) == (GroupState.EMPTY, 2)


def test_the_parked_join_of_a_leaver_is_answered_with_no_member_id() -> None:
    bench = stable(2)
    parked = bench.join("m1")
    bench.leave("m1")
    assert bench.answers[parked] == JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, member_id="")


def test_a_group_left_by_all_is_empty_in_a_new_generation_and_can_be_joined_again() -> None:
    bench = stable(1)
    bench.leave("m1")
    assert (bench.view.state, bench.view.generation_id) == (GroupState.EMPTY, 2)
    assert bench.heartbeat("m1", 2) == ErrorCode.UNKNOWN_MEMBER_ID
    parked = bench.join(protocol_type="connect")
    bench.advance(DELAY_MS)
    assert (bench.answers[parked].generation_id, bench.view.protocol_type) == (3, "connect")


# Offsets


def test_a_commit_of_nothing_does_not_even_make_a_group() -> None:
    bench = Bench()
    assert bench.ask(OffsetCommitRequest("g")).topics == ()
    empty_topic = OffsetCommitRequestTopic("t", ())
    assert bench.ask(OffsetCommitRequest("g", topics=(empty_topic,))).topics == ()
    assert bench.coordinator.views() == ()


def test_a_generation_in_a_group_that_does_not_exist_is_illegal() -> None:
    bench = Bench()
    assert bench.commit_error(bench.commit(1, generation_id=0)) == ErrorCode.ILLEGAL_GENERATION
    assert bench.coordinator.views() == ()


def test_a_group_without_members_takes_commits_of_simple_consumers_only() -> None:
    bench = Bench()
    assert bench.commit_error(bench.commit(1, member_id="anybody")) == ErrorCode.NONE
    assert bench.commit_error(bench.commit(2, generation_id=0)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.fetch() == (1, ErrorCode.NONE)


def test_a_group_with_members_takes_commits_of_its_members_only() -> None:
    bench = stable(1)
    none, illegal = ErrorCode.NONE, ErrorCode.ILLEGAL_GENERATION
    assert bench.commit_error(bench.commit(1)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.commit_error(bench.commit(1, member_id="m1", generation_id=2)) == illegal
    assert bench.commit_error(bench.commit(1, member_id="m1")) == illegal
    assert bench.commit_error(bench.commit(1, member_id="m1", generation_id=1)) == none


def test_members_may_commit_while_preparing_and_not_while_completing() -> None:
    bench = stable(2)
    bench.join("m1")
    preparing = bench.commit(1, member_id="m2", generation_id=1)
    bench.join("m2")
    completing = bench.commit(2, member_id="m2", generation_id=2)
    assert bench.commit_error(preparing) == ErrorCode.NONE
    assert bench.commit_error(completing) == ErrorCode.REBALANCE_IN_PROGRESS


def two_partitions(second_metadata: str) -> OffsetCommitRequest:
    partitions = (
        OffsetCommitRequestPartition(0, 1),
        OffsetCommitRequestPartition(1, 2, committed_metadata=second_metadata),
    )
    return OffsetCommitRequest("g", topics=(OffsetCommitRequestTopic("t", partitions),))


def test_a_partition_refused_beside_a_good_one_stays_pending_until_its_own_good_commit() -> None:
    bench = Bench(Config(offset_metadata_max_bytes=4))
    answer = bench.ask(two_partitions("12345"))
    assert [p.error_code for p in answer.topics[0].partitions] == [
        ErrorCode.NONE,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    ]
    fetch = OffsetFetchRequest("g", (OffsetFetchRequestTopic("t", (0, 1, 1)),), require_stable=True)
    good, refused = bench.ask(fetch).topics[0].partitions
    assert (good.committed_offset, good.error_code) == (1, ErrorCode.NONE)
    assert refused.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    bench.send(two_partitions("1234"))
    assert bench.ask(fetch).topics[0].partitions[1].committed_offset == 2


def test_a_commit_with_nothing_that_fits_is_refused_at_once_and_leaves_nothing_pending() -> None:
    bench = Bench(Config(offset_metadata_max_bytes=4))
    bench.log.hold()
    partition = OffsetCommitRequestPartition(0, 1, committed_metadata="12345")
    topics = (OffsetCommitRequestTopic("t", (partition,)),)
    request_id = bench.send(OffsetCommitRequest("g", topics=topics))
    assert bench.commit_error(request_id) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert bench.fetch(stable=True) == (-1, ErrorCode.NONE)


@pytest.mark.parametrize(("metadata", "fits"), [("éééé", True), ("𝄞𝄞", True), ("𝄞𝄞𝄞", False)])
def test_the_length_of_metadata_is_counted_in_utf_16_units(metadata: str, *, fits: bool) -> None:
    bench = Bench(Config(offset_metadata_max_bytes=4))
    answer = bench.ask(two_partitions(metadata))
    assert (answer.topics[0].partitions[1].error_code == ErrorCode.NONE) is fits


def test_a_fetch_of_all_partitions_shows_what_is_committed_and_nothing_else() -> None:
    bench = Bench()
    assert bench.ask(OffsetFetchRequest("g")).topics == ()
    assert bench.fetch() == (-1, ErrorCode.NONE)
    bench.send(two_partitions("meta"))
    (topic,) = bench.ask(OffsetFetchRequest("g")).topics
    assert [(p.committed_offset, p.metadata) for p in topic.partitions] == [(1, ""), (2, "meta")]
    assert bench.ask(OffsetFetchRequest("g", ())).topics == ()
    assert bench.view.offsets == two_partitions("meta").topics


# DescribeGroups


def test_a_group_that_does_not_exist_is_described_as_dead() -> None:
    (group,) = Bench().ask(DescribeGroupsRequest(("g",))).groups
    assert (group.error_code, group.group_state, group.members) == (ErrorCode.NONE, "Dead", ())


def test_protocol_metadata_and_assignments_are_described_in_a_stable_group_only() -> None:
    bench = stable(1)
    (group,) = bench.ask(DescribeGroupsRequest(("g",))).groups
    assert (group.group_state, group.protocol_data) == ("Stable", "range")
    assert (group.members[0].member_metadata, group.members[0].member_assignment) == (b"r", b"a1")
    bench.join("m1")
    (group,) = bench.ask(DescribeGroupsRequest(("g",))).groups
    assert (group.protocol_type, group.protocol_data) == ("consumer", "")
    assert (group.members[0].member_metadata, group.members[0].member_assignment) == (b"", b"")


# Choices


def test_any_member_left_may_follow_the_leader() -> None:
    choose = Chooser()
    bench = stable(3, choose=choose)
    bench.leave("m1")
    assert choose.asked == [("m2", "m3")]
    assert bench.view.leader == "m3"


def test_by_default_the_member_that_was_there_first_follows_the_leader() -> None:
    bench = stable(3)
    bench.leave("m1")
    assert bench.view.leader == "m2"


def test_only_members_that_joined_may_follow_a_leader_that_did_not() -> None:
    choose = Chooser()
    bench = stable(4, choose=choose)
    bench.join("m2", protocols=(Protocol("range", b"x"),))
    bench.join("m3")
    for _ in range(REBALANCE_MS // 5_000):
        bench.heartbeat("m1")
        bench.heartbeat("m4")
        bench.advance(5_000)
    assert [options for options in choose.asked if "m2" in options] == [("m2", "m3")]
    assert bench.view.leader == "m3"


def test_a_tied_vote_is_chosen_among_the_winners() -> None:
    choose = Chooser()
    bench = Bench(choose=choose)
    a, b, c = (Protocol(name, b"") for name in "abc")
    bench.join(protocols=(a, b, c))
    bench.join(protocols=(b, a, c))
    bench.advance(DELAY_MS * 2)
    assert choose.asked == [("a", "b")]
    assert bench.view.protocol_name == "b"


def test_timers_of_one_group_due_at_once_fire_in_any_order() -> None:
    choose = Chooser()
    bench = stable(3, choose=choose)
    bench.advance(SESSION_MS)
    timers = [options for options in choose.asked if isinstance(options[0], Member)]
    assert [[timer.member_id for timer in options] for options in timers] == [
        ["m1", "m2", "m3"],
        ["m1", "m2"],
    ]
    assert bench.view.state == GroupState.EMPTY


def test_timers_of_different_groups_are_no_choice() -> None:
    choose = Chooser()
    bench = Bench(choose=choose)
    for group_id in ("g", "h"):
        bench.send(JoinGroupRequest(group_id, SESSION_MS, 0, protocols=RANGE), 3)
    bench.advance(DELAY_MS)
    assert choose.asked == []
    assert len(bench.answers) == 2


# The door


def test_a_member_id_starts_with_the_client_id_as_in_kafka() -> None:
    one, two = random_member_id("me"), random_member_id("me")
    assert one.startswith("me-")
    assert one != two


def test_the_next_deadline_is_known_to_whoever_embeds_the_coordinator() -> None:
    bench = Bench()
    assert bench.coordinator.next_deadline_ms is None
    bench.join()
    assert bench.coordinator.next_deadline_ms == DELAY_MS
    bench.advance(DELAY_MS)
    bench.leave("m1")
    assert (bench.coordinator.next_deadline_ms, bench.coordinator.now_ms) == (None, DELAY_MS)


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="time does not go back"):
        Coordinator().advance(-1)


# Whatever happens


def random_request(pick: Random, bench: Bench) -> None:
    """One request of any kind, mostly sensible."""
    views = bench.coordinator.views()
    known = [m.member_id for view in views for m in view.members or ()]
    pending = [member_id for view in views for member_id in view.pending_members or ()]
    member_id = pick.choice([*known, *pending, "", "stranger"])
    generation_id = pick.choice([view.generation_id or 0 for view in views] + [-1])
    a, b, c = (Protocol(name, pick.choice([b"", b"x"])) for name in "abc")
    match pick.randrange(8):
        case 0 | 1 | 2:
            protocols = pick.choice([(a, b), (b, a), (b, c), (a,)])
            timeout_ms = pick.choice([0, 5_000, 20_000])
            version = pick.choice([3, 4])
            bench.join(member_id, version, protocols=protocols, rebalance_timeout_ms=timeout_ms)
        case 3:
            bench.sync(member_id, generation_id, m1=b"a")
        case 4:
            bench.heartbeat(member_id, generation_id)
        case 5:
            bench.leave(member_id, pick.choice([*known, ""]))
        case 6:
            bench.commit(pick.randrange(3), member_id=member_id, generation_id=generation_id)
        case _:
            bench.fetch(stable=True)


def check(group: Group) -> None:
    """What is counted is what a scan would count, and exactly who can be late has a timer."""
    members = group.members.values()
    parked = [m for m in members if m.join_request_id is not None]
    assert group.awaiting_join == len(parked)
    assert group.supporters == Counter(name for m in members for name, _ in m.protocols)
    assert group.rebalance_timeouts == Counter(m.rebalance_timeout_ms for m in members)
    assert not members or len(members) in group.supporters.values()
    assert (group.leader_id in group.members) if members else (group.leader_id is None)
    assert all(member.deadline_ms != NEVER for member in members if member.expires)
    assert all(timer.deadline_ms != NEVER for timer in group.pending_members.values())
    is_preparing = group.state is GroupState.PREPARING_REBALANCE
    timer = group.join_timer
    assert (timer is not None and timer.deadline_ms != NEVER) is is_preparing
    assert is_preparing or not parked
    assert bool(members) or group.state in {GroupState.EMPTY, GroupState.PREPARING_REBALANCE}


@pytest.mark.parametrize("seed", range(20))
def test_the_counts_and_timers_of_a_group_agree_with_its_members_after_anything(seed: int) -> None:
    pick = Random(seed)
    bench = Bench(Config(group_initial_rebalance_delay_ms=pick.choice([0, 3_000])), pick.choice)
    generation_id = 0
    for _ in range(400):
        match pick.randrange(12):
            case 0 | 1:
                bench.advance(pick.choice([0, 1, 1_000, 3_000, 10_000]))
            case 2:
                bench.log.hold()
            case 3:
                bench.release()
            case _:
                random_request(pick, bench)
        for group in bench.coordinator._shared.groups.by_id.values():
            check(group)
            assert group.generation_id >= generation_id
            generation_id = group.generation_id
    assert generation_id > 5


# What things cost


def instructions(act: Callable[[], object]) -> int:
    """How many bytecode instructions it takes."""
    executed = 0

    def trace(frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal executed
        frame.f_trace_opcodes = True
        executed += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return executed


def cost_of_a_heartbeat(size: int) -> tuple[int, int]:
    """In bytecode instructions and in heap entries."""
    bench = stable(size)
    bench.advance(1)
    heartbeat = Request(0, 4, HeartbeatRequest("g", 1, f"m{size // 2}"))
    receive, timers = bench.coordinator.receive, bench.coordinator._timers
    entries = len(timers)
    executed = instructions(lambda: receive(heartbeat))
    return executed, len(timers) - entries


def test_a_heartbeat_costs_the_same_with_ten_members_and_ten_thousand() -> None:
    small, large = cost_of_a_heartbeat(10), cost_of_a_heartbeat(10_000)
    assert small == large
    assert 0 < small[0] < 250
    assert small[1] == 0


def test_a_session_takes_one_heap_operation_a_timeout_however_many_heartbeats_it_saw() -> None:
    bench = stable(1)
    timers = bench.coordinator._timers
    before = timers._tickets
    for _ in range(1_000):
        bench.advance(100)
        bench.heartbeat("m1")
    assert timers._tickets - before <= 1_000 * 100 // SESSION_MS + 1


@pytest.mark.parametrize(("beats", "most"), [(2, 2.0), (3, 1.5), (20, 1.06)])
def test_heap_operations_are_one_for_each_timeout_less_the_time_between_heartbeats(
    beats: int, most: float
) -> None:
    bench = stable(200)
    timers = bench.coordinator._timers
    before = timers._tickets
    timeouts = 5
    for _ in range(timeouts * beats):
        for member_id in bench.member_ids:
            bench.heartbeat(member_id)
        bench.advance(SESSION_MS // beats)
    assert 0 < timers._tickets - before <= 200 * timeouts * most
    assert len(timers) <= 2 * 200  # with those from when they were new


def test_a_timer_set_earlier_fires_earlier_and_once() -> None:
    timers, timer = Timers(), Timer()
    for delay_ms in (50, 10, 70, 20):
        timers.set(timer, delay_ms)
    assert timers.next_deadline_ms == 20
    assert timers.pop(Chooser()) is timer
    assert timers.next_deadline_ms == NEVER
