"""Deferred responses of 4.1 with several groups, several partitions, and appends that fail late.

Scenarios of one group are in tests/model/classic/test_held_appends.py.
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
from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import PRODUCER_ID, PROTOCOLS
from groupcheck.model.vocabulary import ErrorCode, GroupState, RequestBody
from support.coordinators import DELAY_MS, BuiltinBroker
from support.requests import (
    PARTITION,
    SESSION_MS,
    commit_of,
    delete_of,
    fetch_of,
    offset_of,
    partition_error,
    txn_commit_of,
)

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


class SlowBroker(BuiltinBroker):
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


def held() -> BuiltinBroker:
    broker = BuiltinBroker(TWO, profile=PROFILE_4_1)
    broker.log.hold()
    return broker


def commit(group_id: str, offset: int) -> kafka.OffsetCommitRequest:
    return commit_of({PARTITION: offset}, group_id=group_id)


def commit_in_transaction(group_id: str, offset: int) -> kafka.TxnOffsetCommitRequest:
    return txn_commit_of({PARTITION: offset}, group_id=group_id)


def read(broker: BuiltinBroker, group_id: str) -> list[int]:
    found = broker.fetch(group_id=group_id, require_stable=False)
    return [partition.committed_offset for partition in found.values()]


def listed(broker: BuiltinBroker) -> list[str]:
    return sorted(group.group_id for group in broker.listed())


def stable_fetch(group_id: str) -> kafka.OffsetFetchRequest:
    return fetch_of(group_id=group_id, require_stable=True)


def test_request_waits_for_the_appends_of_all_groups_of_its_partition() -> None:
    broker = held()
    assert not broker.send(commit(HERE[0], 5)).answered
    waits = broker.send(stable_fetch(HERE[1]), 7)
    assert not waits.answered
    assert broker.send(stable_fetch(THERE[0]), 7).answer.error_code is NONE
    broker.release()
    assert waits.answer.topics == ()


def test_responses_are_released_in_the_order_of_the_log() -> None:
    broker = SlowBroker()
    one = broker.send(commit(HERE[0], 1))
    asked = broker.send(stable_fetch(HERE[0]), 7)
    two = broker.send(commit(HERE[0], 2))
    broker.finish()
    assert [call.answered for call in (one, asked, two)] == [True, True, False]
    assert offset_of(asked.answer) == 1
    broker.finish()
    assert two.answered


def test_reads_return_the_state_after_the_last_committed_append() -> None:
    broker = SlowBroker()
    name = HERE[0]
    broker.send(commit(name, 1))
    broker.send(commit(name, 2))
    broker.send(delete_of(PARTITION, group_id=name))
    broker.send(commit_in_transaction(name, 3))
    broker.send(kafka.EndTxnRequest(name, PRODUCER_ID, committed=True))
    seen = [read(broker, name)]
    for _ in range(5):
        broker.finish()
        seen.append(read(broker, name))
    assert seen == [[], [1], [2], [], [], [3]]


def test_abort_marker_makes_nothing_readable() -> None:
    broker = SlowBroker()
    broker.send(commit_in_transaction(HERE[0], 3))
    broker.finish()
    broker.send(kafka.EndTxnRequest(HERE[0], PRODUCER_ID, committed=False))
    assert read(broker, HERE[0]) == []
    broker.finish()
    assert read(broker, HERE[0]) == []


def test_group_that_is_deleted_and_created_again_is_visible_as_committed() -> None:
    broker = SlowBroker()
    name = HERE[0]
    broker.send(commit(name, 1))
    broker.finish()
    broker.send(kafka.DeleteGroupsRequest((name,)))
    broker.send(kafka.JoinGroupRequest(name, SESSION_MS, 0, protocols=PROTOCOLS), 3)
    seen = []
    for _ in range(3):
        described = broker.describe(name)
        seen.append((listed(broker), read(broker, name), described.group_state))
        if len(seen) < 3:
            broker.finish()
    assert seen == [
        ([name], [1], GroupState.EMPTY),
        ([], [], GroupState.DEAD),
        ([name], [], GroupState.PREPARING_REBALANCE),
    ]


def test_group_is_visible_with_the_first_committed_append_to_its_partition() -> None:
    broker = SlowBroker()
    broker.commit(offsets={PARTITION: (1, -1, "x" * 5_000)}, group_id=HERE[0])
    broker.send(commit(HERE[1], 1))
    assert listed(broker) == []
    broker.finish()
    assert listed(broker) == sorted(HERE[:2])


def test_delete_groups_waits_for_every_partition_of_its_groups() -> None:
    broker = SlowBroker()
    for name in (HERE[0], THERE[0]):
        broker.send(commit(name, 1))
        broker.finish()
    waits = broker.send(kafka.DeleteGroupsRequest((HERE[0], THERE[0], THERE[1])))
    broker.finish()
    assert not waits.answered
    broker.finish()
    results = [(r.group_id, r.error_code) for r in waits.answer.results]
    assert results == [(HERE[0], NONE), (THERE[0], NONE), (THERE[1], ErrorCode.GROUP_ID_NOT_FOUND)]


def test_delete_groups_is_decided_on_after_the_appends_that_complete_together() -> None:
    broker = SlowBroker()
    name = HERE[0]
    broker.send(commit(name, 1))
    waits = broker.send(kafka.DeleteGroupsRequest((name, HERE[1])))
    broker.send(commit(HERE[1], 2))
    broker.finish(NONE, NONE)
    assert not waits.answered
    broker.finish()
    assert [r.error_code for r in waits.answer.results] == [NONE, NONE]
    assert listed(broker) == []


def test_delete_groups_fails_if_its_own_append_fails_after_it_has_waited() -> None:
    broker = SlowBroker()
    broker.send(commit(HERE[0], 1))
    waits = broker.send(kafka.DeleteGroupsRequest((HERE[0],)))
    broker.finish()
    broker.finish(ErrorCode.KAFKA_STORAGE_ERROR)
    assert waits.answer.results[0].error_code is LOST
    assert read(broker, HERE[0]) == [1]


def test_delete_groups_fails_only_for_the_groups_of_an_unloaded_partition() -> None:
    broker = held()
    for name in (HERE[0], THERE[0]):
        broker.send(commit(name, 1))
    waits = broker.send(kafka.DeleteGroupsRequest((HERE[0], HERE[1], THERE[0])))
    broker.keep(broker.coordinator.unload(0))
    assert not waits.answered
    broker.release()
    assert [r.error_code for r in waits.answer.results] == [LOST, LOST, NONE]


def test_unload_fails_only_the_deferred_responses_of_its_partition() -> None:
    broker = held()
    here, there = (broker.send(commit(name, 1)) for name in (HERE[0], THERE[0]))
    broker.keep(broker.coordinator.unload(0))
    assert partition_error(here.answer) is LOST
    assert not there.answered
    broker.release()
    assert partition_error(there.answer) is NONE


def test_append_that_completes_after_a_reload_releases_no_later_response() -> None:
    broker = SlowBroker()
    broker.send(commit(HERE[0], 1))
    broker.keep(broker.coordinator.unload(0))
    broker.keep(broker.coordinator.load(0))
    waits = broker.send(commit(HERE[0], 2))
    broker.finish()
    assert not waits.answered
    assert read(broker, HERE[0]) == [1]
    broker.finish()
    assert partition_error(waits.answer) is NONE
    assert read(broker, HERE[0]) == [2]


# An append that fails after later ones have been made


def test_late_append_failure_restores_the_log_and_fails_deferred_responses() -> None:
    broker = SlowBroker()
    broker.send(commit(HERE[0], 1))
    broker.finish()
    asked: list[RequestBody] = [
        commit(HERE[0], 2),
        stable_fetch(HERE[1]),
        kafka.JoinGroupRequest(HERE[1], SESSION_MS, 0, protocols=PROTOCOLS),
        commit(THERE[0], 3),
    ]
    calls = [
        broker.send(body, 3 if isinstance(body, kafka.JoinGroupRequest) else 7) for body in asked
    ]
    failed = ErrorCode.KAFKA_STORAGE_ERROR
    broker.finish(failed, failed, NONE)
    assert partition_error(calls[0].answer) is LOST
    assert [call.answer.error_code for call in calls[1:3]] == [LOST, LOST]
    assert partition_error(calls[3].answer) is NONE
    assert read(broker, HERE[0]) == [1]
    assert listed(broker) == sorted([HERE[0], THERE[0]])
    assert broker.coordinator.serving(0) is Serving.SERVED
    again = broker.send(commit(HERE[0], 4))
    broker.finish()
    assert partition_error(again.answer) is NONE


def test_appends_committed_before_a_failure_are_acknowledged() -> None:
    broker = SlowBroker()
    calls = [broker.send(commit(HERE[0], offset)) for offset in (1, 2, 3)]
    failed = ErrorCode.KAFKA_STORAGE_ERROR
    broker.finish(NONE, failed, failed)
    assert [partition_error(call.answer) for call in calls] == [NONE, LOST, LOST]
    assert read(broker, HERE[0]) == [1]


def test_assignments_whose_append_fails_late_are_not_returned_and_the_group_is_unloaded() -> None:
    broker = SlowBroker()
    broker.join()
    broker.finish()
    broker.advance(DELAY_MS)
    waits = broker.sync("m1", 1, {"m1": b"mine"})
    broker.finish(ErrorCode.KAFKA_STORAGE_ERROR)
    assert waits.answer.error_code is LOST
    assert broker.view.state is GroupState.EMPTY  # as in the log
    assert broker.heartbeat("m1") is ErrorCode.UNKNOWN_MEMBER_ID


def test_partition_that_cannot_be_reloaded_after_a_failure_is_not_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = SlowBroker()
    waits = broker.send(commit(HERE[0], 1))

    def unreadable(_partition: int) -> Any:
        raise OSError

    monkeypatch.setattr(broker.slow, "read", unreadable)
    with pytest.raises(OSError):  # noqa: PT011 - raised as it is
        broker.finish(ErrorCode.KAFKA_STORAGE_ERROR)
    broker.keep(broker.coordinator.take())
    assert partition_error(waits.answer) is LOST
    assert broker.coordinator.serving(0) is Serving.UNLOADED


def test_append_that_fails_after_a_reload_is_rolled_back() -> None:
    broker = SlowBroker()
    broker.send(commit(HERE[0], 1))
    broker.keep(broker.coordinator.unload(0))
    broker.keep(broker.coordinator.load(0))
    assert read(broker, HERE[0]) == [1]
    broker.finish(ErrorCode.KAFKA_STORAGE_ERROR)
    assert read(broker, HERE[0]) == []
    assert broker.coordinator.serving(0) is Serving.SERVED


def test_append_that_fails_after_a_shutdown_loads_nothing() -> None:
    for shuts_first in (True, False):
        broker = SlowBroker()
        broker.send(commit(HERE[0], 1))
        broker.finish()
        broker.send(commit(HERE[0], 2))
        if shuts_first:
            broker.keep(broker.coordinator.shutdown())
            broker.finish(ErrorCode.KAFKA_STORAGE_ERROR)
        else:
            broker.slow.finish(ErrorCode.KAFKA_STORAGE_ERROR)
            broker.keep(broker.coordinator.shutdown())
        assert broker.coordinator.views() == ()
