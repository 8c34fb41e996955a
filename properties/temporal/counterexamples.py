"""All properties, and the counterexamples of those that do not hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.trace import TraceStep, trace_of
from groupcheck.properties.temporal import liveness, safety
from groupcheck.properties.temporal.property import KnownViolation, Property, Violation

PROPERTIES: Final[tuple[Property, ...]] = (*safety.PROPERTIES, *liveness.PROPERTIES)


class Counterexample(NamedTuple):
    """The steps that violate a property in a model instance; the last `cycle` repeat forever."""

    property: Property
    known: KnownViolation | None
    instance_name: str
    instance: Instance
    steps: tuple[TraceStep, ...]
    cycle: int


def counterexamples(name: str, space: StateSpace) -> list[Counterexample]:
    """A shortest counterexample of each property that does not hold in a space with symmetry."""
    found = (*safety.violations(space), *liveness.violations(space))
    return [counterexample(name, space, each) for each in found]


def counterexample(name: str, space: StateSpace, violation: Violation) -> Counterexample:
    """The steps of a violation, in names that stay the same."""
    steps = tuple(trace_of(space, [*violation.path, *violation.cycle]))
    return Counterexample(
        violation.property, violation.known, name, space.instance, steps, len(violation.cycle)
    )


def one_of_each(found: Iterable[Counterexample]) -> list[Counterexample]:
    """The first counterexample of each property; one that is not known comes first."""
    first: dict[Property, Counterexample] = {}
    for each in sorted(found, key=lambda each: each.known is not None):
        first.setdefault(each.property, each)
    return [first[prop] for prop in PROPERTIES if prop in first]
