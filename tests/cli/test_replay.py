"""`groupcheck replay` and `check_trace`: a trace is replayed on a port."""

from __future__ import annotations

import io
import json
import lzma
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import groupcheck
from groupcheck.cli import main
from groupcheck.model.classic.instances.inputs import GROUP_ID, NOBODY, OTHER_TOPIC, TOPIC
from groupcheck.model.classic.state import Advance, HoldAppends
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetFetchRequest,
    Protocol,
    Request,
)
from groupcheck.properties.sequence import Sequence, dump, step_message
from groupcheck.reports.record_file import read as read_saved
from support.serving import Served

JOIN = Request(
    1, 3, JoinGroupRequest(GROUP_ID, 10_000, 20_000, protocols=(Protocol("range", b""),))
)
UNFAIR = Request(2, 4, HeartbeatRequest(GROUP_ID, 1, "#1"))
HEARTBEAT = Request(3, 4, HeartbeatRequest(GROUP_ID, 1, NOBODY))
FETCHES = tuple(Request(number, 7, OffsetFetchRequest(GROUP_ID, ())) for number in (4, 5))
INTERMITTENT = "python:support.small_ports:IntermittentPort"
HEARTBEATS_ONLY = "python:support.small_ports:HeartbeatsOnly"
UNKNOWN_TYPE = "protocol error: a message of unknown type 'open'"
UNKNOWN_ID = "step 2 uses a member id that the port never returned"
NOTHING = "nothing was done: 1 step left out, not supported"
OMISSION = "3 steps left out, not supported: OffsetFetch v7, holdAppends"


def _trace(*steps: Input, profile: str = "2.7") -> str:
    return dump(Sequence(profile, {}, steps))


@pytest.fixture
def replay(run: Callable[..., Any], tmp_path: Path) -> Callable[[str, str], tuple[int, str, str]]:
    """Replays a trace on a port; returns status, output, and error without the path."""
    path = tmp_path / "trace"

    def replay_trace(text: str, port: str) -> tuple[int, str, str]:
        path.write_text(text, encoding="utf-8")
        done = run("replay", path, port)
        return done.status, done.out, done.err.replace(str(path), "trace")

    return replay_trace


@pytest.mark.parametrize(
    ("trace", "port", "done"),
    [
        pytest.param(
            _trace(JOIN, Advance(3_000), UNFAIR),
            "builtin",
            (0, "3 steps, each answered as Kafka would\n", ""),
            id="the port conforms",
        ),
        pytest.param(
            _trace(FETCHES[0], HEARTBEAT, HoldAppends(), FETCHES[1]),
            HEARTBEATS_ONLY,
            (0, f"1 step, each answered as Kafka would\n{OMISSION}\n", ""),
            id="the port does not support some steps",
        ),
        pytest.param(
            _trace(FETCHES[0]),
            HEARTBEATS_ONLY,
            (
                2,
                "",
                "groupcheck: nothing was done: 1 step left out, not supported: OffsetFetch v7\n",
            ),
            id="the port supports no step",
        ),
        pytest.param(
            _trace(HEARTBEAT),
            "exec:cat",
            (2, "", f"groupcheck: exec:cat cannot be opened: {UNKNOWN_TYPE}\n"),
            id="the port cannot be opened",
        ),
        pytest.param(
            _trace(JOIN, UNFAIR),
            "builtin",
            (2, "", f"groupcheck: {UNKNOWN_ID}\n"),
            id="a step has a member id that the port never returned",
        ),
        pytest.param(
            "hello\n",
            "builtin",
            (2, "", "groupcheck: trace:1: not a JSON object (Expecting value)\n"),
            id="the file is not a trace",
        ),
        pytest.param(
            _trace(Advance(1), profile="0.10.2"),
            "builtin",
            (
                2,
                "",
                "groupcheck: the built-in coordinator implements Kafka 2.7 and 4.1, not 0.10.2\n",
            ),
            id="the port does not have the profile",
        ),
    ],
)
def test_replay_prints_a_verdict_or_one_line(
    trace: str, port: str, done: tuple[int, str, str], replay: Callable[..., Any]
) -> None:
    assert replay(trace, port) == done


def test_a_finding_that_depends_on_the_ports_random_choices_is_found_again(
    replay: Callable[..., Any],
) -> None:
    status, out, _ = replay(_trace(HEARTBEAT), INTERMITTENT)
    assert status == 1
    assert out.startswith("Finding ")


@pytest.mark.parametrize(("port", "status"), [("builtin", 0), (INTERMITTENT, 1)])
def test_raw_messages_have_the_ids_of_the_port_and_are_those_of_the_trace(
    port: str, status: int, tmp_path: Path, run: Callable[..., Any]
) -> None:
    steps = (JOIN, Advance(3_000), UNFAIR) if port == "builtin" else (HEARTBEAT,)
    path = tmp_path / "trace"
    path.write_text(_trace(*steps), encoding="utf-8")
    done = run("replay", path, port, "--raw")
    messages = [line for line in done.out.splitlines() if line.startswith(("> ", "< "))]
    sent, received = (
        [json.loads(line[2:]) for line in messages if line.startswith(sign)] for sign in "><"
    )
    assert done.status == status
    assert [each["type"] for each in received] == ["response"] * len(received)
    assert [each["id"] for each in received] == [each.get("id") for each in sent if "id" in each]
    if port == "builtin":
        (member_id,) = {each["body"]["memberId"] for each in received if each["id"] == 1}
        assert sent[2]["body"].pop("memberId") == member_id != "#1"
    planned = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    if port == "builtin":
        planned[2]["body"].pop("memberId")
    assert sent == planned


