"""The tests of Kafka's GroupCoordinatorTest beside the scenarios here that hold what they hold.

`tests/model/kafka/tests.tsv` names them all, in Kafka's order, each with what it is about and, if
no scenario holds it, why: `waits: FEATURE` or `does not apply: REASON`. Run as a program this
writes the page that shows the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from support.scenarios import ROOT, Scenario, decorated, links

F = TypeVar("F", bound=Callable[..., Any])

SCENARIOS = ROOT / "tests" / "model" / "kafka"
PAGE = ROOT / "docs" / "kafka-tests.md"

HEAD = """\
# Kafka's own tests

Kafka's coordinator has a test suite of its own, `GroupCoordinatorTest` (tag 2.7.2,
`core/src/test/scala/unit/kafka/coordinator/group/GroupCoordinatorTest.scala`). This page says of
each of its {all} tests which scenario here holds the model to the same, or why none does. The
scenarios are written anew, with values of their own; one may hold several of Kafka's tests.

{figures}

`PYTHONPATH=tests python tests/support/kafka_tests.py` writes this page from the scenarios and from
[the list of Kafka's tests](../tests/model/kafka/tests.tsv).

| Kafka's test | what it is about | held by |
| --- | --- | --- |
"""


class Row(NamedTuple):
    """One of Kafka's tests; `unheld` says why no scenario holds it, and is empty if one does."""

    name: str
    subject: str
    unheld: str


def rows() -> list[Row]:
    """All of Kafka's tests, in its order."""
    lines = (SCENARIOS / "tests.tsv").read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("\t")) for line in lines]


NAMES = frozenset(row.name for row in rows())


def holds(*names: str) -> Callable[[F], F]:
    """Say that a scenario shows what these tests of Kafka's show.

    Raises:
        LookupError: Kafka has no such test.
    """
    if unknown := set(names) - NAMES:
        msg = f"GroupCoordinatorTest has no {sorted(unknown)}"
        raise LookupError(msg)
    return lambda scenario: scenario


def scenarios() -> list[Scenario]:
    """Every scenario that holds a test of Kafka's."""
    return list(decorated(SCENARIOS.glob("test_*.py"), "holds"))


def page() -> str:
    """The table as a page."""
    held = links(scenarios())
    table = rows()
    lines = [
        f"| `{name}` | {subject} | {'; '.join(held.get(name, [unheld]))} |\n"
        for name, subject, unheld in table
    ]
    return HEAD.format(all=len(table), figures=_figures(table)) + "".join(lines)


def _figures(table: list[Row]) -> str:
    """How many are held, and how many are not for which kind of reason."""
    counts = Counter(row.unheld.partition(":")[0] for row in table)
    figures = [f"{counts.pop('')} are held"]
    if waiting := counts.pop("waits", 0):
        figures.append(f"{waiting} wait for what the model does not have yet")
    figures.append(f"{counts.pop('does not apply', 0)} do not apply")
    return ", ".join(figures) + "."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
