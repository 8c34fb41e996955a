"""The exhaustive tests passed with what they check as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from support import record_exhaustive
from support.marked_tests import ROOT
from support.record_exhaustive import STALE, digests, recorded, sources

CLUSTER: Final = "tests/model/cluster/test_tlc.py"
GROUP: Final = "tests/model/classic/test_pluscal.py"


def test_the_exhaustive_tests_passed_with_what_they_check() -> None:
    assert recorded() == digests(), STALE


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("model/cluster/step.py", {CLUSTER}),
        ("model/cluster/Broker.tla", {CLUSTER}),
        ("model/classic/storing.cfg", {GROUP}),
        ("tests/model/cluster/test_tlc.py", {CLUSTER}),
        ("model/engine/rules.py", {CLUSTER, GROUP}),
        ("properties/oracle.py", set()),
    ],
)
def test_a_change_concerns_the_files_whose_tests_depend_on_it_but_a_comment_does_not(
    file: str, stale: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_exhaustive, "files", lambda: [ROOT / CLUSTER, ROOT / GROUP])
    before, text, read = digests(), (ROOT / file).read_text(encoding="utf-8"), Path.read_text

    def after(added: str) -> set[str]:
        def edited(path: Path, **options: str) -> str:
            return text + added if path == ROOT / file else read(path, **options)

        monkeypatch.setattr(Path, "read_text", edited)
        now = digests()
        return {each for each in now if now[each] != before[each]}

    comment = "\\* a comment\n" if file.endswith((".tla", ".cfg")) else "# a comment\n"
    assert after(comment) == set()
    assert after("x = 1\n") == stale


def test_a_cluster_does_not_depend_on_the_rules_of_a_group() -> None:
    names = {each.relative_to(ROOT).parts[:2] for each in sources(ROOT / CLUSTER)}
    assert ("model", "cluster") in names
    assert ("model", "classic") not in names
