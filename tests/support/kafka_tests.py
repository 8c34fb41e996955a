"""The tests of Kafka's GroupCoordinatorTest, with the scenarios here that check the same.

`tests/model/kafka/tests.tsv` lists them all, in Kafka's order, each with its subject and, if no
scenario covers it, the reason: `waits: FEATURE` or `does not apply: REASON`. Run as a program, this
writes docs/kafka-tests.md.
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

Kafka tests its coordinator with `GroupCoordinatorTest` (tag 2.7.2,
`core/src/test/scala/unit/kafka/coordinator/group/GroupCoordinatorTest.scala`). For each of its
{all} tests this page names the scenario that checks the same on the model, or the reason why none
does. The scenarios are independent code with other values; one may cover several of Kafka's tests.

{figures}

`PYTHONPATH=tests python tests/support/kafka_tests.py` writes this page from the scenarios and from
[the list of Kafka's tests](../tests/model/kafka/tests.tsv).

| Kafka's test | subject | scenario |
| --- | --- | --- |
"""


class Row(NamedTuple):
    """One of Kafka's tests; `reason` says why no scenario covers it, and is empty if one does."""

    name: str
    subject: str
    reason: str


def rows() -> list[Row]:
    """Return all of Kafka's tests, in its order."""
    lines = (SCENARIOS / "tests.tsv").read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("\t")) for line in lines]


NAMES = frozenset(row.name for row in rows())


def holds(*names: str) -> Callable[[F], F]:
    """Mark a scenario that covers these tests of Kafka.

    Raises:
        LookupError: Kafka has no such test.
    """
    if unknown := set(names) - NAMES:
        msg = f"GroupCoordinatorTest has no {sorted(unknown)}"
        raise LookupError(msg)
    return lambda scenario: scenario


def scenarios() -> list[Scenario]:
    """Return every scenario that covers a test of Kafka."""
    return list(decorated(SCENARIOS.glob("test_*.py"), "holds"))


def page() -> str:
    """Return the page."""
    covered = links(scenarios())
    table = rows()
    lines = [
        f"| `{name}` | {subject} | {'; '.join(covered.get(name, [reason]))} |\n"
        for name, subject, reason in table
    ]
    return HEAD.format(all=len(table), figures=_figures(table)) + "".join(lines)


def _figures(table: list[Row]) -> str:
    """Return how many are covered, and how many are not, by the kind of reason."""
    counts = Counter(row.reason.partition(":")[0] for row in table)
    figures = [f"{counts.pop('')} are covered"]
    if waiting := counts.pop("waits", 0):
        figures.append(f"{waiting} wait for a feature of the model")
    figures.append(f"{counts.pop('does not apply', 0)} do not apply")
    return ", ".join(figures) + "."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
