"""A port's source for the HTML page, each line with the transitions that execute it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

from markupsafe import Markup

from groupcheck.properties.code.code import Code, CodeFile
from groupcheck.reports.code import branch_text, ranges, transition_text
from groupcheck.reports.formatting import bounded

RAN: Final = "ran"
OUTSIDE: Final = "outside"
NEVER: Final = "never"
MOST_SAME: Final = 12  # transitions of a group


class Line(NamedTuple):
    """A line of source: the number of the set of transitions that executed it, or -1, and its size.

    `untaken` are the branches from it that were never taken.
    """

    number: int
    text: str
    kind: str
    which: int
    transitions: int
    untaken: str


class Function(NamedTuple):
    """A function as text."""

    name: str
    transitions: int
    never: str
    untaken: str


class File(NamedTuple):
    """A file, with the number of lines of functions that transitions executed."""

    path: str
    ran: int
    lines: int
    functions: tuple[Function, ...]
    source: tuple[Line, ...]


def code_files(code: Code) -> list[File]:
    """The files, those with most uncovered lines first."""
    files = [_file(code, file) for file in code.files]
    return sorted(files, key=lambda file: (file.ran - file.lines, file.path))


def same_lines(code: Code) -> list[list[str]]:
    """The groups of transitions that executed the same lines, as text."""
    return [[_label(code, each) for each in group[:MOST_SAME]] for group in code.same_lines]


def code_data(code: Code) -> Markup:
    """The transitions of each set, with `<` escaped, so that they cannot end their element."""
    labels = [_label(code, place) for place in range(len(code.transitions))]
    text = json.dumps({"transitions": labels, "sets": code.sets}, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - JSON in ASCII without any <


def _label(code: Code, place: int) -> str:
    return bounded(transition_text(code.transitions[place]))


def _file(code: Code, file: CodeFile) -> File:
    lines = {line for function in file.functions for line in function.lines}
    never = {line for function in file.functions for line in function.never}
    untaken: dict[int, list[tuple[int, int]]] = {}
    for first, last in (way for function in file.functions for way in function.untaken):
        if first not in never:
            untaken.setdefault(first, []).append((first, last))
    source = []
    for number, text in enumerate(file.text.splitlines(), 1):
        which = file.ran.get(number, -1) if number in lines else -1
        kind = ""
        if number in lines:
            kind = NEVER if number in never else RAN if which >= 0 else OUTSIDE
        transitions = len(code.sets[which]) if which >= 0 else 0
        ways = _ways(untaken.get(number, ()))
        source.append(Line(number, bounded(text), kind, which, transitions, ways))
    functions = tuple(
        Function(
            bounded(function.name),
            len(function.transitions),
            ranges(function.never),
            _ways(way for way in function.untaken if way[0] not in never),
        )
        for function in file.functions
    )
    ran = sum(line.kind == RAN for line in source)
    return File(bounded(file.path), ran, len(lines), functions, tuple(source))


def _ways(ways: Iterable[tuple[int, int]]) -> str:
    return "; ".join(branch_text(*way) for way in ways)
