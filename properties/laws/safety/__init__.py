"""Safety: what holds in every reachable state and on every transition of a space.

The laws of states look at one state, those of steps at one step of a group that stays where it is;
what the log has to do with it, and what becomes of a group that is lost, is in `log`. Each is said
once more in words, apart from the rules of the model that ought to keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph
from groupcheck.properties.laws.law import Broken, Known, Law, Taken, hop_of, known, taken
from groupcheck.properties.laws.safety import (
    answers,
    assignments,
    expiry,
    offsets,
    rebalances,
    sessions,
    static_members,
)
from groupcheck.properties.laws.safety.log import MOVES, OF_LOG

OF_STATES: Final = rebalances.OF_STATES | assignments.OF_STATES | sessions.OF_STATES
OF_STEPS: Final = (
    rebalances.OF_STEPS
    | assignments.OF_STEPS
    | sessions.OF_STEPS
    | answers.OF_STEPS
    | static_members.OF_STEPS
    | offsets.OF_STEPS
    | expiry.OF_STEPS
)
LAWS: Final = (*OF_STATES, *OF_STEPS, *OF_LOG)


def broken(space: StateSpace) -> list[Broken]:
    """The laws that do not hold in a space, each with a shortest way to break it."""
    found: dict[Law, Broken] = {}
    excused: dict[Law, Broken] = {}
    graph: StateGraph | None = None
    for step in taken(space):
        for law, excuse in breaches(step):
            reports = found if excuse is None else excused
            if law not in reports:
                graph = graph or StateGraph(space)
                reports[law] = _report(graph, step, law, excuse)
    return list((excused | found).values())


def _report(graph: StateGraph, step: Taken, law: Law, excuse: Known | None) -> Broken:
    return Broken(law, tuple(graph.witness(hop_of(graph.space, step))), known=excuse)


def breaches(step: Taken) -> Iterator[tuple[Law, Known | None]]:
    """The laws that a step breaks, or the state that it leads to; if Kafka does it, why."""
    for law in breached(step):
        excuses = known(step.profile, law)
        yield law, next((excuse for excuse in excuses if excuse.covers(step)), None)


def breached(step: Taken) -> Iterator[Law]:
    """The laws that one step breaks, or the state that it leads to."""
    moved = isinstance(step.given, MOVES)
    yield from (law for law, holds in OF_LOG.items() if not holds(step))
    yield from (law for law, holds in OF_STEPS.items() if not (moved or holds(step)))
    yield from (law for law, holds in OF_STATES.items() if not holds(step.new))
