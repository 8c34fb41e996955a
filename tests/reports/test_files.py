"""The files of a report: the record, a trace that replays, a test that fails."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import groupcheck
from groupcheck.cli import main
from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.vocabulary import ErrorCode, Protocol, Request, Response
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence, parse
from groupcheck.reports.files import finding_files, sweep, write
from groupcheck.reports.finding_record import finding_record
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.record_file import read
from support.saved_results import diverging
from support.small_findings import member_list_for_a_follower

TESTS = Path(__file__).parent.parent
PORT = "python:support.faulty_python_port:make"


@pytest.fixture(scope="module")
def result() -> ResultRecord:
    """The result of a port that gives a follower the member list."""
    finding = finding_record(member_list_for_a_follower(), PORT)
    return msgspec.structs.replace(diverging(), findings=(finding,))


@pytest.fixture
def report(result: ResultRecord, tmp_path: Path) -> Path:
    write(result, tmp_path / "report")
    return tmp_path / "report"


def test_a_finding_is_written_as_text_traces_pictures_and_test(
    result: ResultRecord, report: Path
) -> None:
    (finding,) = result.findings
    kinds = ("txt", "jsonl", "itf.json", "mmd", "svg")
    assert {path.name for path in report.iterdir()} == {
        "result.json",
        "index.html",
        "junit.xml",
        *(f"finding_{finding.id}.{kind}" for kind in kinds),
        f"test_finding_{finding.id}.py",
    }
    assert read(report) == result
    assert finding.trace[0]["profile"] == "2.7"
    assert len(finding.steps) == len(finding.trace) - 1  # which has a header
    assert finding.property
    assert finding.property.name == "member-list"


def test_a_report_replaces_an_earlier_one_and_no_other_files(
    result: ResultRecord, report: Path
) -> None:
    written = set(report.iterdir())
    stale = [f"finding_0000abcd.{kind}" for kind in ("txt", "jsonl", "itf.json", "mmd", "svg")]
    other = ("finding_0000abcd.md", "finding_mine.txt", "test_finding.py", "results.json")
    others = [report / name for name in other]
    for path in (*others, *(report / name for name in (*stale, "test_finding_0000abcd.py"))):
        path.write_text("")
    (report / "finding_0000dead.txt").mkdir()
    assert set(write(result, report)) == written
    assert set(report.iterdir()) == {*written, *others, report / "finding_0000dead.txt"}


def test_a_page_that_is_no_report_is_kept_until_a_report_is_written(tmp_path: Path) -> None:
    page, stale = tmp_path / "index.html", tmp_path / "finding_0000abcd.txt"
    for path in (page, stale):
        path.write_text("")
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [page]


class Talker(BuiltinPort):
    """Answers a JoinGroup with the same text in every field."""

    def __init__(self, text: str, metadata: bytes) -> None:
        super().__init__()
        self.text = text
        self.metadata = metadata

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        del expected
        text = self.text
        listed = (kafka.JoinGroupResponseMember(text, None, self.metadata),)
        body = kafka.JoinGroupResponse(ErrorCode.NONE, 1, text, text, text, text, listed)
        return Observation((Response(request.request_id, body),))

    def close(self) -> None:
        kind = "port crashed"
        raise PortFailedError(kind, self.text, self.text)


# JSON and Python allow lone surrogates, which UTF-8 cannot encode.
TEXTS = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["\0", '"""', "\\", "\\N{", "\r\n", "\ud800", "\u2028", "\x1b[2J", "x" * 5_000]
)


@given(text=TEXTS, metadata=st.binary(), port=TEXTS.filter(bool), step=st.booleans())
@example(text='"""', metadata=b'"""', port='"""', step=True)
def test_files_of_a_finding_are_well_formed_for_any_text_of_a_port(
    text: str, metadata: bytes, port: str, *, step: bool
) -> None:
    body = kafka.JoinGroupRequest(
        GROUP_ID, 10_000, 10_000, protocols=(Protocol("range", metadata),)
    )
    sequence = Sequence("2.7", {}, (Request(1, 3, body),) if step else ())
    finding = replay(sequence, Talker(text, metadata))
    assert finding is not None
    files = finding_files(finding_record(finding, port))
    for written in files.values():
        written.encode()
    ET.fromstring(files[f"finding_{finding.finding_id}.svg"])  # noqa: S314 - it comes from here
    itf = json.loads(files[f"finding_{finding.finding_id}.itf.json"])
    assert len(itf["states"]) == 1 + len(finding.exchanges)
    for line in files[f"finding_{finding.finding_id}.txt"].split("\n"):
        assert line.isprintable()
        assert len(line) < 25_000
    source = files[f"test_finding_{finding.finding_id}.py"]
    values = {
        node.targets[0].id: node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    trace = ast.literal_eval(values["TRACE"])
    assert parse(trace, "trace") == finding.sequence


def _pytest(report: Path, port: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(report)]
    environment = {**os.environ, "GROUPCHECK_PORT": port, "PYTHONPATH": str(TESTS)}
    return subprocess.run(
        command, cwd=report, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_the_pytest_file_of_a_finding_fails_until_the_port_is_fixed(report: Path) -> None:
    failing = _pytest(report, PORT)
    assert failing.returncode == 1
    assert "Expected from Apache Kafka 2.7.2:" in failing.stdout
    assert "groupcheck/properties" not in failing.stdout  # the finding, not our stack
    passing = _pytest(report, "builtin")
    assert passing.returncode == 0, passing.stdout


def test_replay_of_a_trace_exits_with_the_verdict(
    report: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(TESTS))
    trace = str(next(report.glob("*.jsonl")))
    assert main(["replay", trace, PORT]) == 1
    assert "Observed:" in capsys.readouterr().out
    assert main(["replay", trace, "builtin"]) == 0
    assert "each answered as Kafka would" in capsys.readouterr().out


def test_check_trace_raises_an_assertion_error_with_the_finding(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(TESTS))
    trace = next(report.glob("*.jsonl")).read_text()
    groupcheck.check_trace(trace, "builtin")
    with pytest.raises(AssertionError, match="a member list for a follower"):
        groupcheck.check_trace(trace, PORT)
