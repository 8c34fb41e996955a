"""Properties that do not hold in an explored instance, with sequences that show it, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from groupcheck.model.engine.checking import Violation
from groupcheck.model.engine.graph import TransitionReference


def violation_lines(
    violations: Iterable[Violation],
    steps: Callable[[Sequence[TransitionReference], int], Iterator[str]],
) -> Iterator[str]:
    """The lines for a terminal; `steps` are those of a path, numbered from the given number on."""
    for violation in violations:
        yield ""
        yield f"The shortest sequence in which this does not hold: {violation.property.words}"
        yield from steps(violation.path, 1)
        if violation.cycle:
            yield "  and for ever:"
            yield from steps(violation.cycle, len(violation.path) + 1)
