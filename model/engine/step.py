"""Steps: a step while it is built, its nondeterministic choices, and all outcomes of an action.

An action changes a step. Where the system has a choice, it calls `choose`; `steps` runs the action
once for every combination of choices, as TLC does for PlusCal's `with`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from groupcheck.model.engine.rules import Version

# The maximum of choices of a step that raises; with more, no others are tried.
MOST_CHOICES: Final = 8

T = TypeVar("T")
S = TypeVar("S", bound="EngineStep")


class EngineStep:
    """One step while it is built: the rules applied so far, and the choices taken."""

    __slots__ = ("_script", "_taken", "applied", "version")

    def __init__(self, version: Version, script: Sequence[int] = ()) -> None:
        self.version = version
        self.applied: list[str] = []
        self._script = script
        self._taken: list[tuple[int, int]] = []

    def choose(self, _why: object, options: Sequence[T]) -> T:
        """One of the options; over all outcomes of the step, each of them."""
        if len(options) == 1:
            return options[0]
        at = len(self._taken)
        index = self._script[at] if at < len(self._script) else 0
        self._taken.append((index, len(options)))
        return options[index]

    @property
    def choices(self) -> int:
        """The number of choices taken."""
        return len(self._taken)

    def next_script(self) -> list[int] | None:
        """The choices of the next run, in lexicographic order; None after the last."""
        taken = self._taken
        while taken:
            index, arity = taken.pop()
            if index + 1 < arity:
                return [*(i for i, _ in taken), index + 1]
        return None


def steps(
    make: Callable[[Sequence[int]], S],
    act: Callable[[S], Any],
    impossible: tuple[type[Exception], ...] = (),
) -> Iterator[S]:
    """Every outcome of an action; `make` creates a step that takes the given choices.

    An action that raises one of the `impossible` has no outcome.
    """
    script: list[int] | None = []
    while script is not None:
        step = make(script)
        try:
            act(step)
        except impossible:
            if step.choices > MOST_CHOICES:  # it never ends, whatever is chosen
                return
        else:
            yield step
        script = step.next_script()
