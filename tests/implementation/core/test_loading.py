"""Partitions that are loaded and unloaded, and crashes, with several groups and partitions."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.implementation import PROFILE_2_7, PROFILE_4_1, Config, Coordinator
from groupcheck.implementation.core.groups import Serving, partition_for
from groupcheck.implementation.core.profiles import Behaviour
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.vocabulary import (
    EndTxnRequest,
    ErrorCode,
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
from support.coordinators import Bench, stable

PARTITION = partition_for("g", 50)


def commit(group_id: str, offset: int) -> OffsetCommitRequest:
    topics = (OffsetCommitRequestTopic("t", (OffsetCommitRequestPartition(0, offset),)),)
    return OffsetCommitRequest(group_id, topics=topics)


def commit_in_transaction(group_id: str, offset: int) -> TxnOffsetCommitRequest:
    partitions = (TxnOffsetCommitRequestPartition(0, offset),)
    topics = (TxnOffsetCommitRequestTopic("t", partitions),)
    return TxnOffsetCommitRequest("txn", group_id, 1, topics=topics)


def offset_of(bench: Bench, group_id: str) -> list[int]:
    answer = bench.ask(OffsetFetchRequest(group_id), 7)
    return [p.committed_offset for topic in answer.topics for p in topic.partitions]


def states(bench: Bench) -> dict[str, str]:
    return {view.group_id: str(view.state) for view in bench.coordinator.views()}


def test_unload_affects_only_the_groups_of_the_partition() -> None:
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


@pytest.mark.parametrize("profile", [PROFILE_2_7, PROFILE_4_1], ids=lambda p: p.name)
def test_marker_ends_the_transaction_in_every_group_of_its_partition_only(
    profile: Behaviour,
) -> None:
    bench = Bench(Config(offsets_topic_num_partitions=2), profile=profile)
    names = [str(number) for number in range(6)]
    for name in names:
        bench.ask(commit_in_transaction(name, 7), 3)
    bench.ask(EndTxnRequest(names[0], 1, committed=True))
    ended = [name for name in names if offset_of(bench, name) == [7]]
    assert ended == [n for n in names if partition_for(n, 2) == partition_for(names[0], 2)]
    assert 0 < len(ended) < len(names)


def test_coordinator_loads_the_given_partitions_at_the_start() -> None:
    log = MemoryLog()
    options: dict[str, Any] = {"log": log}
    first = Coordinator(**options)
    first.receive(Request(1, 7, commit("g", 5)))
    second = Coordinator(**options, served=[0])
    assert second.views() == ()
    second.load(PARTITION)
    assert [view.group_id for view in second.views()] == ["g"]
