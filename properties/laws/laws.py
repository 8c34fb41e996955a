"""All the laws at once, and what to tell of one that does not hold."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.trace import TraceStep, trace_of
from groupcheck.model.instances.instance import Instance
from groupcheck.properties.laws import liveness, safety
from groupcheck.properties.laws.law import Broken, Known, Law

LAWS: Final[tuple[Law, ...]] = (*safety.LAWS, *liveness.LAWS)


class Counterexample(NamedTuple):
    """A law that does not hold in a space: the steps that break it, the last `cycle` for ever."""

    law: Law
    known: Known | None
    space: str
    instance: Instance
    steps: tuple[TraceStep, ...]
    cycle: int


def counterexamples(name: str, space: StateSpace) -> list[Counterexample]:
    """The laws that do not hold in a space reduced by symmetry, each with a shortest witness."""
    return [*unsafe(name, space), *(told(name, space, each) for each in liveness.broken(space))]


def note(broken: dict[str, Counterexample], each: Counterexample) -> None:
    """Note a law that does not hold, once, rather where no version is known for it."""
    held = broken.setdefault(each.law.name, each)
    if held.known is not None and each.known is None:
        broken[each.law.name] = each


def in_order(broken: dict[str, Counterexample]) -> list[Counterexample]:
    """The laws that were noted, in the order in which laws are listed."""
    return [broken[law.name] for law in LAWS if law.name in broken]


def unsafe(name: str, space: StateSpace) -> list[Counterexample]:
    """The same for the laws of safety alone, of a space or of a part of one."""
    return [told(name, space, each) for each in safety.broken(space)]


def told(name: str, space: StateSpace, broken: Broken) -> Counterexample:
    """A law that does not hold, with the steps of its witness."""
    steps = tuple(trace_of(space, [*broken.hops, *broken.cycle]))
    return Counterexample(broken.law, broken.known, name, space.instance, steps, len(broken.cycle))
