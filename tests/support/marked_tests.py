"""Tests with a decorator for what they cover: differences between versions, or tests of Kafka's.

The tests are found without importing them. `tests/model/classic/differences.tsv` names the
differences, each with what it is about. `tests/model/classic/kafka/tests.tsv` lists the tests of
Kafka's GroupCoordinatorTest in Kafka's order, each with its subject and, if no scenario here covers
it, the reason: `waits: FEATURE` or `does not apply: REASON`. `reference.py` writes the pages.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "model" / "classic"
WRITTEN = "`PYTHONPATH=tests python tests/support/reference.py`"

DIFFERENCES_HEAD = """\
# Differences between versions

The profiles `0.10.0`, `0.10.2`, `2.7` and `4.1` differ in the rows of their rule tables and in
settings, and nowhere else. For each of these {all} differences, a test shows that two profiles
answer differently.

{written} writes this page from the tests and from
[the list of differences](../tests/model/classic/differences.tsv).

| difference | what it is about | shown by |
| --- | --- | --- |
"""

KAFKA_TESTS_HEAD = """\
# Kafka's own tests

Kafka tests its coordinator with `GroupCoordinatorTest` (tag 2.7.2,
`core/src/test/scala/unit/kafka/coordinator/group/GroupCoordinatorTest.scala`). For each of its
{all} tests this page names the scenario that checks the same on the model, or the reason why none
does. The scenarios are independent code with other values; one may cover several of Kafka's tests.

{figures}

{written} writes this page from the scenarios and from
[the list of Kafka's tests](../tests/model/classic/kafka/tests.tsv).

| Kafka's test | subject | scenario |
| --- | --- | --- |
"""


class Row(NamedTuple):
    """One of Kafka's tests; `reason` is why no scenario covers it, or empty."""

    name: str
    subject: str
    reason: str


class Scenario(NamedTuple):
    """A test of this project, and the names that it covers."""

    file: Path
    name: str
    holds: tuple[str, ...]

    @property
    def link(self) -> str:
        """Its name as text, with a link to its file from a page in docs/."""
        words = self.name.removeprefix("test_").replace("_", " ")
        return f"[{words}](../{self.file.relative_to(ROOT).as_posix()})"


def differences() -> dict[str, str]:
    """The differences, and what each is about."""
    lines = (TESTS / "differences.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def kafka_tests() -> list[Row]:
    """All of Kafka's tests, in its order."""
    lines = (TESTS / "kafka" / "tests.tsv").read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("\t")) for line in lines]


KAFKA_TESTS = frozenset(row.name for row in kafka_tests())


def differ(*names: str) -> Callable[[F], F]:
    """Say that a test shows these differences between versions."""
    return _marked(names, differences())


def holds(*names: str) -> Callable[[F], F]:
    """Say that a scenario covers these tests of Kafka."""
    return _marked(names, KAFKA_TESTS)


def _marked(names: tuple[str, ...], known: Collection[str]) -> Callable[[F], F]:
    if unknown := set(names).difference(known):
        msg = f"not in the list: {sorted(unknown)}"
        raise LookupError(msg)
    return lambda test: test


def scenarios() -> list[Scenario]:
    """Every scenario that covers a test of Kafka."""
    return list(_decorated((TESTS / "kafka").glob("test_*.py"), "holds"))


def shown() -> dict[str, list[str]]:
    """For each difference the links to the tests that show it."""
    return _links(_decorated(TESTS.glob("test_*.py"), "differ"))


def differences_page() -> str:
    """The page of the differences between versions."""
    links, table = shown(), differences()
    lines = [f"| {name} | {about} | {'; '.join(links[name])} |\n" for name, about in table.items()]
    return DIFFERENCES_HEAD.format(all=len(table), written=WRITTEN) + "".join(lines)


def kafka_tests_page() -> str:
    """The page of Kafka's tests."""
    covered, table = _links(scenarios()), kafka_tests()
    lines = [
        f"| `{name}` | {subject} | {'; '.join(covered.get(name, [reason]))} |\n"
        for name, subject, reason in table
    ]
    head = KAFKA_TESTS_HEAD.format(all=len(table), figures=_figures(table), written=WRITTEN)
    return head + "".join(lines)


def _figures(table: list[Row]) -> str:
    """The number of covered tests, and of the others by the kind of reason."""
    counts = Counter(row.reason.partition(":")[0] for row in table)
    figures = [f"{counts.pop('')} are covered"]
    if waiting := counts.pop("waits", 0):
        figures.append(f"{waiting} wait for a feature of the model")
    figures.append(f"{counts.pop('does not apply', 0)} do not apply")
    return ", ".join(figures) + "."


def _decorated(files: Iterable[Path], decorator: str) -> Iterator[Scenario]:
    """Every test in these files with that decorator, whose arguments are the names."""
    for file in sorted(files):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and (names := tuple(_named(node, decorator))):
                yield Scenario(file, node.name, names)


def _links(found: Iterable[Scenario]) -> dict[str, list[str]]:
    """For each name the links to the tests that hold it."""
    held: dict[str, list[str]] = {}
    for scenario in found:
        for name in scenario.holds:
            held.setdefault(name, []).append(scenario.link)
    return held


def _named(function: ast.FunctionDef, decorator: str) -> Iterator[str]:
    for node in function.decorator_list:
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if name == decorator:
                yield from (ast.literal_eval(arg) for arg in args)
