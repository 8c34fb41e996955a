"""All the laws at once, and what to tell of one that does not hold."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.exploring.explorer import Space
from groupcheck.model.exploring.path import Taken, along
from groupcheck.model.spaces.instance import Instance
from groupcheck.properties.laws import liveness, safety
from groupcheck.properties.laws.law import Broken, Known, Law

LAWS: Final[tuple[Law, ...]] = (*safety.LAWS, *liveness.LAWS)


class Counterexample(NamedTuple):
    """A law that does not hold in a space: the steps that break it, the last `cycle` for ever."""

    law: Law
    known: Known | None
    space: str
    instance: Instance
    steps: tuple[Taken, ...]
    cycle: int


def counterexamples(name: str, space: Space) -> list[Counterexample]:
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


def unsafe(name: str, space: Space) -> list[Counterexample]:
    """The same for the laws of safety alone, of a space or of a part of one."""
    return [told(name, space, each) for each in safety.broken(space)]


def told(name: str, space: Space, broken: Broken) -> Counterexample:
    """A law that does not hold, with the steps of its witness."""
    steps = tuple(along(space, [*broken.hops, *broken.cycle]))
    return Counterexample(broken.law, broken.known, name, space.instance, steps, len(broken.cycle))
