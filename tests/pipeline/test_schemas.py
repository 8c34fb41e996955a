"""The tables are written down once: docs/pipeline.md has the fields that the schemas have."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

from groupcheck.pipeline import schemas  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"
RULE = "struct<rule:string,says:string,source:string>"


NAMES = "EVENTS QUARANTINE FILES VERDICTS FINDINGS EDGES REBALANCES STATES OFFSETS"


@pytest.mark.parametrize("name", NAMES.split())
def test_the_page_has_each_field_with_its_type_and_meaning(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition(f"\n### {name.lower()}\n")[2].partition("\n#")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    expected = []
    for field in getattr(schemas, name).fields:
        kind = field.dataType.simpleString().replace(RULE, "rule")
        null = ", null" if field.nullable else ""
        expected.append(f"| `{field.name}` | {kind}{null} | {field.metadata['comment']} |")
    assert rows == expected
