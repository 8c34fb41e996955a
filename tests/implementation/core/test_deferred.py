"""Deferred responses of 4.1 with several groups, several partitions, and appends that fail late.

Scenarios of one group are in tests/model/test_held_appends.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import pytest

from groupcheck.implementation import PROFILE_4_1, Config, Coordinator
from groupcheck.implementation.core.groups import Serving, partition_for
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.log.records import Batch, Completed
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    RequestBody,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from support.coordinators import DELAY_MS, RANGE, SESSION_MS, Bench

NONE, LOST = ErrorCode.NONE, ErrorCode.NOT_COORDINATOR
TWO = Config(offsets_topic_num_partitions=2)
NAMES = [str(number) for number in range(20)]
HERE, THERE = ([name for name in NAMES if partition_for(name, 2) == number] for number in (0, 1))


class SlowLog:
    """A log whose appends complete one by one, on demand; a failed one leaves nothing."""

    def __init__(self) -> None:
        self._log = MemoryLog()
        self._slow: deque[tuple[int, Batch, Completed]] = deque()

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        self._slow.append((partition, batch, completed))

    def read(self, partition: int) -> Iterable[Batch]:
        slow = (batch for where, batch, _ in self._slow if where == partition)
        return [*self._log.read(partition), *slow]

    def finish(self, error: ErrorCode = NONE) -> None:
        partition, batch, completed = self._slow.popleft()
        if error:
            completed(error)
        else:
            self._log.append(partition, batch, completed)


class SlowBench(Bench):
    """A coordinator of 4.1 on a slow log."""

    def __init__(self) -> None:
        super().__init__(TWO, profile=PROFILE_4_1)
        self.slow = SlowLog()
        self.options["log"] = self.slow
        self.coordinator = Coordinator(**self.options)

    def finish(self, *errors: ErrorCode) -> None:
        for error in errors or (NONE,):
            self.slow.finish(error)
        self.keep(self.coordinator.take())


def held() -> Bench:
    bench = Bench(TWO, profile=PROFILE_4_1)
    bench.log.hold()
    return bench


def commit(group_id: str, offset: int) -> OffsetCommitRequest:
    topics = (OffsetCommitRequestTopic("t", (OffsetCommitRequestPartition(0, offset),)),)
    return OffsetCommitRequest(group_id, topics=topics)


def commit_in_transaction(group_id: str, offset: int) -> TxnOffsetCommitRequest:
    partitions = (TxnOffsetCommitRequestPartition(0, offset),)
    topics = (TxnOffsetCommitRequestTopic("t", partitions),)
    return TxnOffsetCommitRequest("txn", group_id, 1, topics=topics)


def deletion(group_id: str) -> OffsetDeleteRequest:
    topics = (OffsetDeleteRequestTopic("t", (OffsetDeleteRequestPartition(0),)),)
    return OffsetDeleteRequest(group_id, topics)


def read(bench: Bench, group_id: str) -> list[int]:
    answer = bench.ask(OffsetFetchRequest(group_id), 7)
    return [p.committed_offset for topic in answer.topics for p in topic.partitions]


def listed(bench: Bench) -> list[str]:
    return sorted(group.group_id for group in bench.ask(ListGroupsRequest(), 5).groups)


def stable_fetch(group_id: str) -> OffsetFetchRequest:
    return OffsetFetchRequest(group_id, require_stable=True)


def test_request_waits_for_the_appends_of_all_groups_of_its_partition() -> None:
    bench = held()
    assert bench.ask(commit(HERE[0], 5)) is None
    waits = bench.send(stable_fetch(HERE[1]), 7)
    assert waits not in bench.answers
    assert bench.ask(stable_fetch(THERE[0]), 7).error_code is NONE
    bench.release()
    assert bench.answers[waits].topics == ()


def test_responses_are_released_in_the_order_of_the_log() -> None:
    bench = SlowBench()
    one = bench.send(commit(HERE[0], 1))
    asked = bench.send(stable_fetch(HERE[0]), 7)
    two = bench.send(commit(HERE[0], 2))
    bench.finish()
    assert bench.answers.keys() == {one, asked}
    assert bench.answers[asked].topics[0].partitions[0].committed_offset == 1
    bench.finish()
    assert bench.answers.keys() == {one, asked, two}


def test_reads_return_the_state_after_the_last_committed_append() -> None:
    bench = SlowBench()
    name = HERE[0]
    bench.send(commit(name, 1))
    bench.send(commit(name, 2))
    bench.send(deletion(name))
    bench.send(commit_in_transaction(name, 3))
    bench.send(EndTxnRequest(name, 1, committed=True))
    seen = [read(bench, name)]
    for _ in range(5):
        bench.finish()
        seen.append(read(bench, name))
    assert seen == [[], [1], [2], [], [], [3]]


def test_abort_marker_makes_nothing_readable() -> None:
    bench = SlowBench()
    bench.send(commit_in_transaction(HERE[0], 3))
    bench.finish()
    bench.send(EndTxnRequest(HERE[0], 1, committed=False))
    assert read(bench, HERE[0]) == []
    bench.finish()
    assert read(bench, HERE[0]) == []


def test_group_that_is_deleted_and_created_again_is_visible_as_committed() -> None:
    bench = SlowBench()
    name = HERE[0]
    bench.send(commit(name, 1))
    bench.finish()
    bench.send(DeleteGroupsRequest((name,)))
    bench.send(JoinGroupRequest(name, SESSION_MS, 0, protocols=RANGE), 3)
    seen = []
    for _ in range(3):
        (described,) = bench.ask(DescribeGroupsRequest((name,))).groups
        seen.append((listed(bench), read(bench, name), described.group_state))
        if len(seen) < 3:
            bench.finish()
    assert seen == [
        ([name], [1], GroupState.EMPTY),
        ([], [], GroupState.DEAD),
        ([name], [], GroupState.PREPARING_REBALANCE),
    ]


def test_group_is_visible_with_the_first_committed_append_to_its_partition() -> None:
    bench = SlowBench()
    refused = commit(HERE[0], 1)
    too_long = refused.topics[0].partitions[0]._replace(committed_metadata="x" * 5_000)
    topics = (refused.topics[0]._replace(partitions=(too_long,)),)
    bench.send(refused._replace(topics=topics))
    bench.send(commit(HERE[1], 1))
    assert listed(bench) == []
    bench.finish()
    assert listed(bench) == sorted(HERE[:2])


def test_delete_groups_waits_for_every_partition_of_its_groups() -> None:
    bench = SlowBench()
    for name in (HERE[0], THERE[0]):
        bench.send(commit(name, 1))
        bench.finish()
    waits = bench.send(DeleteGroupsRequest((HERE[0], THERE[0], THERE[1])))
    bench.finish()
    assert waits not in bench.answers
    bench.finish()
    results = [(r.group_id, r.error_code) for r in bench.answers[waits].results]
    assert results == [
        (HERE[0], NONE),
        (THERE[0], NONE),
        (THERE[1], ErrorCode.GROUP_ID_NOT_FOUND),
    ]


def test_delete_groups_is_decided_on_after_the_appends_that_complete_together() -> None:
    bench = SlowBench()
    name = HERE[0]
    bench.send(commit(name, 1))
    waits = bench.send(DeleteGroupsRequest((name, HERE[1])))
    bench.send(commit(HERE[1], 2))
    bench.finish(NONE, NONE)
    assert waits not in bench.answers
    bench.finish()
    assert [r.error_code for r in bench.answers[waits].results] == [NONE, NONE]
    assert listed(bench) == []


def test_delete_groups_fails_if_its_own_append_fails_after_it_has_waited() -> None:
    bench = SlowBench()
    bench.send(commit(HERE[0], 1))
    waits = bench.send(DeleteGroupsRequest((HERE[0],)))
    bench.finish()
    bench.finish(ErrorCode.KAFKA_STORAGE_ERROR)
    assert bench.answers[waits].results[0].error_code is LOST
    assert read(bench, HERE[0]) == [1]


def test_delete_groups_fails_only_for_the_groups_of_an_unloaded_partition() -> None:
    bench = held()
    for name in (HERE[0], THERE[0]):
        bench.send(commit(name, 1))
    waits = bench.send(DeleteGroupsRequest((HERE[0], HERE[1], THERE[0])))
    bench.keep(bench.coordinator.unload(0))
    assert waits not in bench.answers
    bench.release()
    assert [r.error_code for r in bench.answers[waits].results] == [LOST, LOST, NONE]


def test_unload_fails_only_the_deferred_responses_of_its_partition() -> None:
    bench = held()
    here, there = (bench.send(commit(name, 1)) for name in (HERE[0], THERE[0]))
    bench.keep(bench.coordinator.unload(0))
    assert bench.commit_error(here) is LOST
    assert there not in bench.answers
    bench.release()
    assert bench.commit_error(there) is NONE


def test_append_that_completes_after_a_reload_releases_no_later_response() -> None:
    bench = SlowBench()
    bench.send(commit(HERE[0], 1))
    bench.keep(bench.coordinator.unload(0))
    bench.keep(bench.coordinator.load(0))
    waits = bench.send(commit(HERE[0], 2))
    bench.finish()
    assert waits not in bench.answers
    assert read(bench, HERE[0]) == [1]
    bench.finish()
    assert bench.commit_error(waits) is NONE
    assert read(bench, HERE[0]) == [2]


# An append that fails after later ones have been made


def test_late_append_failure_restores_the_log_and_fails_deferred_responses() -> None:
    bench = SlowBench()
    bench.send(commit(HERE[0], 1))
    bench.finish()
    asked: list[RequestBody] = [
        commit(HERE[0], 2),
        stable_fetch(HERE[1]),
        JoinGroupRequest(HERE[1], SESSION_MS, 0, protocols=RANGE),
        commit(THERE[0], 3),
    ]
    numbers = [bench.send(body, 3 if isinstance(body, JoinGroupRequest) else 7) for body in asked]
    failed = ErrorCode.KAFKA_STORAGE_ERROR
    bench.finish(failed, failed, NONE)
    assert bench.commit_error(numbers[0]) is LOST
    assert [bench.answers[number].error_code for number in numbers[1:3]] == [LOST, LOST]
    assert bench.commit_error(numbers[3]) is NONE
    assert read(bench, HERE[0]) == [1]
    assert listed(bench) == sorted([HERE[0], THERE[0]])
    assert bench.coordinator.serving(0) is Serving.SERVED
    again = bench.send(commit(HERE[0], 4))
    bench.finish()
    assert bench.commit_error(again) is NONE


def test_appends_committed_before_a_failure_are_acknowledged() -> None:
    bench = SlowBench()
    numbers = [bench.send(commit(HERE[0], offset)) for offset in (1, 2, 3)]
    failed = ErrorCode.KAFKA_STORAGE_ERROR
    bench.finish(NONE, failed, failed)
    assert [bench.commit_error(number) for number in numbers] == [NONE, LOST, LOST]
    assert read(bench, HERE[0]) == [1]


def test_assignments_whose_append_fails_late_are_not_returned_and_the_group_is_unloaded() -> None:
    bench = SlowBench()
    bench.join()
    bench.finish()
    bench.advance(DELAY_MS)
    waits = bench.sync("m1", m1=b"mine")
    bench.finish(ErrorCode.KAFKA_STORAGE_ERROR)
    assert bench.answers[waits].error_code is LOST
    assert bench.view.state is GroupState.EMPTY  # as in the log
    assert bench.heartbeat("m1") is ErrorCode.UNKNOWN_MEMBER_ID


def test_partition_that_cannot_be_reloaded_after_a_failure_is_not_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = SlowBench()
    waits = bench.send(commit(HERE[0], 1))

    def unreadable(_partition: int) -> Any:
        raise OSError

    monkeypatch.setattr(bench.slow, "read", unreadable)
    with pytest.raises(OSError):  # noqa: PT011 - raised as it is
        bench.finish(ErrorCode.KAFKA_STORAGE_ERROR)
    bench.keep(bench.coordinator.take())
    assert bench.commit_error(waits) is LOST
    assert bench.coordinator.serving(0) is Serving.UNLOADED


def test_append_that_fails_after_a_reload_is_rolled_back() -> None:
    bench = SlowBench()
    bench.send(commit(HERE[0], 1))
    bench.keep(bench.coordinator.unload(0))
    bench.keep(bench.coordinator.load(0))
    assert read(bench, HERE[0]) == [1]
    bench.finish(ErrorCode.KAFKA_STORAGE_ERROR)
    assert read(bench, HERE[0]) == []
    assert bench.coordinator.serving(0) is Serving.SERVED


def test_append_that_fails_after_a_shutdown_loads_nothing() -> None:
    for shuts_first in (True, False):
        bench = SlowBench()
        bench.send(commit(HERE[0], 1))
        bench.finish()
        bench.send(commit(HERE[0], 2))
        if shuts_first:
            bench.keep(bench.coordinator.shutdown())
            bench.finish(ErrorCode.KAFKA_STORAGE_ERROR)
        else:
            bench.slow.finish(ErrorCode.KAFKA_STORAGE_ERROR)
            bench.keep(bench.coordinator.shutdown())
        assert bench.coordinator.views() == ()
