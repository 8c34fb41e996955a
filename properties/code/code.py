"""Code coverage of a port by transition. Results save these records as they are."""

from __future__ import annotations

from collections.abc import Iterator

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
