"""Each case of docs/found-in-assignors.md breaks the promise that its section names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.properties.assignors.case_file import read_case
from groupcheck.properties.assignors.source import assignor_source
from groupcheck.properties.assignors.verify import try_group
from support.marked_tests import ROOT
from support.needs import needs_assignors

PAGE = ROOT / "docs" / "found-in-assignors.md"
SECTION = re.compile(r"^- Property: `([a-z-]+)`.*?```json\n(.*?)```", re.MULTILINE | re.DOTALL)


def _cases() -> Iterator[object]:
    for promise, case in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        for spec in ("kafka-clients:3.9", "kafka-clients:4.1"):
            yield pytest.param(spec, promise, case, marks=needs_assignors(spec), id=promise + spec)


@pytest.mark.parametrize(("spec", "promise", "case"), list(_cases()))
def test_the_case_breaks_the_promise(spec: str, promise: str, case: str, tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text(case)
    assignor, group, _ = read_case(file)
    source = assignor_source(spec)
    port = source.make(print)
    port.open()
    broken = try_group(port, assignor, source.version, group).broken
    port.shutdown()
    assert broken is not None
    assert broken.promise.id == promise


def test_every_section_has_a_case() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(SECTION.findall(page)) == page.count("\n## ")
