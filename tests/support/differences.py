"""The differences between versions, next to the tests in which two versions respond differently.

`tests/model/differences.tsv` names the differences, each with what it is about. Run as a program
this writes the page that shows the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from support.scenarios import ROOT, decorated, links

F = TypeVar("F", bound=Callable[..., Any])

TESTS = ROOT / "tests" / "model"
PAGE = ROOT / "docs" / "differences.md"

HEAD = """\
# What differs between the versions

The profiles `0.10.0`, `0.10.2`, `2.7` and `4.1` differ in the rows of their rule tables and in
settings, and nowhere else. For each of these {all} differences, a test shows that two profiles
answer differently.

`PYTHONPATH=tests python tests/support/differences.py` writes this page from the tests and from
[the list of differences](../tests/model/differences.tsv).

| difference | what it is about | shown by |
| --- | --- | --- |
"""


def rows() -> dict[str, str]:
    """The differences, and what each is about."""
    lines = (TESTS / "differences.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def differ(*names: str) -> Callable[[F], F]:
    """Say that a test shows these differences.

    Raises:
        LookupError: there is no such difference in the list.
    """
    if unknown := set(names) - rows().keys():
        msg = f"there is no difference {sorted(unknown)}"
        raise LookupError(msg)
    return lambda test: test


def shown() -> dict[str, list[str]]:
    """For each difference the links to the tests that show it."""
    return links(decorated(TESTS.glob("test_*.py"), "differ"))


def page() -> str:
    """The table as a page."""
    held, table = shown(), rows()
    lines = [f"| {name} | {about} | {'; '.join(held[name])} |\n" for name, about in table.items()]
    return HEAD.format(all=len(table)) + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
