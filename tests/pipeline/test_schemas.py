"""docs/tables.md has the columns of the schemas."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

from groupcheck.pipeline import schemas  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
RULE = "struct<rule:string,says:string,source:string>"


NAMES = "EVENTS QUARANTINE FILES VERDICTS FINDINGS TRANSITIONS REBALANCES STATES OFFSETS"


@pytest.mark.parametrize("name", NAMES.split())
def test_the_page_of_the_tables_has_each_column_with_its_type(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition(f"\n## {name.lower()}\n")[2].partition("\n#")[0]
    head = page.partition("begin with these columns:")[2].partition("\n#")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    fields = schemas.for_spark(getattr(schemas, name)).fields
    if [field.name for field in fields[:3]] == ["group_id", "source", "session"]:
        rows = [line for line in head.splitlines() if line.startswith("| `")] + rows
    expected = []
    for field in fields:
        kind = field.dataType.simpleString().replace(RULE, "rule")
        null = ", null" if field.nullable else ""
        expected.append(f"| `{field.name}` | {kind}{null}")
    assert [row.rpartition(" | ")[0] for row in rows] == expected
