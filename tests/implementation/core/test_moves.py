"""Partitions that come and go, and coordinators that crash: what is kept, and who is told."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.implementation import PROFILE_2_7, PROFILE_4_1, Config, Coordinator
from groupcheck.implementation.core.behaviour import Behaviour
from groupcheck.implementation.core.partitions import Serving, partition_for
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    Request,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from support.coordinators import SESSION_MS, Bench, stable

BOTH = pytest.mark.parametrize("profile", [PROFILE_2_7, PROFILE_4_1], ids=lambda p: p.name)
PARTITION = partition_for("g", 50)


def commit(group_id: str, offset: int) -> OffsetCommitRequest:
    topics = (OffsetCommitRequestTopic("t", (OffsetCommitRequestPartition(0, offset),)),)
    return OffsetCommitRequest(group_id, topics=topics)


def commit_in_transaction(group_id: str, offset: int, producer_id: int) -> TxnOffsetCommitRequest:
    partitions = (TxnOffsetCommitRequestPartition(0, offset),)
    topics = (TxnOffsetCommitRequestTopic("t", partitions),)
    return TxnOffsetCommitRequest("txn", group_id, producer_id, topics=topics)


def offset_of(bench: Bench, group_id: str) -> list[int]:
    answer = bench.ask(OffsetFetchRequest(group_id), 7)
    return [p.committed_offset for topic in answer.topics for p in topic.partitions]


def states(bench: Bench) -> dict[str, str]:
    return {view.group_id: str(view.state) for view in bench.coordinator.views()}


@BOTH
def test_a_stable_group_is_stable_again_after_a_crash_and_its_members_go_on(
    profile: Behaviour,
) -> None:
    bench = Bench(profile=profile)
    bench.join()
    bench.advance(3_000)
    bench.sync("m1", m1=b"mine")
    bench.crash()
    assert bench.view.state == GroupState.STABLE
    assert bench.member("m1").assignment == b"mine"
    assert bench.heartbeat("m1") == ErrorCode.NONE
    bench.advance(SESSION_MS)
    assert bench.member_ids == []


def test_a_rebalance_that_no_record_tells_of_is_lost_in_a_crash() -> None:
    bench = stable(2)
    waits = bench.join("m1")
    bench.crash()
    assert bench.view.state == GroupState.STABLE
    assert bench.view.generation_id == 1
    assert waits not in bench.answers


def test_only_the_groups_of_the_partition_that_is_lost_are_lost() -> None:
    bench = stable(1)
    other = next(name for name in map(str, range(9)) if partition_for(name, 50) != PARTITION)
    bench.ask(commit(other, 5))
    bench.keep(bench.coordinator.unload(PARTITION))
    assert states(bench) == {other: "Empty"}
    assert bench.coordinator.serving(PARTITION) is Serving.UNLOADED
    assert bench.heartbeat("m1") == ErrorCode.NOT_COORDINATOR
    assert bench.ask(ListGroupsRequest(), 4).error_code == ErrorCode.NONE
    bench.keep(bench.coordinator.load(PARTITION))
    assert states(bench) == {other: "Empty", "g": "Stable"}
    assert bench.heartbeat("m1") == ErrorCode.NONE


def test_whoever_waits_when_the_partition_is_lost_is_told() -> None:
    bench = stable(2)
    waits = bench.join("m1")
    bench.keep(bench.coordinator.unload(PARTITION))
    assert bench.answers[waits].error_code == ErrorCode.NOT_COORDINATOR
    assert bench.answers[waits].member_id == "m1"
    assert bench.coordinator.next_deadline_ms is None


@pytest.mark.parametrize(
    ("profile", "sync"),
    [
        (PROFILE_2_7, ErrorCode.REBALANCE_IN_PROGRESS),
        (PROFILE_4_1, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_while_a_partition_is_loaded_heartbeats_are_good_and_all_else_has_to_wait(
    profile: Behaviour, sync: ErrorCode
) -> None:
    bench = Bench(profile=profile)
    bench.keep(bench.coordinator.loading(PARTITION))
    assert bench.heartbeat("stranger") == ErrorCode.NONE
    assert bench.answers[bench.sync("stranger")].error_code == sync
    (group,) = bench.ask(DescribeGroupsRequest(("g",))).groups
    assert group.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.commit_error(bench.commit(1)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_of_several_gates_the_first_that_is_closed_is_told_in_the_order_of_each_version() -> None:
    for profile, error in (
        (PROFILE_2_7, ErrorCode.INVALID_GROUP_ID),
        (PROFILE_4_1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ):
        bench = Bench(profile=profile)
        bench.keep(bench.coordinator.shutdown())
        assert bench.ask(HeartbeatRequest("", 0, "m")).error_code == error
    for profile, error in (
        (PROFILE_2_7, ErrorCode.NOT_COORDINATOR),
        (PROFILE_4_1, ErrorCode.INVALID_SESSION_TIMEOUT),
    ):
        bench = Bench(profile=profile)
        bench.keep(bench.coordinator.unload(PARTITION))
        assert bench.ask(JoinGroupRequest("g", 1)).error_code == error


def test_after_a_shutdown_no_timer_fires_and_no_partition_moves() -> None:
    bench = stable(1)
    bench.keep(bench.coordinator.shutdown())
    bench.advance(SESSION_MS * 10)
    bench.keep(bench.coordinator.unload(PARTITION))
    assert bench.member_ids == ["m1"]
    assert bench.coordinator.next_deadline_ms is None


@BOTH
def test_a_transaction_that_was_open_before_a_crash_can_be_ended_after_it(
    profile: Behaviour,
) -> None:
    for committed, offsets in ((True, [7]), (False, [])):
        bench = Bench(profile=profile)
        bench.ask(commit_in_transaction("g", 7, 1), 3)
        assert offset_of(bench, "g") == []
        bench.crash()
        bench.ask(EndTxnRequest("g", 1, committed))
        assert offset_of(bench, "g") == offsets
        bench.crash()
        assert offset_of(bench, "g") == offsets


@BOTH
def test_a_marker_ends_the_transaction_in_every_group_of_its_partition_and_in_no_other(
    profile: Behaviour,
) -> None:
    bench = Bench(Config(offsets_topic_num_partitions=2), profile=profile)
    names = [str(number) for number in range(6)]
    for name in names:
        bench.ask(commit_in_transaction(name, 7, 1), 3)
    bench.ask(EndTxnRequest(names[0], 1, committed=True))
    ended = [name for name in names if offset_of(bench, name) == [7]]
    assert ended == [n for n in names if partition_for(n, 2) == partition_for(names[0], 2)]
    assert 0 < len(ended) < len(names)


@BOTH
def test_the_later_of_a_commit_and_a_transaction_s_is_read_before_and_after_a_crash(
    profile: Behaviour,
) -> None:
    bench = Bench(profile=profile)
    bench.ask(commit_in_transaction("g", 7, 1), 3)
    bench.ask(commit("g", 8))
    bench.ask(EndTxnRequest("g", 1, committed=True))
    assert offset_of(bench, "g") == [8]
    bench.crash()
    assert offset_of(bench, "g") == [8]


@BOTH
def test_a_group_that_was_deleted_does_not_come_back_but_one_that_began_anew_does(
    profile: Behaviour,
) -> None:
    bench = Bench(profile=profile)
    bench.join()
    bench.advance(3_000)
    bench.leave("m1")
    bench.commit(3)
    (result,) = bench.ask(DeleteGroupsRequest(("g",))).results
    assert result.error_code == ErrorCode.NONE
    bench.crash()
    assert bench.coordinator.views() == ()
    bench.commit(4)
    bench.crash()
    assert offset_of(bench, "g") == [4]
    assert bench.view.generation_id == 0


def test_a_dynamic_member_counts_as_static_once_it_is_loaded_in_2_7_and_not_in_4_1() -> None:
    for profile, left in ((PROFILE_2_7, ["m1"]), (PROFILE_4_1, [])):
        bench = Bench(profile=profile)
        bench.join()
        bench.advance(3_000)
        bench.sync("m1", m1=b"")
        bench.crash()
        bench.join(version=3)
        for _ in range(6):  # the longest rebalance timeout, and m1 does not join
            bench.heartbeat("m1")
            bench.advance(5_000)
        assert [name for name in bench.member_ids if name == "m1"] == left


def test_a_coordinator_begins_with_the_partitions_it_is_given_and_what_is_in_them() -> None:
    log = MemoryLog()
    options: dict[str, Any] = {"log": log}
    first = Coordinator(**options)
    first.receive(Request(1, 7, commit("g", 5)))
    second = Coordinator(**options, served=[0])
    assert second.views() == ()
    second.load(PARTITION)
    assert [view.group_id for view in second.views()] == ["g"]
