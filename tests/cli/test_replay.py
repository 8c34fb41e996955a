"""A trace done again, from the command line and in a test: what is said where nothing is found."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import groupcheck
from groupcheck.cli import main
from groupcheck.model.spaces.clients import GROUP_ID, NOBODY
from groupcheck.model.state import Advance, HoldAppends
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetFetchRequest,
    Protocol,
    Request,
)
from groupcheck.properties.sequence import Sequence, dump

JOIN = Request(
    1, 3, JoinGroupRequest(GROUP_ID, 10_000, 20_000, protocols=(Protocol("range", b""),))
)
UNFAIR = Request(2, 4, HeartbeatRequest(GROUP_ID, 1, "#1"))
HEARTBEAT = Request(3, 4, HeartbeatRequest(GROUP_ID, 1, NOBODY))
FETCHES = tuple(Request(number, 7, OffsetFetchRequest(GROUP_ID, ())) for number in (4, 5))
NOW_AND_THEN = "python:support.now_and_then:make"
HEARTBEATS_ONLY = "python:support.heartbeats_only:make"
NEVER_TOLD = "step 2 uses a member id that the port never told"
OMISSION = "3 steps left out, not supported: OffsetFetch v7, holdAppends"


def _trace(*steps: Input, profile: str = "2.7") -> str:
    return dump(Sequence(profile, {}, steps))


def _replay(
    text: str, port: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    path = directory / "trace"
    path.write_text(text, encoding="utf-8")
    status = main(["replay", str(path), port])
    printed = capsys.readouterr()
    return status, printed.out, printed.err.replace(str(path), "trace")


def test_a_trace_that_a_port_answers_lawfully_has_exit_status_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _replay(_trace(JOIN, Advance(3_000), UNFAIR), "builtin", tmp_path, capsys)
    assert said == (0, "3 steps, each answered as Kafka would\n", "")


def test_a_finding_that_hangs_on_what_the_port_draws_is_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told, _ = _replay(_trace(HEARTBEAT), NOW_AND_THEN, tmp_path, capsys)
    assert status == 1
    assert told.startswith("Finding ")


def test_a_trace_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path / "none", tmp_path):
        assert main(["replay", str(path), "builtin"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"groupcheck: cannot read {path}: ")
        assert said.count("\n") == 1


def test_what_is_not_a_trace_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "groupcheck: trace:1: not a JSON object (Expecting value)\n"
    assert _replay("hello\n", "builtin", tmp_path, capsys) == (2, "", line)


def test_a_profile_that_the_port_does_not_have_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "groupcheck: the built-in coordinator implements Kafka 2.7 and 4.1, not 0.10.2\n"
    said = _replay(_trace(Advance(1), profile="0.10.2"), "builtin", tmp_path, capsys)
    assert said == (2, "", line)


def test_a_step_with_a_member_id_that_was_never_told_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _replay(_trace(JOIN, UNFAIR), "builtin", tmp_path, capsys)
    assert said == (2, "", f"groupcheck: {NEVER_TOLD}\n")


def test_the_steps_that_a_port_does_not_support_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = _trace(FETCHES[0], HEARTBEAT, HoldAppends(), FETCHES[1])
    said = _replay(trace, HEARTBEATS_ONLY, tmp_path, capsys)
    assert said == (0, f"1 step, each answered as Kafka would\n{OMISSION}\n", "")


def test_a_trace_of_which_a_port_supports_nothing_says_nothing_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _replay(_trace(FETCHES[0]), HEARTBEATS_ONLY, tmp_path, capsys)
    line = "groupcheck: nothing was done: 1 step left out, not supported: OffsetFetch v7\n"
    assert said == (2, "", line)


def test_a_finding_is_told_on_a_terminal_that_does_not_know_its_letters(
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


def test_a_test_fails_with_the_line_if_a_member_id_was_never_told() -> None:
    with pytest.raises(AssertionError, match=f"^{NEVER_TOLD}$"):
        groupcheck.check_trace(_trace(JOIN, UNFAIR), "builtin")


def test_a_test_fails_if_the_port_supports_none_of_the_steps() -> None:
    with pytest.raises(AssertionError, match=r"^nothing was done: 1 step left out"):
        groupcheck.check_trace(_trace(FETCHES[0]), HEARTBEATS_ONLY)


def test_a_test_is_warned_of_the_steps_that_its_port_does_not_support() -> None:
    with pytest.warns(UserWarning, match=f"^{OMISSION}$"):
        groupcheck.check_trace(_trace(*FETCHES, HoldAppends(), HEARTBEAT), HEARTBEATS_ONLY)
