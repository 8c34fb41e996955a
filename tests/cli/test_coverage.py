"""`groupcheck coverage`: merged coverage, and one line for each failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.cli import main

QUICK = ["--examples", "0", "--members", "1", "--walks", "5"]


def test_runs_add_to_a_file_and_files_are_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, both = (str(tmp_path / name) for name in ("one.json", "two.json", "both.json"))
    for seed, path in ((1, one), (2, one), (3, two)):
        assert main(["verify", "builtin", *QUICK, "--seed", str(seed), "--coverage", path]) == 0
    capsys.readouterr()
    assert main(["coverage", one, two, "--out", both]) == 0
    printed = capsys.readouterr().out
    assert "instance   membership/1: 682 of 682 transitions covered (100 %)" in printed
    assert "pairs      membership/1: " in printed
    assert "of 1,847 pairs covered (" in printed
    assert "one-sided  never seen false: " in printed
    assert "never      never applied: " in printed
    assert main(["coverage", both, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["profiles"]["2.7"]
    applied = [
        set(json.loads(Path(p).read_text())["profiles"]["2.7"]["applied"]) for p in (one, two)
    ]
    assert set(found["applied"]) == applied[0] | applied[1]
    assert set(found["not_applied"]).isdisjoint(found["applied"])


def test_coverage_of_another_model_is_rejected_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, theirs = tmp_path / "mine.json", tmp_path / "theirs.json"
    assert main(["verify", "builtin", *QUICK, "--coverage", str(mine)]) == 0
    found = json.loads(mine.read_text())
    found["profiles"]["2.7"]["instances"]["metadata/1"]["digest"] = "another"
    theirs.write_text(json.dumps(found))
    capsys.readouterr()
    assert main(["coverage", str(mine), str(theirs)]) == 1
    assert "rejected   " in capsys.readouterr().out
    assert main(["verify", "builtin", *QUICK, "--coverage", str(theirs)]) == 0
    assert "coverage   restarted: " in capsys.readouterr().out
    assert main(["coverage", str(mine), str(theirs)]) == 0


@pytest.mark.parametrize(
    "arguments", [["coverage", "FILE"], ["verify", "builtin", "--coverage", "FILE"]]
)
def test_an_invalid_coverage_file_is_one_line(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("garbage.json", "nowhere/at/all.json"):
        path = tmp_path / name
        if path.parent.is_dir():
            path.write_text("garbage")
        assert main([str(path) if each == "FILE" else each for each in arguments]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert name in printed.err
