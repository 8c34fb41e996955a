"""`groupcheck report`: every format of a saved result, and an exit status for CI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

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


@pytest.mark.slow
def test_every_format_is_written_and_the_report_equals_that_of_verify(
    bad: str, tmp_path: Path, printed: Callable[..., str]
) -> None:
    paths = {name: tmp_path / f"as.{name}" for name in ("junit", "markdown", "badge", "json")}
    options = [part for name, path in paths.items() for part in (f"--{name}", path)]
    out = printed("report", bad, *options, "--out", tmp_path / "out", "--github", status=1)
    assert all(f"written    {path}\n" in out for path in paths.values())
    assert out.count("\n::error ") == 2
    assert out.count("Observed:") == 2 + 2  # in the text, and in its annotation
    assert read(paths["json"]) == diverging()
    there = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    write(diverging(), tmp_path / "as_verify")
    assert there == {path.name: path.read_bytes() for path in (tmp_path / "as_verify").iterdir()}


def test_a_format_can_replace_the_summary(bad: str, printed: Callable[..., str]) -> None:
    assert json.loads(printed("report", bad, "--json", "-", status=1))["port"] == "faulty"
    assert printed("report", bad, "--markdown", "-", status=1).startswith("## ")


def test_only_new_findings_fail_with_a_baseline(
    bad: str, good: str, tmp_path: Path, printed: Callable[..., str]
) -> None:
    first, second = diverging().findings
    one = _file(tmp_path / "one.json", replace(diverging(), findings=(first,)))
    out = printed("report", one, "--baseline", bad)
    assert f"known      1 finding: {first.id}\ngone       1 finding: {second.id}\n" in out
    assert "Observed:" not in out
    assert printed("report", bad, "--baseline", one, status=1).count("Observed:") == 1
    printed("report", good, "--baseline", bad)
    printed("report", bad, "--baseline", bad, "--fail-on-lost")
    known = _file(tmp_path / "known.json", replace(conforming(), findings=diverging().findings))
    printed("report", bad, "--baseline", known)
    out = printed("report", bad, "--baseline", known, "--fail-on-lost", status=1)
    assert "lost       " in out


def test_an_unfinished_run_is_no_success(
    good: str, tmp_path: Path, printed: Callable[..., str]
) -> None:
    early = _file(tmp_path / "early.json", replace(conforming(), ended_early="interrupted"))
    nothing = _file(tmp_path / "nothing.json", replace(conforming(), instances=()))
    printed("report", good)
    printed("report", early, "--baseline", good, status=2)
    printed("report", nothing, status=2)


def test_several_results_are_merged(bad: str, good: str, printed: Callable[..., str]) -> None:
    out = printed("report", good, bad, good, status=1)
    assert "port       builtin, faulty, checked against" in out
    assert "3,084 covered (100 %)" in out
    assert "tours" not in out  # there is no lower bound for all of them


def test_an_invalid_option_or_file_is_one_line(
    bad: str, good: str, tmp_path: Path, run: Callable[..., Any]
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
        done = run("report", *arguments)
        assert why in done.err, arguments
        assert done.err.count("\n") == 1
        assert done.status == (1 if bad in arguments else 2)  # a finding is a finding
