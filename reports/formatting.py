"""Formats counts, durations, names, and text in columns.

A port may return any text: control characters are escaped, and long text is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import wrap
from typing import Final

MOST_OF_A_VALUE: Final = 200
MOST_OF_A_LINE: Final = 2_000

WIDTH: Final = 100
HEAD: Final = 11  # of the label of a summary line

# Units of a duration above the second, in milliseconds.
UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"))

# Names that need no quotes.
PLAIN: Final = re.compile(r"(?!null$)[A-Za-z0-9._-]{1,80}")


def bounded(line: str) -> str:
    """A line of at most 2,000 characters, control characters and lone surrogates escaped."""
    shown = line[:MOST_OF_A_LINE]
    cut = len(line) - len(shown)
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
    return f"{shown} ... ({counted(cut, 'more character')})" if cut else shown


def bounded_lines(lines: Iterable[str]) -> str:
    """The lines as one text, each with an end."""
    return "".join(f"{bounded(line)}\n" for line in lines)


def counted(number: int, what: str, several: str = "") -> str:
    """`1 edge`, `2,039 edges`."""
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def percent(part: int, whole: int) -> str:
    """A share, never rounded up to 100 %."""
    share = 100 * part / whole if whole else 100.0
    return "100 %" if part == whole else f"{min(share, 99.9):.1f} %"


def value(text: str | bytes | None) -> str:
    """A value in quotes, or `null`."""
    if text is None:
        return "null"
    cut = len(text) - MOST_OF_A_VALUE
    unit = "more byte" if isinstance(text, bytes) else "more character"
    more = f"... ({counted(cut, unit)})" if cut > 0 else ""
    return repr(text[:MOST_OF_A_VALUE]) + more


def word(text: str | None) -> str:
    """A name, in quotes if it has special characters."""
    return text if text is not None and PLAIN.fullmatch(text) else value(text)


def duration(ms: int) -> str:
    """`90000` as "1 min 30 s"."""
    if ms < 0:
        return f"-{duration(-ms)}"
    parts, left = [], ms
    for size, unit in UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    if left >= 1_000 or not (parts or left):
        parts.append(f"{left / 1_000:g} s")
    elif left:
        parts.append(f"{left} ms")
    return " ".join(parts)


def passing(ms: int) -> str:
    """`1 ms passes`, `1 min 30 s pass`."""
    words = duration(ms)
    return f"{words} {'passes' if re.fullmatch('1 [a-z]+', words) else 'pass'}"


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
