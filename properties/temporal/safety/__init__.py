"""Safety: invariants of every reachable state, and properties of every step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph
from groupcheck.properties.temporal.known_violations import known_violations
from groupcheck.properties.temporal.property import (
    ActionProperty,
    Invariant,
    KnownViolation,
    Property,
    Violation,
)
from groupcheck.properties.temporal.safety import (
    causes,
    log,
    offsets,
    rebalances,
    requests,
    sessions,
    waits,
)
from groupcheck.properties.temporal.step import (
    FAILOVER,
    CheckedStep,
    checked_steps,
    transition_of,
)

_MODULES: Final = (rebalances, sessions, requests, offsets, causes, waits, log)
_DECLARED: Final = [each for module in _MODULES for each in vars(module).values()]
INVARIANTS: Final = tuple(each for each in _DECLARED if isinstance(each, Invariant))
_ACTION_PROPERTIES: Final = [each for each in _DECLARED if isinstance(each, ActionProperty)]
ACTION_PROPERTIES: Final = tuple(each for each in _ACTION_PROPERTIES if not each.on_failover)
FAILOVER_PROPERTIES: Final = tuple(each for each in _ACTION_PROPERTIES if each.on_failover)
PROPERTIES: Final[tuple[Property, ...]] = (*INVARIANTS, *ACTION_PROPERTIES, *FAILOVER_PROPERTIES)
# Properties of causes and delays come last: the others are more specific.
_WHY: Final = [each for module in (causes, waits) for each in vars(module).values()]
_LAST: Final = tuple(each for each in ACTION_PROPERTIES if each in _WHY)
_FIRST: Final = tuple(each for each in ACTION_PROPERTIES if each not in _LAST)


def violations(space: StateSpace) -> list[Violation]:
    """The properties that do not hold in a space, each with a shortest counterexample."""
    found: dict[Property, Violation] = {}
    expected: dict[Property, Violation] = {}
    graph: StateGraph | None = None
    for step in checked_steps(space):
        for prop, known in violations_of(step):
            reports = found if known is None else expected
            if prop not in reports:
                graph = graph or StateGraph(space)
                path = graph.witness(transition_of(space, step))
                reports[prop] = Violation(prop, tuple(path), known=known)
    return list((expected | found).values())


def violations_of(step: CheckedStep) -> Iterator[tuple[Property, KnownViolation | None]]:
    """The properties that a step violates, each with the known violation that covers the step."""
    for prop in violated(step):
        known = known_violations(step.profile, prop)
        yield prop, next((each for each in known if each.covers(step)), None)


def violated(step: CheckedStep) -> Iterator[Property]:
    """The properties that a step violates, or the state after it."""
    first, last = _checked((type(step.given), type(step.body)))
    yield from (prop for prop in first if not prop.holds(step))
    yield from (prop for prop in INVARIANTS if not prop.holds(step.new))
    yield from (prop for prop in last if not prop.holds(step))


@cache
def _checked(
    kinds: tuple[type, ...],
) -> tuple[tuple[ActionProperty, ...], tuple[ActionProperty, ...]]:
    """The properties of the steps of an input, before those of the state and after them."""

    def of(properties: tuple[ActionProperty, ...]) -> tuple[ActionProperty, ...]:
        return tuple(p for p in properties if not p.inputs or not {*kinds}.isdisjoint(p.inputs))

    if not {*kinds}.isdisjoint(FAILOVER):
        return of(FAILOVER_PROPERTIES), ()
    return (*of(FAILOVER_PROPERTIES), *of(_FIRST)), of(_LAST)
