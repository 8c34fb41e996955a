"""`groupcheck history`: verdicts, and one line for an invalid file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Line = dict[str, Any]

OPEN: Line = {
    "type": "open",
    "trace": 1,
    "history": 1,
    "profile": "2.7",
    "config": {"group.initial.rebalance.delay.ms": 100},
}
SESSION_MS = 6_000


def request(number: int, start_ms: float, api: str, version: int, **body: Any) -> Line:
    fields = {"groupId": "g", **body}
    line = {"type": "request", "id": number, "startMs": start_ms, "api": api, "body": fields}
    return {**line, "apiVersion": version}


def join(number: int, start_ms: float) -> Line:
    protocols = [{"name": "range", "metadata": ""}]
    times = {"sessionTimeoutMs": SESSION_MS, "rebalanceTimeoutMs": 10_000}
    fields = {**times, "memberId": "", "protocolType": "consumer", "protocols": protocols}
    return request(number, start_ms, "JoinGroup", 3, **fields)


def heartbeat(number: int, start_ms: float, generation: int = 1) -> Line:
    return request(number, start_ms, "Heartbeat", 0, generationId=generation, memberId="m")


def response(number: int, end_ms: float, body: Any) -> Line:
    return {"type": "response", "id": number, "endMs": end_ms, "body": body}


def silence(number: int, end_ms: float) -> Line:
    return {"type": "silence", "id": number, "endMs": end_ms}


def joined(number: int, end_ms: float, **fields: Any) -> Line:
    done = {"errorCode": 0, "generationId": 1, "protocolName": "range", "leader": "m"}
    members = [{"memberId": "m", "metadata": ""}]
    return response(number, end_ms, {**done, "memberId": "m", "members": members, **fields})


ALONE = (join(1, 0), joined(1, 120))


def test_an_allowed_history_has_exit_status_0(history: Callable[..., Any]) -> None:
    printed = """\
1 operation of 1 group: every group has an order that Kafka allows
tolerances: a timer may fire up to 1000 ms late, never early; an answer that is missing after 30 ms was not sent
"""  # noqa: E501 - as it is printed
    assert history((OPEN, *ALONE)) == (0, printed, "")


def test_a_rejected_history_prints_the_longest_order_and_the_allowed_responses(
    history: Callable[..., Any],
) -> None:
    # The second member joins while the first sends a heartbeat; neither order gives error 22.
    lines = (OPEN, *ALONE, heartbeat(2, 200.5), join(3, 201), response(2, 203, {"errorCode": 22}))
    assert history(lines, "--late-ms=0") == (
        1,
        """\
In group 'g' no order of the operations is allowed by Apache Kafka 2.7.2.

The longest allowed order has 2 of 3 operations:
   1. 0 ms  request 1: A sends JoinGroup v3 without a member id, offering range b'' (session timeout 6 s, rebalance timeout 10 s)
   2. 100 ms  the initial delay is over and ends the join phase [DelayedJoin.scala:81]; the join phase ends and a new generation begins [GroupCoordinator.scala:1208]
        <- (to request 1) no error, generation 1, member id A, leader A, protocol range, members A b''
   3. 201 ms  request 3: B sends JoinGroup v3 without a member id, offering range b'' (session timeout 6 s, rebalance timeout 10 s)

Required next, but not allowed:
  request 2, from 200.500 to 203.000 ms: A sends Heartbeat v0 for generation 1
    <- ILLEGAL_GENERATION (22)

Expected from Apache Kafka 2.7.2:
  request 2, coming next, is answered: REBALANCE_IN_PROGRESS (27)
    because a rebalance is being prepared, and the member has to rejoin [GroupCoordinator.scala:650]

