"""`groupcheck history`: faults of the coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Line = dict[str, Any]

MINUTE_MS = 60_000


def opening(**more: Any) -> Line:
    config = {"offsets.retention.minutes": 1}
    return {"type": "open", "trace": 1, "history": 1, "profile": "2.7", "config": config, **more}


def commit(number: int, start_ms: float, offset: int, group: str = "g") -> list[Line]:
    partition = {"partitionIndex": 0, "committedOffset": offset, "committedMetadata": ""}
    topics = [{"name": "t", "partitions": [partition]}]
    member = {"generationIdOrMemberEpoch": -1, "memberId": "", "retentionTimeMs": -1}
    body = {"groupId": group, **member, "topics": topics}
    done = [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 0}]}]
    return [
        request(number, start_ms, "OffsetCommit", 2, body),
        response(number, start_ms + 10, {"topics": done}),
    ]


def fetch(number: int, start_ms: float, offset: int, group: str = "g") -> list[Line]:
    body = {"groupId": group, "topics": [{"name": "t", "partitionIndexes": [0]}]}
    partition = {"partitionIndex": 0, "committedOffset": offset, "metadata": "", "errorCode": 0}
    found = {"topics": [{"name": "t", "partitions": [partition]}]}
    return [
        request(number, start_ms, "OffsetFetch", 1, body),
        response(number, start_ms + 10, found),
    ]


def request(number: int, start_ms: float, api: str, version: int, body: Line) -> Line:
    line = {"type": "request", "id": number, "startMs": start_ms, "api": api, "body": body}
    return {**line, "apiVersion": version}


def response(number: int, end_ms: float, body: Line) -> Line:
    return {"type": "response", "id": number, "endMs": end_ms, "body": body}


def fault(name: str, start_ms: float, end_ms: float | None = None, **more: Any) -> Line:
    ends = {} if end_ms is None else {"endMs": end_ms}
    return {"type": "fault", "fault": name, "startMs": start_ms, **ends, **more}


@pytest.mark.parametrize("late_ms", [0, 1_000])
@pytest.mark.parametrize(
    ("cleaned", "found", "status"),
    [
        # The commit took effect between 0 and 10 ms, and is over a minute later.
        ((MINUTE_MS - 100, MINUTE_MS - 1), 5, 0),
        ((MINUTE_MS - 100, MINUTE_MS - 1), -1, 1),
        ((MINUTE_MS, MINUTE_MS + 9), 5, 0),
        ((MINUTE_MS, MINUTE_MS + 9), -1, 0),
        ((MINUTE_MS + 11, MINUTE_MS + 11), 5, 1),
        ((MINUTE_MS + 11, MINUTE_MS + 11), -1, 0),
        ((MINUTE_MS - 5, MINUTE_MS + 50), 5, 0),
        ((MINUTE_MS - 5, MINUTE_MS + 50), -1, 0),
    ],
)
def test_an_offset_expires_in_a_cleanup_and_at_no_other_time(
    late_ms: int, cleaned: tuple[float, float], found: int, status: int, history: Callable[..., Any]
) -> None:
    cleanup = fault("cleanup", *cleaned)
    lines = [opening(), *commit(1, 0, 5), cleanup, *fetch(2, 2 * MINUTE_MS, found)]
    assert history(lines, f"--late-ms={late_ms}").status == status


@pytest.mark.parametrize("found", [5, -1])
def test_an_uncertain_cleanup_explains_both_results(
    found: int, history: Callable[..., Any]
) -> None:
    cleanup = fault("cleanup", MINUTE_MS - 10_000)
    lines = [opening(), *commit(1, 0, 5), cleanup, *fetch(2, 2 * MINUTE_MS, found)]
    assert history(lines).status == 0
    assert history([*lines, *fetch(3, 2 * MINUTE_MS + 20, 5)]).status == (found == -1)


def test_a_fault_of_one_groups_partition_does_not_affect_others(
    history: Callable[..., Any],
) -> None:
    commits = [*commit(1, 0, 5), *commit(2, 0, 6, "other")]
    unloaded = fault("unload", 100, 110, groups=["other"])
    lines = [opening(), *commits, unloaded, *fetch(3, 200, 5)]
    assert history(lines).status == 0
    status, out, _ = history([*lines, *fetch(4, 300, 6, "other")])
    assert status == 1
    assert "In group 'other' no order" in out
    assert "NOT_COORDINATOR (16)" in out


def test_a_fault_is_listed_in_the_longest_order(history: Callable[..., Any]) -> None:
    cleanup = fault("cleanup", 2 * MINUTE_MS, 2 * MINUTE_MS + 5)
    lines = [opening(), *commit(1, 0, 5), cleanup, *fetch(2, 2 * MINUTE_MS + 10, 5)]
    status, out, _ = history(lines)
    assert status == 1
    assert out.startswith("""\
In group 'g' no order of the operations is allowed by Apache Kafka 2.7.2.

The longest allowed order has 2 of 3 operations:
   1. 0 ms  request 1: a client sends OffsetCommit v2: t/0 = 5
   2. 0 ms  the offsets are stored and can be read [GroupMetadataManager.scala:410]
        <- (to request 1) t/0: no error
   3. 120,000 ms  the coordinator removes expired offsets

Required next, but not allowed:
  request 2, from 120,010.000 to 120,020.000 ms: a client sends OffsetFetch v1: t/0
""")
    assert "  request 2, coming next, is answered: no error, t/0: none" in out


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            fault("append", 5),
            "FILE:2: fault: one of cleanup, crash, load, loading, shutdown, unload, not 'append'",
        ),
        (fault("crash", 5, 4), "FILE:2: crash ends before it begins"),
        (fault("crash", -5), "FILE:2: startMs: not a number of milliseconds, but -5"),
        (fault("crash", 5, groups="g"), "FILE:2: groups: not a list of names"),
        ({"type": "fault"}, "FILE:2: fault: one of"),
    ],
)
def test_a_fault_that_is_none_is_named(
    line: Line, complaint: str, history: Callable[..., Any]
) -> None:
    status, out, err = history([opening(), line])
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"groupcheck: {complaint}")


def test_a_request_that_was_lost_took_effect_by_then_or_never(history: Callable[..., Any]) -> None:
    sent, _ = commit(2, 100, 6)
    lost = {"type": "lost", "id": 2, "endMs": 110}
    before = [opening(appends="atomic"), *commit(1, 0, 5), sent, lost]
    assert history([*before, *fetch(3, 200, 5)]).status == 0
    assert history([*before, *fetch(3, 200, 6)]).status == 0
    changed = [*fetch(3, 200, 5), *fetch(4, 300, 6)]
    assert history([*before, *changed]).status == 1
    assert history([*before[:-1], *changed]).status == 0
    assert "a second end of request 2" in history([*before, lost])[2]