def test_raw_messages_are_those_of_a_port(tmp_path: Path, error: Callable[..., str]) -> None:
    path = tmp_path / "trace"
    path.write_text(_trace(HEARTBEAT), encoding="utf-8")
    assert error("replay", path, "--raw").endswith(
        "--raw needs a PORT: a recording has the messages\n"
    )


def test_a_trace_that_cannot_be_read_is_one_line(tmp_path: Path, error: Callable[..., str]) -> None:
    for path in (tmp_path / "none", tmp_path):
        assert f"cannot read {path}: " in error("replay", path, "builtin")


def test_a_finding_is_printed_on_a_terminal_with_another_character_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocols = (Protocol("caf\xe9", b""),)
    join = JOIN._replace(body=JoinGroupRequest(GROUP_ID, 10_000, 20_000, protocols=protocols))
    path = tmp_path / "trace"
    path.write_text(_trace(join, join._replace(request_id=2), Advance(6_000)), encoding="utf-8")
    terminal = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["replay", str(path), "python:support.faulty_python_port:make"]) == 1
    terminal.seek(0)
    assert "caf\\xe9" in terminal.read()


@pytest.mark.parametrize(
    ("steps", "port", "message"),
    [
        ((JOIN, UNFAIR), "builtin", f"^{UNKNOWN_ID}$"),
        ((FETCHES[0],), HEARTBEATS_ONLY, f"^{NOTHING}"),
    ],
)
def test_check_trace_fails_without_a_verdict(
    steps: tuple[Input, ...], port: str, message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        groupcheck.check_trace(_trace(*steps), port)


def test_check_trace_warns_of_unsupported_steps() -> None:
    with pytest.warns(UserWarning, match=f"^{OMISSION}$"):
        groupcheck.check_trace(_trace(*FETCHES, HoldAppends(), HEARTBEAT), HEARTBEATS_ONLY)


RECORDED = {
    "type": "open",
    "trace": 1,
    "profile": "2.7",
    "config": {},
    "recorded": {"port": "kafka:2.7", "lateMs": 1_000, "earlyMs": 50},
}


def _recorded(*errors: int) -> str:
    """Recorded tests, each of a Heartbeat with this error."""
    done = {"type": "done", "elapsedMs": 1}
    tests = (
        [RECORDED, step_message(HEARTBEAT), {"type": "response", "id": 3, "body": body}, done]
        for body in ({"errorCode": error} for error in errors)
    )
    return "".join(json.dumps(line) + "\n" for test in tests for line in test)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.xz"])
def test_recorded_tests_are_checked_up_to_the_first_finding(
    tmp_path: Path, run: Callable[..., Any], suffix: str
) -> None:
    path = tmp_path / f"tests.{suffix}"
    compressed = lzma.compress if suffix.endswith(".xz") else bytes
    path.write_bytes(compressed(_recorded(25, 25).encode()))
    done = run("replay", path)
    checked = "checked    2 steps of 2 tests of kafka:2.7 against Apache Kafka 2.7.2"
    assert done == (0, f"2 steps, each answered as Kafka would\n{checked}\n", "")
    path.write_bytes(compressed(_recorded(25, 22, 25).encode()))
    done = run("replay", path, "--save", tmp_path / "saved.json")
    finding, *_, last = done.out.splitlines()
    assert (done.status, done.err) == (1, "")
    assert ": test 2: differs from" in finding
    assert finding.endswith(": ILLEGAL_GENERATION (22) instead of UNKNOWN_MEMBER_ID (25)")
    assert last == checked
    saved = read_saved(tmp_path / "saved.json")
    assert (saved.conforms, saved.steps, saved.lines) == (False, 2, (last,))


def test_recorded_tests_that_cannot_be_read_are_one_line(
    tmp_path: Path, error: Callable[..., str]
) -> None:
    path = tmp_path / "tests.jsonl"
    path.write_text(_recorded(25).replace('{"type": "done", "elapsedMs": 1}\n', ""))
    assert error("replay", path) == f"groupcheck: {path}: the last step of a test has no 'done'\n"
    path.write_text(_recorded(25).replace('"2.7"', '"9.9"'))
    assert error("replay", path).startswith(f"groupcheck: {path}:1: unknown profile '9.9' (known: ")
    compressed = tmp_path / "tests.jsonl.xz"
    compressed.write_text(_recorded(25))
    unsupported = "Input format not supported by decoder"
    assert error("replay", compressed) == f"groupcheck: {compressed}: {unsupported}\n"


@pytest.mark.slow  # on a real clock
@pytest.mark.parametrize("several", [(), ("--sequences", 12, "--side-by-side", 6)])
def test_what_verify_records_of_a_broker_is_allowed_when_it_is_replayed(
    tmp_path: Path, run: Callable[..., Any], several: tuple[object, ...]
) -> None:
    path = tmp_path / "tests.jsonl.xz"
    with Served((TOPIC, 1), (OTHER_TOPIC, 1)) as server:
        options = ("--examples", 12, "--steps", 12, "--members", 1, "--record", path)
        done = run("verify", f"kafka://{server.address}", *options, *several)
    assert (done.status, done.err) == (0, "")
    ran = re.search(r"^ran +(\d+) sequences, (\d+) steps", done.out, re.MULTILINE)
    assert ran is not None
    done = run("replay", path)
    assert (done.status, done.err) == (0, "")
    assert f"checked    {ran[2]} steps of {ran[1]} tests of kafka://" in done.out


def test_tests_in_virtual_time_are_not_recorded(tmp_path: Path, error: Callable[..., str]) -> None:
    refused = "--record is for live brokers: other ports repeat a run with its --seed\n"
    assert error("verify", "builtin", "--record", tmp_path / "tests").endswith(refused)
    assert not (tmp_path / "tests").exists()
