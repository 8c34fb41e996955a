"""groupcheck report: saved results in, any face out, a status that a CI can act on."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from groupcheck.cli import main
from groupcheck.reports.files import write
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.record_file import as_text, read
from support.saved_results import conforming, diverging

replace = msgspec.structs.replace


@pytest.fixture
def bad(tmp_path: Path) -> str:
    return _file(tmp_path / "bad.json", diverging())


@pytest.fixture
def good(tmp_path: Path) -> str:
    return _file(tmp_path / "good.json", conforming())


def _file(path: Path, saved: ResultRecord) -> str:
    path.write_text(as_text(saved))
    return str(path)


def test_every_format_is_written_and_the_report_equals_that_of_verify(
    bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faces = {
        name: str(tmp_path / f"face.{name}") for name in ("junit", "markdown", "badge", "json")
    }
    options = [part for name, path in faces.items() for part in (f"--{name}", path)]
    assert main(["report", bad, *options, "--out", str(tmp_path / "out"), "--github"]) == 1
    printed = capsys.readouterr().out
    assert all(f"written    {path}\n" in printed for path in faces.values())
    assert printed.count("\n::error ") == 2
    assert printed.count("Observed:") == 2 + 2  # in the story, and in its annotation
    assert read(Path(faces["json"])) == diverging()
    there = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    write(diverging(), tmp_path / "as_verify")
    assert there == {path.name: path.read_bytes() for path in (tmp_path / "as_verify").iterdir()}


def test_a_format_can_replace_the_summary(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", bad, "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["port"] == "faulty"
    assert main(["report", bad, "--markdown", "-"]) == 1
    assert capsys.readouterr().out.startswith("## ")


def test_only_new_findings_fail_with_a_baseline(
    bad: str, good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = diverging().findings
    one = _file(tmp_path / "one.json", replace(diverging(), findings=(first,)))
    assert main(["report", one, "--baseline", bad]) == 0
    printed = capsys.readouterr().out
    assert f"known      1 finding: {first.id}\ngone       1 finding: {second.id}\n" in printed
    assert "Observed:" not in printed
    assert main(["report", bad, "--baseline", one]) == 1
    assert capsys.readouterr().out.count("Observed:") == 1
    assert main(["report", good, "--baseline", bad]) == 0
    assert main(["report", bad, "--baseline", bad, "--fail-on-lost"]) == 0
    known = _file(tmp_path / "known.json", replace(conforming(), findings=diverging().findings))
    assert main(["report", bad, "--baseline", known]) == 0
    assert main(["report", bad, "--baseline", known, "--fail-on-lost"]) == 1
    assert "lost       " in capsys.readouterr().out


def test_an_unfinished_run_is_no_success(good: str, tmp_path: Path) -> None:
    early = _file(tmp_path / "early.json", replace(conforming(), ended_early="interrupted"))
    nothing = _file(tmp_path / "nothing.json", replace(conforming(), instances=()))
    assert main(["report", good]) == 0
    assert main(["report", early, "--baseline", good]) == 2
    assert main(["report", nothing]) == 2


def test_several_results_are_merged(
    bad: str, good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", good, bad, good]) == 1
    printed = capsys.readouterr().out
    assert "port       builtin, faulty, checked against" in printed
    assert "3,084 covered (100 %)" in printed
    assert "tours" not in printed  # there is no lower bound for all of them


def test_an_invalid_option_or_file_is_one_line(
    bad: str, good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = _file(tmp_path / "other.json", replace(conforming(), profile="4.1"))
    garbage = tmp_path / "garbage.json"
    garbage.write_text("garbage")
    for arguments, why in (
        ([str(tmp_path / "nowhere.json")], "cannot read the result in"),
        ([str(tmp_path)], "cannot read the result in"),
        ([str(garbage)], "it is not JSON"),
        ([good, other], "is of Kafka 4.1 and"),
        ([good, "--baseline", other], "the baseline is of Kafka 4.1, not of 2.7"),
        ([good, "--fail-on-lost"], "--fail-on-lost needs a --baseline"),
        ([good, "--json", "-", "--badge", "-"], "only one FILE can be -"),
        ([bad, "--junit", str(tmp_path / "no" / "where")], "cannot write the report to"),
        ([bad, "--out", str(garbage)], "cannot write the report to"),
    ):
        status = main(["report", *arguments])
        said = capsys.readouterr().err
        assert why in said, arguments
        assert said.count("\n") == 1
        assert status == (1 if bad in arguments else 2)  # what was found was found
