"""What was counted of the layers of a space, told as the explorer in one process tells it.

For a way to a state the layers are asked, back to the first, for the one parent that led there
first: so it is the way that the explorer in one process finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from groupcheck.model.exploring.exploration import Explored, Witness
from groupcheck.model.exploring.explorer import Space, part
from groupcheck.model.exploring.figures import Degrees, Figures
from groupcheck.model.exploring.graph import Hop, StateGraph
from groupcheck.model.exploring.notation import read
from groupcheck.model.exploring.path import along
from groupcheck.model.exploring.projection import Arrow, Projection, lawful
from groupcheck.model.spaces.instance import Instance
from groupcheck.model.state import Coordinator
from groupcheck.pipeline.exploring.levels import Layers
from groupcheck.properties.laws import laws, liveness
from groupcheck.properties.laws.course import Leg
from groupcheck.properties.laws.laws import Counterexample
from groupcheck.properties.laws.liveness import Unfinished

NOWHERE: Final = Hop(-1, -1)  # of an edge only that there is one was counted


class Shown(NamedTuple):
    """What the layers show when all are there: see `Figures` and `Explored`."""

    discovered: dict[int, int]
    digest: str


class _At(NamedTuple):
    """Where something was counted first."""

    depth: int
    id: int


class _Sums:
    """What was counted of all layers together."""

    def __init__(self, layers: Layers) -> None:
        self.times: dict[str, Counter[tuple[str, str]]] = {}
        self.first: dict[str, dict[tuple[str, str], _At]] = {}
        for depth, layer in enumerate(layers.whole[1:]):
            for kind, name, detail, times, first in layer.before:
                self.times.setdefault(kind, Counter())[name, detail] += times
                here = _At(depth, first)
                self.first.setdefault(kind, {}).setdefault((name, detail), here)

    def named(self, kind: str) -> Counter[str]:
        """How many there are of each name."""
        return Counter({name: n for (name, _), n in self.times.get(kind, Counter()).items()})


def explored(name: str, instance: Instance, layers: Layers, shown: Shown) -> Explored:
    """A space whose layers are all there; of components nothing is known."""
    sums = _Sums(layers)
    states = sum(layer.states for layer in layers.whole)
    degrees = Counter({int(degree): n for degree, n in sums.named("degree").items()})
    discovered = Counter(shown.discovered)
    discovered[0] = states - discovered.total()
    depth = len(layers.whole) - 2  # the last layer is empty
    leads = [
        at
        for at, layer in enumerate(layers.whole[1:])
        if any(row[0] == "degree" and row[1] != "0" for row in layer.before)
    ]
    figures = Figures(
        states,
        sum(degree * n for degree, n in degrees.items()),
        depth,
        Degrees.of(degrees),
        Degrees.of(+discovered),
        sums.named("action"),
        sums.named("rule"),
    )
    seconds = sum(layer.seconds for layer in layers.whole)
    return Explored(
        name,
        instance,
        figures,
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
    return Projection(lawful(instance.profile), arrows, [NOWHERE] * torn)


def unsafe(name: str, instance: Instance, layers: Layers) -> list[Counterexample]:
    """The laws of safety that do not hold, each with a shortest witness."""
    first: dict[str, tuple[bool, _At]] = {}
    for (law, detail), at in _Sums(layers).first.get("breach", {}).items():
        here = (detail != "", at)  # what no version is known for goes before
        first[law] = min(here, first.get(law, here))
    found = []
    for law, (excused, at) in first.items():
        way = _way(instance, layers, at)
        broken = (each for each in laws.unsafe(name, way) if each.law.name == law)
        found += [each for each in broken if (each.known is not None) == excused]
    return found


def unending(
    name: str, instance: Instance, layers: Layers, legs: list[dict[str, Any]]
) -> list[Counterexample]:
    """The laws of liveness that do not hold, each with the cycle that its rows of `LEG` tell."""
    found = []
    for law in liveness.LAWS:
        told = [leg for leg in legs if leg["law"] == law.name]
        if told:
            at = [_At(leg["depth"], leg["id"]) for leg in told]
            round_ = [next(_before(layers, each)) for each in at]
            graph = StateGraph(part(instance, [*_path(layers, at[0]), *round_]))
            ends = [
                Unfinished(graph.space.numbers[state], leg["who"])
                for state, leg in zip(round_, told, strict=True)
            ]
            cycle = [
                Leg(here, there, leg["tick"])
                for here, there, leg in zip(ends, [*ends[1:], ends[0]], told, strict=True)
            ]
            broken = liveness.lasso(graph, law, told[0]["why"], cycle)
            found.append(laws.told(name, graph.space, broken))
    return found


def witness(rule: str, name: str, instance: Instance, layers: Layers) -> Witness | None:
    """A shortest way to a labelled edge that applies a rule, if there is one."""
    at = _Sums(layers).first.get("fired", {}).get((rule, ""))
    if at is None:
        return None
    way = _way(instance, layers, at)
    hops = StateGraph(way).witness_of(rule)
    return None if hops is None else Witness(rule, name, instance, tuple(along(way, hops)))


def _way(instance: Instance, layers: Layers, at: _At) -> Space:
    """The part of a space that is on the way to a state, the state itself being the last."""
    return part(instance, _path(layers, at))


def _path(layers: Layers, at: _At) -> list[Coordinator]:
    return [*_before(layers, at)][::-1]


def _before(layers: Layers, at: _At) -> Iterator[Coordinator]:
    depth, number = at
    while depth >= 0:
        number, text = layers.rows(depth, [number])[number]
        yield read(text)
        depth -= 1
