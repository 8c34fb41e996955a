"""Text in columns for the console: tables, and lists after a heading."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Final

WIDTH: Final = 100
HEAD: Final = 11


def table(rows: list[list[str]]) -> list[str]:
    """Rows in columns: the first left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]


def wrapped(head: str, words: Iterable[str]) -> list[str]:
    """A list after its heading, in lines of at most 100 characters."""
    first, *more = wrap(", ".join(words), WIDTH - HEAD, break_on_hyphens=False)
    return [f"{head:<{HEAD}}{first}", *indented(more)]


def indented(lines: Iterable[str]) -> list[str]:
    """Lines indented to the text after a heading."""
    return [" " * HEAD + line for line in lines]
