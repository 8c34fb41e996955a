"""A port's code for the page: its source beside the labelled edges that ran it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

from markupsafe import Markup

from groupcheck.properties.code.code import Code, CodeFile
from groupcheck.reports.code import edge_said, ranges, way_said
from groupcheck.reports.words import bounded

RAN: Final = "ran"
OUTSIDE: Final = "outside"
NEVER: Final = "never"
MOST_ALIKE: Final = 12  # edges of a group


class Line(NamedTuple):
    """A line of source: which of the code's `sets` of edges ran it, or -1, and how many these are.

    `untaken` says which ways on from it were never taken.
    """

    number: int
    text: str
    kind: str
    which: int
    edges: int
    untaken: str


class Function(NamedTuple):
    """A function in words."""

    name: str
    edges: int
    never: str
    untaken: str


class File(NamedTuple):
    """A file: how many of its lines ran under edges, of those that are in functions."""

    path: str
    ran: int
    lines: int
    functions: tuple[Function, ...]
    source: tuple[Line, ...]


def code_files(code: Code) -> list[File]:
    """The files, those first of which the most never ran."""
    files = [_file(code, file) for file in code.files]
    return sorted(files, key=lambda file: (file.ran - file.lines, file.path))


def alike(code: Code) -> list[list[str]]:
    """The groups of edges that ran the very same lines, in words."""
    return [[_edge(code, edge) for edge in group[:MOST_ALIKE]] for group in code.alike]


def code_data(code: Code) -> Markup:
    """The edges of each set, such that nothing in it can end the element that it is in."""
    edges = [_edge(code, place) for place in range(len(code.edges))]
    text = json.dumps({"edges": edges, "sets": code.sets}, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - JSON in ASCII without any <


def _edge(code: Code, place: int) -> str:
    return bounded(edge_said(code.edges[place]))


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
        edges = len(code.sets[which]) if which >= 0 else 0
        ways = _ways(untaken.get(number, ()))
        source.append(Line(number, bounded(text), kind, which, edges, ways))
    functions = tuple(
        Function(
            bounded(function.name),
            len(function.edges),
            ranges(function.never),
            _ways(way for way in function.untaken if way[0] not in never),
        )
        for function in file.functions
    )
    ran = sum(line.kind == RAN for line in source)
    return File(bounded(file.path), ran, len(lines), functions, tuple(source))


def _ways(ways: Iterable[tuple[int, int]]) -> str:
    return "; ".join(way_said(*way) for way in ways)