tolerances: a timer may fire up to 0 ms late, never early; an answer that is missing after 30 ms was not sent
""",  # noqa: E501 - as it is printed
        "",
    )


@pytest.mark.parametrize(
    ("beaten", "late_ms", "error", "status"),
    [
        # The member receives its generation between 100 and 120 ms.
        ((6_090, 6_099), 0, 25, 1),
        ((6_090, 6_099), 0, 0, 0),
        ((6_130, 6_140), 0, 25, 0),
        ((6_130, 6_140), 0, 0, 1),
        ((6_110, 6_115), 0, 25, 0),
        ((6_110, 6_115), 0, 0, 0),
        ((6_090, 6_099), 1_000, 25, 1),
        ((6_800, 6_900), 1_000, 25, 0),
        ((6_800, 6_900), 1_000, 0, 0),
        ((7_500, 7_600), 1_000, 0, 1),
        # A request that races the deadline.
        ((6_050, 6_300), 0, 25, 0),
        ((6_050, 6_300), 0, 0, 0),
    ],
)
def test_a_timer_fires_late_within_the_tolerance_and_never_early(
    beaten: tuple[int, int], late_ms: int, error: int, status: int, history: Callable[..., Any]
) -> None:
    start_ms, end_ms = beaten
    answer = response(2, end_ms, {"errorCode": error})
    lines = (OPEN, *ALONE, heartbeat(2, start_ms), answer)
    assert history(lines, f"--late-ms={late_ms}").status == status


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((join(1, 0), silence(1, 90)), 0),
        ((join(1, 0), silence(1, 1_000)), 0),
        ((join(1, 0), silence(1, 9_000)), 1),
        ((*ALONE, heartbeat(2, 200), silence(2, 9_000)), 1),
        ((*ALONE, heartbeat(2, 200)), 0),
        ((*ALONE, heartbeat(2, 200), response(2, 210, None)), 0),
    ],
    ids=["parked", "due-within-the-slack", "due", "due-at-once", "unknown", "not-seen"],
)
def test_silence_is_an_observation_and_an_unseen_response_is_none(
    lines: tuple[Line, ...], status: int, history: Callable[..., Any]
) -> None:
    assert history((OPEN, *lines)).status == status


def test_a_search_that_reaches_its_limit_has_no_verdict(history: Callable[..., Any]) -> None:
    lines = (OPEN, *ALONE, heartbeat(2, 200), response(2, 203, {"errorCode": 22}))
    found, out, err = history(lines, "--max-points=2")
    assert (found, out) == (2, "")
    why = "no verdict on group 'g' after 2 points of the search; --max-points allows more"
    assert err == f"groupcheck: {why}\n"


def test_a_request_that_the_model_does_not_have_ends_the_check_of_a_group(
    history: Callable[..., Any],
) -> None:
    twice = join(2, 500)
    twice["body"]["protocols"] *= 2
    lines = (OPEN, *ALONE, twice, heartbeat(3, 600), response(3, 601, {"errorCode": 22}))
    found, out, _ = history(lines)
    assert found == 0
    assert "group 'g': a JoinGroup that names a protocol twice" in out


def test_a_group_that_existed_before_is_not_checked(history: Callable[..., Any]) -> None:
    before = {**OPEN, "groups": ["g"]}
    found, out, _ = history((before, *ALONE, heartbeat(2, 300)))
    assert found == 0
    assert "group 'g': it existed before" in out


BAD_LINES = [
    ("{", "FILE:2: not a JSON object (Expecting property name enclosed in double quotes)"),
    ([], "FILE:2: not a JSON object"),
    ({"type": "advance", "ms": 5}, "FILE:2: not a line of a history: {'type': 'advance', 'ms': 5}"),
    (response(1, 5, {}), "FILE:2: no request before it has the id 1"),
    ({**join(1, 0), "id": "x"}, "FILE:2: id: expected an integer, got 'x'"),
    (join(1, -1), "FILE:2: startMs: not a number of milliseconds, but -1"),
    (join(1, float("nan")), "FILE:2: startMs: not a number of milliseconds, but nan"),
    ({**join(1, 0), "api": "Fetch"}, "FILE:2: api: not one of profile 2.7: 'Fetch'"),
    (
        {**join(1, 0), "apiVersion": 99},
        "FILE:2: JoinGroup has versions 0 to 7 in profile 2.7, not 99",
    ),
]


@pytest.mark.parametrize(("line", "complaint"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_an_invalid_line_is_named(line: Any, complaint: str, history: Callable[..., Any]) -> None:
    assert history((OPEN, line)) == (2, "", f"groupcheck: {complaint}\n")


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (("",), "FILE: empty, not a history"),
        (({**OPEN, "history": 2},), "FILE:1: not the first line of a history of format 1"),
        (({**OPEN, "profile": "9"},), "FILE:1: unknown profile '9'"),
        (({**OPEN, "groups": 5},), "FILE:1: groups: not a list of names"),
        (({**OPEN, "appends": 5},), "FILE:1: appends: 'open' or 'atomic', not 5"),
        (({**OPEN, "appends": {}},), "FILE:1: appends: 'open' or 'atomic', not {}"),
        (({**OPEN, "unseen": [[]]},), "FILE:1: unseen: not a list of APIs of profile 2.7"),
        ((OPEN, {"type": []}), "FILE:2: not a line of a history: {'type': []}"),
        ((OPEN,), "FILE: no request in it, so there is nothing to check"),
        ((OPEN, join(1, 0), join(1, 0)), "FILE:3: a second request with the id 1"),
        ((OPEN, join(1, 5), joined(1, 4)), "FILE:3: request 1 ends before it begins"),
        ((OPEN, *ALONE, silence(1, 200)), "FILE:4: a second end of request 1"),
        ((OPEN, join(1, 0), response(1, 5, {"errorCode": "x"})), "FILE:3: JoinGroup.errorCode: "),
    ],
)
def test_an_invalid_file_is_one_line(
    lines: tuple[Any, ...], complaint: str, history: Callable[..., Any]
) -> None:
    found, out, err = history(lines)
    assert (found, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"groupcheck: {complaint}")


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, error: Callable[..., str]) -> None:
    assert error("history", tmp_path / "none").endswith("/none: No such file or directory\n")
    (tmp_path / "bytes").write_bytes(b"\xff\n")
    assert error("history", tmp_path / "bytes").endswith("bytes:1: not text in UTF-8\n")
