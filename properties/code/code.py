"""Code coverage of a port by transition, and the merging of several runs.

Results save the `Code` records as they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec


class CodeTransition(msgspec.Struct, frozen=True, kw_only=True):
    """A transition without member ids and timers, and the number of steps that took it.

    `before` and `after` are group states, `none` where there is no group.
    """

    before: str
    given: str
    rules: tuple[str, ...]
    after: str
    steps: int


class CodeFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function by its qualified name, with its line numbers.

    Some `lines` ran only `outside` conforming steps, as when a test is opened or closed, and some
    `never`. An `untaken` branch is a pair of lines, the second negative if it leaves the function.
    `transitions` are the indexes of those that executed any of its lines.
    """

    name: str
    lines: tuple[int, ...]
    outside: tuple[int, ...]
    never: tuple[int, ...]
    branches: int
    untaken: tuple[tuple[int, int], ...]
    transitions: tuple[int, ...]


class CodeFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file: its text, its functions, and the set of transitions that executed each line."""

    path: str
    text: str
    ran: dict[int, int]
    functions: tuple[CodeFunction, ...]


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The code of a port: files, transitions, and sets of indexes of transitions.

    `same_lines` are groups of transitions of one kind of input that executed the same lines,
    although the model has different rules for them: the code may lack a rule.
    """

    transitions: tuple[CodeTransition, ...]
    sets: tuple[tuple[int, ...], ...]
    files: tuple[CodeFile, ...]
    same_lines: tuple[tuple[int, ...], ...]

    @property
    def functions(self) -> Iterator[tuple[CodeFile, CodeFunction]]:
        """All functions, with their files."""
        return ((file, function) for file in self.files for function in file.functions)


class Label(NamedTuple):
    """A transition: see `CodeTransition`."""

    before: str
    given: str
    rules: tuple[str, ...]
    after: str


class FunctionRan(NamedTuple):
    """A function: see `CodeFunction`."""

    name: str
    lines: tuple[int, ...]
    never: frozenset[int]
    branches: int
    untaken: frozenset[tuple[int, int]]


class FileRan(NamedTuple):
    """A file, and the transitions that executed each line, if any: `ran`."""

    path: str
    text: str
    ran: Mapping[int, frozenset[Label]]
    functions: tuple[FunctionRan, ...]


class ChangedCodeError(ValueError):
    """Results have different texts of one file, so that their lines cannot be merged."""


def coded(files: Iterable[FileRan], steps: Mapping[Label, int]) -> Code:
    """The record of the files, with transitions and sets of them numbered."""
    files = sorted(files)
    places = {label: place for place, label in enumerate(steps)}
    sets: dict[tuple[int, ...], int] = {}

    def of(labels: Iterable[Label]) -> tuple[int, ...]:
        return tuple(sorted(places[label] for label in labels))

    def set_of(labels: Iterable[Label]) -> int:
        return sets.setdefault(of(labels), len(sets))

    numbered = tuple(
        CodeFile(
            path=file.path,
            text=file.text,
            ran={line: set_of(labels) for line, labels in sorted(file.ran.items())},
            functions=tuple(_function(file, each, of) for each in file.functions),
        )
        for file in files
    )
    return Code(
        transitions=tuple(
            CodeTransition(**label._asdict(), steps=count) for label, count in steps.items()
        ),
        sets=tuple(sets),
        files=numbered,
        same_lines=tuple(of(labels) for labels in _same_lines(files, steps)),
    )


def _function(
    file: FileRan, function: FunctionRan, of: Callable[[Iterable[Label]], tuple[int, ...]]
) -> CodeFunction:
    others = (line for line in function.lines if line not in file.ran)
    return CodeFunction(
        name=function.name,
        lines=function.lines,
        outside=tuple(line for line in others if line not in function.never),
        never=tuple(sorted(function.never)),
        branches=function.branches,
        untaken=tuple(sorted(function.untaken)),
        transitions=of({label for line in function.lines for label in file.ran.get(line, ())}),
    )


def _same_lines(files: Iterable[FileRan], steps: Iterable[Label]) -> Iterator[list[Label]]:
    """Transitions of one kind of input, but with different rules, that executed the same lines."""
    lines_of: dict[Label, list[tuple[str, int]]] = defaultdict(list)
    for file in files:
        for line, labels in sorted(file.ran.items()):
            for label in labels:
                lines_of[label].append((file.path, line))
    groups: dict[tuple[str, tuple[tuple[str, int], ...]], list[Label]] = defaultdict(list)
    for label in steps:
        groups[label.given, tuple(lines_of[label])].append(label)
    for group in groups.values():
        if len({frozenset(label.rules) for label in group}) > 1:
            yield group


def united(codes: Iterable[Code]) -> Code:
    """The coverage of several runs of the same code.

    Raises:
        ChangedCodeError: a file had another text in one of them.
    """
    steps: Counter[Label] = Counter()
    files: dict[str, FileRan] = {}
    for code in codes:
        labels = [Label(e.before, e.given, e.rules, e.after) for e in code.transitions]
        steps.update(dict(zip(labels, (each.steps for each in code.transitions), strict=True)))
        for file in code.files:
            one = _read(code, file, labels)
            known = files.get(file.path)
            files[file.path] = one if known is None else _both(known, one)
    return coded(files.values(), steps)


def _read(code: Code, file: CodeFile, labels: list[Label]) -> FileRan:
    return FileRan(
        file.path,
        file.text,
        {n: frozenset(labels[e] for e in code.sets[which]) for n, which in file.ran.items()},
        tuple(
            FunctionRan(f.name, f.lines, frozenset(f.never), f.branches, frozenset(f.untaken))
            for f in file.functions
        ),
    )


def _both(one: FileRan, other: FileRan) -> FileRan:
    if one.text != other.text:
        msg = f"{one.path} is not the same in all results"
        raise ChangedCodeError(msg)
    ran = {
        line: one.ran.get(line, frozenset()) | other.ran.get(line, frozenset())
        for line in sorted({*one.ran, *other.ran})
    }
    pairs = zip(one.functions, other.functions, strict=True)
    functions = (
        a._replace(never=a.never & b.never, untaken=a.untaken & b.untaken) for a, b in pairs
    )
    return one._replace(ran=ran, functions=tuple(functions))
