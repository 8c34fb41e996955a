"""The page that compares assignors has the promises that are checked."""

from __future__ import annotations

import assignors as bench

from support.marked_tests import ROOT

PAGE = (ROOT / "docs" / "assignors-compared.md").read_text(encoding="utf-8")


def test_the_page_has_the_promises_that_are_checked() -> None:
    assert bench.promises() in PAGE


def test_the_page_says_that_the_built_in_assignors_keep_all_promises() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| ")]
    at = rows[0].index(next(cell for cell in rows[0] if "`builtin`" in cell))
    assert {row[at].strip() for row in rows[2:8]} == {"keeps all"}
