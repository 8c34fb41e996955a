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
from groupcheck.properties.temporal.safety import (
    assignments,
    expiry,
    offsets,
    rebalances,
    requests,
    sessions,
    static_members,
)
from groupcheck.properties.temporal.safety.log import LOG_PROPERTIES, MOVES
from groupcheck.properties.temporal.step import (
    CheckedStep,
    KnownViolation,
    Property,
    Violation,
    checked_steps,
    known,
    transition_of,
)

INVARIANTS: Final = rebalances.INVARIANTS | assignments.INVARIANTS | sessions.INVARIANTS
ACTION_PROPERTIES: Final = (
    rebalances.ACTION_PROPERTIES
    | assignments.ACTION_PROPERTIES
    | sessions.ACTION_PROPERTIES
    | requests.ACTION_PROPERTIES
    | static_members.ACTION_PROPERTIES
    | offsets.ACTION_PROPERTIES
    | expiry.ACTION_PROPERTIES
)
PROPERTIES: Final = (*INVARIANTS, *ACTION_PROPERTIES, *LOG_PROPERTIES)


def violations(space: StateSpace) -> list[Violation]:
    """The laws that do not hold in a space, each with a shortest way to break it."""
    found: dict[Property, Violation] = {}
    excused: dict[Property, Violation] = {}
    graph: StateGraph | None = None
    for step in checked_steps(space):
        for prop, known_violation in violations_of(step):
            reports = found if known_violation is None else excused
            if prop not in reports:
                graph = graph or StateGraph(space)
                reports[prop] = _report(graph, step, prop, known_violation)
    return list((excused | found).values())


def _report(
    graph: StateGraph, step: CheckedStep, prop: Property, known_violation: KnownViolation | None
) -> Violation:
    return Violation(
        prop, tuple(graph.witness(transition_of(graph.space, step))), known=known_violation
    )


def violations_of(step: CheckedStep) -> Iterator[tuple[Property, KnownViolation | None]]:
    """The laws that a step breaks, or the state that it leads to; if Kafka does it, why."""
    for prop in violated(step):
        expected_causes = known(step.profile, prop)
        yield (
            prop,
            next(
                (
                    known_violation
                    for known_violation in expected_causes
                    if known_violation.covers(step)
                ),
                None,
            ),
        )


def violated(step: CheckedStep) -> Iterator[Property]:
    """The laws that one step breaks, or the state that it leads to."""
    moved = isinstance(step.given, MOVES)
    yield from (prop for prop, holds in LOG_PROPERTIES.items() if not holds(step))
    yield from (prop for prop, holds in ACTION_PROPERTIES.items() if not (moved or holds(step)))
    yield from (prop for prop, holds in INVARIANTS.items() if not holds(step.new))
