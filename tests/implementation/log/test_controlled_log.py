"""A log whose appends are held, released and made to fail."""

from __future__ import annotations

import pytest

from groupcheck.implementation.log.controlled import ControlledLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.log.records import Batch, Marker
from groupcheck.model.vocabulary import ErrorCode

FAILED = ErrorCode.NOT_ENOUGH_REPLICAS
FIRST, SECOND = Batch(producer_id=1), Batch(producer_id=2)
MARKER = Batch(producer_id=1, marker=Marker.COMMIT)


def test_held_append_is_in_the_log_at_once_and_completes_in_order_at_the_release() -> None:
    below, results = MemoryLog(), []
    log = ControlledLog(below)
    log.hold()
    log.append(3, FIRST, lambda error: results.append((1, error)))
    log.append(3, SECOND, lambda error: results.append((2, error)))
    assert tuple(log.read(3)) == tuple(below.read(3)) == (FIRST, SECOND)
    assert results == []
    log.release()
    assert results == [(1, ErrorCode.NONE), (2, ErrorCode.NONE)]
    log.append(3, FIRST, lambda error: results.append((3, error)))
    assert len(results) == 3


def test_given_number_of_appends_fail_and_leave_nothing() -> None:
    results: list[ErrorCode] = []
    log = ControlledLog(MemoryLog())
    log.fail(1, FAILED)
    log.append(0, FIRST, results.append)
    log.append(0, SECOND, results.append)
    assert results == [FAILED, ErrorCode.NONE]
    assert tuple(log.read(0)) == (SECOND,)


@pytest.mark.parametrize(
    "late", [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
)
def test_append_with_an_error_after_the_leaders_append_is_in_the_log(late: ErrorCode) -> None:
    results: list[ErrorCode] = []
    log = ControlledLog(MemoryLog())
    log.hold()
    log.fail(1, late)
    log.append(0, FIRST, results.append)
    assert (results, tuple(log.read(0))) == ([], (FIRST,))
    log.release()
    assert results == [late]
    at_once = ControlledLog(MemoryLog(), fails_at_once=True)
    at_once.fail(1, late)
    at_once.append(0, FIRST, results.append)
    assert (results, tuple(at_once.read(0))) == ([late, late], ())


def test_held_append_fails_at_the_release() -> None:
    results: list[ErrorCode] = []
    log = ControlledLog(MemoryLog())
    log.hold()
    log.fail(1, FAILED)
    log.append(0, FIRST, results.append)
    assert results == []
    log.release()
    assert results == [FAILED]


def test_append_may_fail_at_once_while_others_are_held() -> None:
    results: list[ErrorCode] = []
    log = ControlledLog(MemoryLog(), fails_at_once=True)
    log.hold()
    log.append(0, FIRST, results.append)
    log.fail(1, FAILED)
    log.append(0, SECOND, results.append)
    assert results == [FAILED]
    log.release()
    assert results == [FAILED, ErrorCode.NONE]


def test_held_completions_are_dropped_in_a_crash_and_later_ones_are_held() -> None:
    results: list[ErrorCode] = []
    log = ControlledLog(MemoryLog())
    log.hold()
    log.append(0, FIRST, results.append)
    log.discard_held()
    log.append(0, SECOND, results.append)
    assert results == []
    log.release()
    assert results == [ErrorCode.NONE]
    assert tuple(log.read(0)) == (FIRST, SECOND)


def test_excluded_markers_are_neither_held_nor_fail() -> None:
    results: list[ErrorCode] = []
    log = ControlledLog(MemoryLog(), excludes_markers=True)
    log.hold()
    log.fail(1, FAILED)
    log.append(0, MARKER, results.append)
    assert results == [ErrorCode.NONE]
    log.append(0, FIRST, results.append)
    log.release()
    assert results == [ErrorCode.NONE, FAILED]
