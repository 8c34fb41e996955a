"""All the laws at once, and what to tell of one that does not hold."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.trace import TraceStep, trace_of
from groupcheck.model.instances.instance import Instance
from groupcheck.properties.temporal import liveness, safety
from groupcheck.properties.temporal.step import KnownViolation, Property, Violation

PROPERTIES: Final[tuple[Property, ...]] = (*safety.PROPERTIES, *liveness.PROPERTIES)


class Counterexample(NamedTuple):
    """A law that does not hold in a space: the steps that break it, the last `cycle` for ever."""

    property: Property
    known: KnownViolation | None
    space: str
    instance: Instance
    steps: tuple[TraceStep, ...]
    cycle: int


def counterexamples(name: str, space: StateSpace) -> list[Counterexample]:
    """The laws that do not hold in a space reduced by symmetry, each with a shortest witness."""
    return [
        *of_safety(name, space),
        *(counterexample(name, space, each) for each in liveness.violations(space)),
    ]


def note(broken: dict[str, Counterexample], each: Counterexample) -> None:
    """Note a law that does not hold, once, rather where no version is known for it."""
    held = broken.setdefault(each.property.name, each)
    if held.known is not None and each.known is None:
        broken[each.property.name] = each


def in_order(broken: dict[str, Counterexample]) -> list[Counterexample]:
    """The laws that were noted, in the order in which laws are listed."""
    return [broken[prop.name] for prop in PROPERTIES if prop.name in broken]


def of_safety(name: str, space: StateSpace) -> list[Counterexample]:
    """The same for the laws of safety alone, of a space or of a part of one."""
    return [counterexample(name, space, each) for each in safety.violations(space)]


def counterexample(name: str, space: StateSpace, broken: Violation) -> Counterexample:
    """A law that does not hold, with the steps of its witness."""
    steps = tuple(trace_of(space, [*broken.path, *broken.cycle]))
    return Counterexample(
        broken.property, broken.known, name, space.instance, steps, len(broken.cycle)
    )
