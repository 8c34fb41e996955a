"""Aggregates the counts of the BFS levels, in the form of the explorer in one process.

A path to a state is read from the levels, backwards: each state has the first parent that led to
it, so the path is the one that the explorer in one process finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from groupcheck.model.engine.exploration import StateSpace, part
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.model.engine.lasso import MarkedStep
from groupcheck.model.engine.statistics import Degrees, Statistics
from groupcheck.model.engine.trace import trace_of
from groupcheck.model.exploring.exploration import Explored, Witness
from groupcheck.model.exploring.fingerprint import read
from groupcheck.model.exploring.projection import Arrow, Projection, kafkas_arrows
from groupcheck.model.instances.instance import Instance
from groupcheck.model.state import Coordinator
from groupcheck.pipeline.exploring.levels import Levels
from groupcheck.properties.temporal import liveness, safety
from groupcheck.properties.temporal.counterexamples import Counterexample, counterexample
from groupcheck.properties.temporal.liveness import TICK, Obligation

NOWHERE: Final = TransitionReference(-1, -1)  # only the number of such edges is known


class Shown(NamedTuple):
    """Results of all levels together: see `Statistics` and `Explored`."""

    discovered: dict[int, int]
    digest: str


class _At(NamedTuple):
    """The first state that has something."""

    depth: int
    id: int


class _Sums:
    """The counts of all levels together."""

    def __init__(self, levels: Levels) -> None:
        self.times: dict[str, Counter[tuple[str, str]]] = {}
        self.first: dict[str, dict[tuple[str, str], _At]] = {}
        for depth, level in enumerate(levels.whole[1:]):
            for kind, name, detail, times, first in level.before:
                self.times.setdefault(kind, Counter())[name, detail] += times
                here = _At(depth, first)
                self.first.setdefault(kind, {}).setdefault((name, detail), here)

    def named(self, kind: str) -> Counter[str]:
        """The count of each name."""
        return Counter({name: n for (name, _), n in self.times.get(kind, Counter()).items()})


def explored(name: str, instance: Instance, levels: Levels, shown: Shown) -> Explored:
    """The result for an instance with all levels; components are not computed."""
    sums = _Sums(levels)
    states = sum(level.states for level in levels.whole)
    degrees = Counter({int(degree): n for degree, n in sums.named("degree").items()})
    discovered = Counter(shown.discovered)
    discovered[0] = states - discovered.total()
    depth = len(levels.whole) - 2  # the last level is empty
    leads = [
        at
        for at, level in enumerate(levels.whole[1:])
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
    seconds = sum(level.seconds for level in levels.whole)
    return Explored(
        name,
        instance,
        statistics,
        shown.digest,
        0,
        1 + max(leads),
        None,
        _arrows(instance, sums),
        seconds,
    )


def _arrows(instance: Instance, sums: _Sums) -> Projection:
    arrows: dict[Arrow, Counter[str]] = {}
    for (name, reason), times in sums.times.get("arrow", Counter()).items():
        source, _, target = name.partition(" -> ")
        arrows.setdefault(Arrow(source, target), Counter())[reason] += times
    torn = sums.named("torn").total()
    return Projection(kafkas_arrows(instance.profile), arrows, [NOWHERE] * torn)


def unsafe(name: str, instance: Instance, levels: Levels) -> list[Counterexample]:
    """The invariants that do not hold, each with a shortest trace."""
    first: dict[str, tuple[bool, _At]] = {}
    for (prop, detail), at in _Sums(levels).first.get("violation", {}).items():
        here = (detail != "", at)  # violations that are not known of Kafka come first
        first[prop] = min(here, first.get(prop, here))
    found = []
    for prop, (excused, at) in first.items():
        way = _way(instance, levels, at)
        violated = (each for each in safety.violations(way) if each.property.name == prop)
        found += [
            counterexample(name, way, each)
            for each in violated
            if (each.known is not None) == excused
        ]
    return found


def unending(
    name: str, instance: Instance, levels: Levels, legs: list[dict[str, Any]]
) -> list[Counterexample]:
    """The temporal properties that do not hold, each with the cycle in its rows of `LEG`."""
    found = []
    for prop in liveness.PROPERTIES:
        edges = [leg for leg in legs if leg["property"] == prop.name]
        if edges:
            at = [_At(leg["depth"], leg["id"]) for leg in edges]
            round_ = [next(_before(levels, each)) for each in at]
            graph = StateGraph(part(instance, [*_path(levels, at[0]), *round_]))
            ends = [
                Obligation(graph.space.numbers[state], leg["who"])
                for state, leg in zip(round_, edges, strict=True)
            ]
            cycle = [
                MarkedStep(here, there, frozenset({TICK} if leg["tick"] else ()))
                for here, there, leg in zip(ends, [*ends[1:], ends[0]], edges, strict=True)
            ]
            broken = liveness.lasso(graph, prop, edges[0]["why"], cycle)
            found.append(counterexample(name, graph.space, broken))
    return found


def witness(rule: str, name: str, instance: Instance, levels: Levels) -> Witness | None:
    """A shortest trace to a transition that applies a rule, if there is one."""
    at = _Sums(levels).first.get("fired", {}).get((rule, ""))
    if at is None:
        return None
    way = _way(instance, levels, at)
    path = StateGraph(way).witness_of(rule)
    return None if path is None else Witness(rule, name, instance, tuple(trace_of(way, path)))


def _way(instance: Instance, levels: Levels, at: _At) -> StateSpace:
    """The states on the path to a state, which is the last, as a part of the state space."""
    return part(instance, _path(levels, at))


def _path(levels: Levels, at: _At) -> list[Coordinator]:
    return [*_before(levels, at)][::-1]


def _before(levels: Levels, at: _At) -> Iterator[Coordinator]:
    depth, number = at
    while depth >= 0:
        number, text = levels.rows(depth, [number])[number]
        yield read(text)
        depth -= 1
