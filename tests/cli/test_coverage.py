"""`groupcheck coverage`: merged coverage, and one line for each failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

QUICK = ["--examples", "0", "--members", "1", "--walks", "5"]


@pytest.mark.slow
def test_runs_add_to_a_file_and_files_are_merged(
    tmp_path: Path, printed: Callable[..., str]
) -> None:
    one, two, both = (tmp_path / name for name in ("one.json", "two.json", "both.json"))
    for seed, path in ((1, one), (2, one), (3, two)):
        printed("verify", "builtin", *QUICK, "--seed", seed, "--coverage", path)
    out = printed("coverage", one, two, "--out", both)
    for line in (
        "instance   membership/1: 682 of 682 transitions covered (100 %)",
        "pairs      membership/1: ",
        "of 1,847 pairs covered (",
        "one-sided  never seen false: ",
        "unapplied  ",
    ):
        assert line in out
    found = json.loads(printed("coverage", both, "--json"))["profiles"]["2.7"]
    applied = [set(json.loads(p.read_text())["profiles"]["2.7"]["applied"]) for p in (one, two)]
    assert set(found["applied"]) == applied[0] | applied[1]
    assert set(found["not_applied"]).isdisjoint(found["applied"])


def test_coverage_of_another_model_is_rejected_with_status_1(
    tmp_path: Path, printed: Callable[..., str]
) -> None:
    mine, theirs = tmp_path / "mine.json", tmp_path / "theirs.json"
    printed("verify", "builtin", *QUICK, "--coverage", mine)
    found = json.loads(mine.read_text())
    found["profiles"]["2.7"]["instances"]["metadata/1"]["digest"] = "another"
    theirs.write_text(json.dumps(found))
    assert "rejected   " in printed("coverage", mine, theirs, status=1)
    out = printed("verify", "builtin", *QUICK, "--coverage", theirs)
    assert "coverage   restarted: " in out
    printed("coverage", mine, theirs)


@pytest.mark.parametrize(
    "arguments", [["coverage", "FILE"], ["verify", "builtin", "--coverage", "FILE"]]
)
def test_an_invalid_coverage_file_is_one_line(
    arguments: list[str], tmp_path: Path, error: Callable[..., str]
) -> None:
    for name in ("garbage.json", "nowhere/at/all.json"):
        path = tmp_path / name
        if path.parent.is_dir():
            path.write_text("garbage")
        assert name in error(*(path if each == "FILE" else each for each in arguments))
