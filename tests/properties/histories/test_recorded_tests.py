"""Recorded tests: the responses of a port on a real clock are checked without the port."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.recorded_tests import (
    RecordedTest,
    RecordingOfTests,
    check_tests,
    load,
    read,
)
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.run import Checks
from groupcheck.properties.sequence import MalformedTraceError
from groupcheck.properties.tolerances import Tolerances
from support.clock_port import BROKER, TOLERANCES, walked

SEEDS: Final = st.integers(0, 2**32)


def record(path: Path, *tests: Checks) -> list[RecordedTest]:
    """Record tests in a file, and load them."""
    path.unlink(missing_ok=True)
    with RecordingOfTests(path, "clock", TOLERANCES) as recording:
        for each in tests:
            recording.add(each)
    return list(load(path))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file for recorded tests."""
    return tmp_path_factory.mktemp("recorded") / "tests.jsonl.xz"


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS, profile=st.sampled_from(("2.7", "4.1")))
def test_what_the_built_in_coordinator_answers_is_allowed_when_it_is_replayed(
    path: Path, seed: int, profile: str
) -> None:
    checks = walked(seed, profile)
    (recorded,) = record(path, checks)
    assert (recorded.port, recorded.profile) == ("clock", PROFILES[profile])
    assert recorded.test.broker == BROKER
    assert recorded.test.tolerances == Tolerances(300, 20)
    assert [each.given for each in recorded.test.exchanges] == [e.given for e in checks.exchanges]
    (checked,) = check_tests(path).parts
    assert check_tests(path).finding is None
    assert checked == ("clock", profile, 1, len(checks.exchanges))


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS, data=st.data())
def test_a_changed_error_code_is_a_finding_at_its_step(
    path: Path, seed: int, data: st.DataObject
) -> None:
    record(path, walked(seed))
    lines = _lines(path)
    # Kafka answers some requests with this error: these answers would not change.
    wrong = int(ErrorCode.UNKNOWN_SERVER_ERROR)
    answers = [
        n for n, line in enumerate(lines) if line.get("body", {}).get("errorCode", wrong) != wrong
    ]
    changed = data.draw(st.sampled_from(answers))
    lines[changed]["body"]["errorCode"] = wrong
    finding = _finding(lines)
    assert finding is not None
    assert len(finding.exchanges) == sum(line["type"] == "done" for line in lines[:changed]) + 1


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS, data=st.data())
def test_a_missing_or_repeated_response_is_a_finding(
    path: Path, seed: int, data: st.DataObject
) -> None:
    record(path, walked(seed))
    lines = _lines(path)
    times = data.draw(st.sampled_from((0, 2)))
    # Within the tolerance a timer may still expire later: its response may be missing at the end.
    answers = [
        n
        for n, line in enumerate(lines)
        if line["type"] == "response" and (times or lines[n - 1].get("id") == line["id"])
    ]
    changed = data.draw(st.sampled_from(answers))
    lines[changed : changed + 1] = [lines[changed]] * times
    assert _finding(lines) is not None


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]


def _finding(lines: list[Any]) -> Finding | None:
    (recorded,) = read((json.dumps(line).encode() for line in lines), "changed")
    return recorded.test.finding(recorded.profile)


def test_member_ids_are_symbols_in_responses(path: Path) -> None:
    tests = list(map(walked, range(20)))
    record(path, *tests)
    text = lzma.decompress(path.read_bytes()).decode()
    names = {name for each in tests for name in each.oracle.names}
    assert len(names) == 10
    assert not any(name in text for name in names)


def test_a_later_run_is_appended(tmp_path: Path) -> None:
    for name in ("tests.jsonl", "tests.jsonl.xz"):
        for run in (1, 2):
            with RecordingOfTests(tmp_path / name, f"run {run}", TOLERANCES) as recording:
                recording.add(walked(run))
        assert [part.port for part in check_tests(tmp_path / name).parts] == ["run 1", "run 2"]


