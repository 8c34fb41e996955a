"""Which lines of a port's code ran under which labelled edges; how that was found out is not here.

These records are saved as they are, in the result of a verification.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class CodeEdge(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled edge, whoever the members are and whatever is left on timers; in so many steps.

    `before` and `after` are states of the group, `none` where there is no group.
    """

    before: str
    given: str
    rules: tuple[str, ...]
    after: str
    steps: int


class CodeFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function by its qualified name: lines and branches by their numbers, edges by their places.

    Of its `lines` some ran only `outside` of any lawful step, as when a test is opened or closed,
    and some `never`. A branch that never was taken goes from a line to another, which is negative
    where it leaves the function. `edges` are those under which anything of it ran.
    """

    name: str
    lines: tuple[int, ...]
    outside: tuple[int, ...]
    never: tuple[int, ...]
    branches: int
    untaken: tuple[tuple[int, int], ...]
    edges: tuple[int, ...]


class CodeFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file: its text, its functions, and for each line that ran under edges which of `sets`."""

    path: str
    text: str
    ran: dict[int, int]
    functions: tuple[CodeFunction, ...]


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The code of a port: files, labelled edges, and sets of these by their places.

    In each group of `alike` are edges of one kind of input under which the very same lines ran,
    although the model has other rules for them: one may be missing in the code.
    """

    edges: tuple[CodeEdge, ...]
    sets: tuple[tuple[int, ...], ...]
    files: tuple[CodeFile, ...]
    alike: tuple[tuple[int, ...], ...]

    @property
    def functions(self) -> Iterator[tuple[CodeFile, CodeFunction]]:
        """All functions, with the files that they are in."""
        return ((file, function) for file in self.files for function in file.functions)
