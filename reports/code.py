"""A port's code held against the model, in words and for the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from groupcheck.properties.code.code import Code, CodeEdge
from groupcheck.reports.words import counted

MOST_LINES: Final = 10  # of the summary on a screen


def in_lines(code: Code) -> list[str]:
    """The lines of a summary: how much ran under labelled edges, and the first of what did not."""
    functions = [function for _, function in code.functions]
    lines = sum(len(function.lines) for function in functions)
    never = sum(len(function.never) for function in functions)
    outside = sum(len(function.outside) for function in functions)
    branches = sum(function.branches for function in functions)
    untaken = sum(len(function.untaken) for function in functions)
    first = (
        f"code       {counted(lines, 'line')} in {counted(len(functions), 'function')} of"
        f" {counted(len(code.files), 'file')}: {lines - never - outside:,} ran under"
        f" {counted(len(code.edges), 'labelled edge')}, {outside:,} outside of them only,"
        f" {never:,} never; {untaken:,} of {counted(branches, 'branch', 'branches')} not taken"
    )
    without = list(not_run(code))
    told = [first, *(f"           {line}" for line in without[:MOST_LINES])]
    if len(without) > MOST_LINES:
        more = counted(len(without) - MOST_LINES, "function")
        told.append(f"           and {more} more, see result.json or the page")
    if code.alike:
        groups = counted(len(code.alike), "group")
        told.append(f"alike      {groups} of edges by other rules that run the very same lines")
    return told


def not_run(code: Code) -> Iterator[str]:
    """Each function of which something never ran, or a branch was never taken."""
    for file, function in code.functions:
        parts = []
        if function.never:
            what = "line" if len(function.never) == 1 else "lines"
            parts.append(f"never {what} {ranges(function.never)}")
        ways = [way for way in function.untaken if not {*map(abs, way)} & {*function.never}]
        if ways:
            said = ", ".join(way_said(*way) for way in ways)
            parts.append(f"never {said}")
        if parts:
            yield f"{file.path}: {function.name}: {'; '.join(parts)}"


def way_said(first: int, last: int) -> str:
    """A branch in words; coverage.py says the end of a function by a negative number."""
    return f"from line {first} {f'to {last}' if last > 0 else 'out of the function'}"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in ascending order, with those that follow one another as one range."""
    runs = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    each = [[number for _, number in run] for _, run in runs]
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in each)


def edge_said(edge: CodeEdge) -> str:
    """A labelled edge in a line."""
    rules = ", ".join(edge.rules) or "no rule"
    return f"{edge.before}, {edge.given} -> {edge.after}: {rules}"