def test_the_check_ends_with_the_first_finding_and_counts_up_to_it(tmp_path: Path) -> None:
    path = tmp_path / "tests.jsonl"
    record(path, *map(walked, range(3)))
    tests = path.read_text(encoding="utf-8").split('{"type":"open"')
    tests[2] = tests[2].replace('"errorCode":0', '"errorCode":-1', 1)
    path.write_text('{"type":"open"'.join(tests), encoding="utf-8")
    checked = check_tests(path)
    assert checked.finding is not None
    assert checked.parts[0].tests == 2
    assert checked.parts[0].steps == 20 + len(checked.finding.exchanges)


def test_a_test_in_which_the_port_failed_is_recorded_up_to_there(path: Path) -> None:
    checks = walked(1, crash=3)
    assert checks.exchanges[-1].seen == Observation()
    (recorded,) = record(path, checks)
    assert len(recorded.test.exchanges) == len(checks.exchanges) - 1
    assert check_tests(path).finding is None


STEP: Final = {"type": "advance", "ms": 1}
DONE: Final = {"type": "done", "elapsedMs": 1}
OPEN: Final = {
    "type": "open",
    "trace": 1,
    "profile": "2.7",
    "config": {},
    "recorded": {"port": "clock", "lateMs": 1, "earlyMs": 0},
}
BEAT: Final = {
    "type": "request",
    "id": 1,
    "api": "Heartbeat",
    "apiVersion": 0,
    "body": {"groupId": "group", "generationId": 1, "memberId": "nobody"},
}
ANSWER: Final = {"type": "response", "id": 1, "body": {"errorCode": 0}}


def _edited(message: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {**message, **fields}


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([OPEN, STEP], "the last step of a test has no 'done'"),
        ([OPEN, STEP, OPEN], "3: the last step of a test has no 'done'"),
        ([OPEN, STEP, STEP], "3: the step before it has no 'done'"),
        ([STEP], "1: not the first line of a recorded test"),
        ([OPEN, DONE], "2: a 'done' that does not follow a step"),
        ([OPEN, STEP, DONE, ANSWER], "4: a 'response' that does not follow a step"),
        ([OPEN, STEP, ANSWER], "3: no request 1"),
        ([OPEN, STEP, _edited(DONE, elapsedMs=-1)], "3: elapsedMs: expected at least 0, got -1"),
        ([_edited(OPEN, profile="9.9")], "1: unknown profile '9.9' (known: 0.10.0, "),
        ([_edited(OPEN, recorded={})], "1: recorded: expected the port and its tolerances"),
        ([_edited(OPEN, trace=2)], "1: not the first line of a trace of format 1"),
        ([OPEN, _edited(BEAT, api="Fetch")], "2: not a step that this version can replay: "),
        (
            [OPEN, BEAT, _edited(ANSWER, body={"error": 0})],
            "3: Heartbeat: expected a field 'errorCode', got {'error': 0}",
        ),
        ([OPEN, BEAT, DONE, BEAT], "4: a second request with the id 1"),
        ([OPEN, '{"type":'], "2: not a JSON object (Expecting value)"),
        ([OPEN, b"\xff"], "2: not text in UTF-8"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(lines: list[Any], error: str) -> None:
    texts = [line if isinstance(line, str | bytes) else json.dumps(line) for line in lines]
    encoded = [line.encode() if isinstance(line, str) else line for line in texts]
    with pytest.raises(MalformedTraceError) as raised:
        list(read(encoded, "F"))
    assert str(raised.value).removeprefix("F:").removeprefix(" ").startswith(error)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda data: data[:-20], "Compressed file ended before the end-of-stream marker"),
        (lambda _data: b"{}\n", "Input format not supported by decoder"),
        (lambda data: data[:60] + b"\0" * 8 + data[68:], "Corrupt input data"),
    ],
)
def test_a_file_that_cannot_be_decompressed_is_refused(
    path: Path, change: Callable[[bytes], bytes], error: str
) -> None:
    record(path, walked(1))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(MalformedTraceError, match=error):
        check_tests(path)
