"""Code coverage of a port by transition, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from groupcheck.properties.code.code import Code, CodeTransition
from groupcheck.reports.formatting import counted

MOST_LINES: Final = 10  # of the console summary


def in_lines(code: Code) -> list[str]:
    """The lines of a summary: the coverage, and the first functions with uncovered code."""
    functions = [function for _, function in code.functions]
    lines = sum(len(function.lines) for function in functions)
    never = sum(len(function.never) for function in functions)
    outside = sum(len(function.outside) for function in functions)
    branches = sum(function.branches for function in functions)
    untaken = sum(len(function.untaken) for function in functions)
    first = (
        f"code       {counted(lines, 'line')} in {counted(len(functions), 'function')} of"
        f" {counted(len(code.files), 'file')}: {lines - never - outside:,} executed by"
        f" {counted(len(code.transitions), 'transition')}, {outside:,} only outside of them,"
        f" {never:,} never; {untaken:,} of {counted(branches, 'branch', 'branches')} not taken"
    )
    without = list(not_run(code))
    text = [first, *(f"           {line}" for line in without[:MOST_LINES])]
    if len(without) > MOST_LINES:
        more = counted(len(without) - MOST_LINES, "more function")
        text.append(f"           and {more}: see result.json or the page")
    if code.same_lines:
        groups = counted(len(code.same_lines), "group")
        text.append(f"same lines {groups} of transitions with different rules")
    return text


def not_run(code: Code) -> Iterator[str]:
    """Each function with an uncovered line or branch."""
    for file, function in code.functions:
        parts = []
        if function.never:
            what = "line" if len(function.never) == 1 else "lines"
            parts.append(f"never {what} {ranges(function.never)}")
        ways = [way for way in function.untaken if not {*map(abs, way)} & {*function.never}]
        if ways:
            branches = ", ".join(branch_text(*way) for way in ways)
            parts.append(f"never {branches}")
        if parts:
            yield f"{file.path}: {function.name}: {'; '.join(parts)}"


def branch_text(first: int, last: int) -> str:
    """A branch as text; a negative line is the end of the function."""
    return f"from line {first} {f'to {last}' if last > 0 else 'out of the function'}"


def ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers, consecutive ones as a range."""
    runs = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    each = [[number for _, number in run] for _, run in runs]
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in each)


def transition_text(each: CodeTransition) -> str:
    """A transition in a line."""
    rules = ", ".join(each.rules) or "no rule"
    return f"{each.before}, {each.given} -> {each.after}: {rules}"
