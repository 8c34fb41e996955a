"""How an obligation may stay unfinished for ever: the cycles of its graph, under fairness.

The nodes are of any type: of a state space in memory, or of one that is stored elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

from groupcheck.model.engine.lasso import MarkedStep, fair_cycle

N = TypeVar("N", bound=Hashable)

TICK: Final = "tick"
FREE: Final = "free"  # no append is held in the state before


class PendingStep(NamedTuple, Generic[N]):
    """A step over which an obligation stays unfinished.

    `covers` are the indices of the expected violations, of the version and the property, that the
    step belongs to.
    """

    here: N
    there: N
    tick: bool
    covers: tuple[int, ...] = ()

    def is_for(self, why: int | None) -> bool:
        """Whether it counts if no expected violation is allowed, or only this one."""
        return not self.covers or why in self.covers


class CycleStep(NamedTuple, Generic[N]):
    """An edge of a cycle: by a tick, or by the first step between its ends."""

    here: N
    there: N
    tick: bool


class Obligations(Generic[N]):
    """The steps over which an obligation stays unfinished, from node to node."""

    def __init__(self, pending: Iterable[PendingStep[N]], why: int | None = None) -> None:
        """Collect the steps that count for `why`, in order."""
        self._steps = [(g.here, g.there, g.tick) for g in pending if g.is_for(why)]

    def cycle(
        self, depth: Callable[[N], int], holding: Callable[[N], bool]
    ) -> list[CycleStep[N]] | None:
        """The fair cycle that is gone through soonest, from its node of least depth; None if none.

        It has a tick, and a node where `holding` is false. `depth` is the number of steps to a
        node.
        """
        steps = (
            MarkedStep(here, there, frozenset(self._marks(tick=tick, free=not holding(here))))
            for here, there, tick in self._steps
        )
        cycle = fair_cycle(steps, frozenset((TICK, FREE)), depth, TICK)
        # Of several steps between two nodes the first is taken, but for one tick.
        if cycle is None:
            return None
        return [CycleStep(step.here, step.there, TICK in step.marks) for step in cycle]

    @staticmethod
    def _marks(*, tick: bool, free: bool) -> Iterable[str]:
        return (mark for mark, has in ((TICK, tick), (FREE, free)) if has)
