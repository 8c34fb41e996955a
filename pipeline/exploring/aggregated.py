"""Aggregates the counts of the BFS levels into the results of the explorer in one process.

The path to a state is read backwards from the levels: each state has its first parent, so the path
is that of the explorer in one process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.exploring.exploration import Explored, Witness
from groupcheck.model.classic.exploring.fingerprint import read
from groupcheck.model.classic.exploring.group_graph import Arrow, GroupGraph, kafka_arrows
from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.engine.exploration import StateSpace, part
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.model.engine.lasso import MarkedStep
from groupcheck.model.engine.statistics import Degrees, Statistics
from groupcheck.model.engine.trace import trace_of
from groupcheck.pipeline.exploring.levels import Levels
from groupcheck.properties.temporal import liveness, safety
from groupcheck.properties.temporal.counterexamples import Counterexample, counterexample
from groupcheck.properties.temporal.liveness import TICK, Obligation

UNKNOWN: Final = TransitionReference(-1, -1)  # only the number of these transitions is known


class Totals(NamedTuple):
    """Results over all levels: see `Statistics` and `Explored`."""

    discovered: dict[int, int]
    digest: str


class _Position(NamedTuple):
    """The position of a state in the levels."""

    depth: int
    id: int


class _Sums:
    """The sums of the counts of all levels."""

    def __init__(self, levels: Levels) -> None:
        self.times: dict[str, Counter[tuple[str, str]]] = {}
        self.first: dict[str, dict[tuple[str, str], _Position]] = {}
        for depth, level in enumerate(levels.complete[1:]):
            for kind, name, detail, times, first in level.before:
                self.times.setdefault(kind, Counter())[name, detail] += times
                position = _Position(depth, first)
                self.first.setdefault(kind, {}).setdefault((name, detail), position)

    def named(self, kind: str) -> Counter[str]:
        """The count of each name."""
        return Counter({name: n for (name, _), n in self.times.get(kind, Counter()).items()})


def explored(name: str, instance: Instance, levels: Levels, totals: Totals) -> Explored:
    """The result for a fully explored instance; components are not computed."""
    sums = _Sums(levels)
    states = sum(level.states for level in levels.complete)
    degrees = Counter({int(degree): n for degree, n in sums.named("degree").items()})
    discovered = Counter(totals.discovered)
    discovered[0] = states - discovered.total()
    depth = len(levels.complete) - 2  # the last level is empty
    with_successors = [
        at
        for at, level in enumerate(levels.complete[1:])
        if any(row[0] == "degree" and row[1] != "0" for row in level.before)
    ]
    statistics = Statistics(
        states,
        sum(degree * n for degree, n in degrees.items()),
        depth,
        Degrees.of(degrees),
        Degrees.of(+discovered),
        sums.named("action"),
        sums.named("rule"),
    )
    seconds = sum(level.seconds for level in levels.complete)
    return Explored(
        name,
        instance,
        statistics,
        totals.digest,
        0,
        1 + max(with_successors),
        None,
        _arrows(instance, sums),
        seconds,
    )


def _arrows(instance: Instance, sums: _Sums) -> GroupGraph:
    arrows: dict[Arrow, Counter[str]] = {}
    for (name, reason), times in sums.times.get("arrow", Counter()).items():
        source, _, target = name.partition(" -> ")
        arrows.setdefault(Arrow(source, target), Counter())[reason] += times
    inconsistent = sums.named("inconsistent").total()
    return GroupGraph(kafka_arrows(instance.profile), arrows, [UNKNOWN] * inconsistent)


def unsafe(name: str, instance: Instance, levels: Levels) -> list[Counterexample]:
    """The violated invariants, each with a shortest trace."""
    first: dict[str, tuple[bool, _Position]] = {}
    for (prop, detail), at in _Sums(levels).first.get("violation", {}).items():
        ordered = (detail != "", at)  # violations that are not known come first
        first[prop] = min(ordered, first.get(prop, ordered))
    found = []
    for prop, (excused, at) in first.items():
        space = _path_space(instance, levels, at)
        violated = (each for each in safety.violations(space) if each.property.name == prop)
        found += [
            counterexample(name, space, each)
            for each in violated
            if (each.known is not None) == excused
        ]
    return found


def unending(
    name: str, instance: Instance, levels: Levels, cycle_edges: list[dict[str, Any]]
) -> list[Counterexample]:
    """The violated temporal properties, each with the cycle in its rows of `CYCLE_EDGE`."""
    found = []
    for prop in liveness.PROPERTIES:
        edges = [edge for edge in cycle_edges if edge["property"] == prop.name]
        if edges:
            at = [_Position(edge["depth"], edge["id"]) for edge in edges]
            states = [next(_backwards(levels, each)) for each in at]
            graph = StateGraph(part(instance, [*_path(levels, at[0]), *states]))
            ends = [
                Obligation(graph.space.numbers[state], edge["owner"])
                for state, edge in zip(states, edges, strict=True)
            ]
            cycle = [
                MarkedStep(here, there, frozenset({TICK} if edge["tick"] else ()))
                for here, there, edge in zip(ends, [*ends[1:], ends[0]], edges, strict=True)
            ]
            lasso = liveness.lasso(graph, prop, edges[0]["violation"], cycle)
            found.append(counterexample(name, graph.space, lasso))
    return found


def witness(rule: str, name: str, instance: Instance, levels: Levels) -> Witness | None:
    """A shortest trace to a transition that applies a rule, if there is one."""
    at = _Sums(levels).first.get("applied", {}).get((rule, ""))
    if at is None:
        return None
    space = _path_space(instance, levels, at)
    path = StateGraph(space).witness_of(rule)
    return None if path is None else Witness(rule, name, instance, tuple(trace_of(space, path)))


def _path_space(instance: Instance, levels: Levels, at: _Position) -> StateSpace:
    """The states on the path to a state, as a part of the state space."""
    return part(instance, _path(levels, at))


def _path(levels: Levels, at: _Position) -> list[Coordinator]:
    return [*_backwards(levels, at)][::-1]


def _backwards(levels: Levels, at: _Position) -> Iterator[Coordinator]:
    depth, number = at
    while depth >= 0:
        number, text = levels.rows(depth, [number])[number]
        yield read(text)
        depth -= 1
