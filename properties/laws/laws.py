"""All the laws at once, and what to tell of one that does not hold."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.explorer import Space
from groupcheck.model.instance import Instance
from groupcheck.model.path import Taken, along
from groupcheck.properties.laws import liveness, safety
from groupcheck.properties.laws.law import Known, Law

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
    return [
        Counterexample(
            broken.law,
            broken.known,
            name,
            space.instance,
            tuple(along(space, [*broken.hops, *broken.cycle])),
            len(broken.cycle),
        )
        for broken in (*safety.broken(space), *liveness.broken(space))
    ]
