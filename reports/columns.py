"""Text in columns, for a screen: tables, and what stands after a heading."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Final

WIDTH: Final = 100
HEAD: Final = 11


def table(rows: list[list[str]]) -> list[str]:
    """Rows in columns, the first to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]


def wrapped(head: str, words: Iterable[str]) -> list[str]:
    """A list after its heading, in lines that are no wider than a screen."""
    first, *more = wrap(", ".join(words), WIDTH - HEAD, break_on_hyphens=False)
    return [f"{head:<{HEAD}}{first}", *indented(more)]


def indented(lines: Iterable[str]) -> list[str]:
    """Lines below what stands after a heading."""
    return [" " * HEAD + line for line in lines]
