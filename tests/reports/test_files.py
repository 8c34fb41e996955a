"""What is left on disk: a test that fails, a trace that replays, a result that parses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import groupcheck
from groupcheck.cli import main
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.verify import Verification
from groupcheck.reports.files import write
from support.faulty import faulty_port

FAULT = "a follower is given the member list"
TESTS = Path(__file__).parent.parent
PORT = "python:support.faulty_python_port:make"


@pytest.fixture(scope="module")
def result() -> Result:
    return Verification(PortSource(PORT, lambda: faulty_port(FAULT)), Settings(examples=0)).run()


@pytest.fixture
def report(result: Result, tmp_path: Path) -> Path:
    write(result, tmp_path / "report")
    return tmp_path / "report"


def test_each_finding_is_written_as_text_trace_and_test(result: Result, report: Path) -> None:
    expected = {"result.json"}
    for finding in result.findings:
        expected |= {
            f"finding_{finding.finding_id}.txt",
            f"finding_{finding.finding_id}.jsonl",
            f"test_finding_{finding.finding_id}.py",
        }
    assert {path.name for path in report.iterdir()} == expected
    assert len(expected) >= 4


def test_the_result_says_all_that_the_screen_says(result: Result, report: Path) -> None:
    written = json.loads((report / "result.json").read_text())
    assert written["conforms"] is False
    assert written["sequences"] == result.sequences
    assert [space["edges_shown"] for space in written["spaces"]] == [
        space.shares.shown for space in result.spaces
    ]
    assert [f["id"] for f in written["findings"]] == [f.finding_id for f in result.findings]
    assert written["findings"][0]["trace"][0]["profile"] == "2.7"


def _pytest(report: Path, port: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(report)]
    environment = {**os.environ, "GROUPCHECK_PORT": port, "PYTHONPATH": str(TESTS)}
    return subprocess.run(
        command, cwd=report, env=environment, capture_output=True, text=True, check=False
    )


def test_the_test_of_a_finding_fails_until_the_port_is_mended(report: Path) -> None:
    failing = _pytest(report, PORT)
    assert failing.returncode == 1
    assert "What Apache Kafka 2.7.2 does here:" in failing.stdout
    assert "groupcheck/properties" not in failing.stdout  # the finding, not our stack
    passing = _pytest(report, "builtin")
    assert passing.returncode == 0, passing.stdout


def test_a_trace_is_replayed_with_the_verdict_as_exit_status(
    report: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(TESTS))
    trace = str(next(report.glob("*.jsonl")))
    assert main(["replay", trace, PORT]) == 1
    assert "What came back:" in capsys.readouterr().out
    assert main(["replay", trace, "builtin"]) == 0
    assert "each answered as Kafka would" in capsys.readouterr().out


def test_a_trace_can_be_checked_from_any_test(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(TESTS))
    trace = next(report.glob("*.jsonl")).read_text()
    groupcheck.check_trace(trace, "builtin")
    with pytest.raises(AssertionError, match="a member list for a follower"):
        groupcheck.check_trace(trace, PORT)
