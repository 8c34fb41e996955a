"""Properties of every transition, and the check of all properties of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from groupcheck.model.brokers import ClusterInput
from groupcheck.model.cluster.state import Cluster
from groupcheck.model.engine import checking
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.model.engine.specification import Invariant, LeadsTo


class StepInvariant(NamedTuple):
    """A property of every transition: of the state before, the input, and the state after."""

    words: str
    holds: Callable[[Cluster, ClusterInput, Cluster], bool]


Property = Invariant | StepInvariant | LeadsTo


class Violation(NamedTuple):
    """A property that does not hold, with a shortest counterexample.

    `path` and `cycle` are as in `engine.checking.Violation`; a step that violates a property is the
    last of the path.
    """

    property: Property
    path: list[TransitionReference]
    cycle: list[TransitionReference]


def violations(space: StateSpace, properties: Iterable[Property]) -> list[Violation]:
    """The properties that do not hold in a state space."""
    found: list[Violation] = []
    for each in properties:
        if isinstance(each, StepInvariant):
            found += _violating_step(space, each)
        else:
            found += [Violation(*other) for other in checking.violations(space, [each])]
    return found


def _violating_step(space: StateSpace, invariant: StepInvariant) -> list[Violation]:
    for source, edges in enumerate(space.edges):  # breadth first, so the first is a nearest
        for index, edge in enumerate(edges):
            if not invariant.holds(space.nodes[source], edge.given, space.nodes[edge.target]):
                path = StateGraph(space).path(source)
                return [Violation(invariant, [*path, TransitionReference(source, index)], [])]
    return []
