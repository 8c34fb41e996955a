"""The arrows of the group's state, with the reasons for each: how often shown, and a witness."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from groupcheck.model.exploring.graph import Hop, StateGraph
from groupcheck.model.exploring.path import along
from groupcheck.model.exploring.projection import Arrow, passed, state_of
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Rule
from groupcheck.properties.coverage.kind import SHOWN, Kind
from groupcheck.reports.graphs_again import Known
from groupcheck.reports.state_graph import Colour, GraphArrow
from groupcheck.reports.words import (
    answer_in_words,
    bounded,
    counted,
    letters,
    step_in_words,
)


class Witness(NamedTuple):
    """A shortest way to an edge: in which space, and its steps in words."""

    space: str
    shown: bool
    steps: tuple[str, ...]


class Reason(NamedTuple):
    """A rule that is the reason for an arrow: on how many labelled edges, how many were shown."""

    rule: Rule
    edges: int
    shown: int
    diverged: int
    witness: Witness


class Reasoned(NamedTuple):
    """An arrow with its reasons, the most frequent first; it was taken so many `times`."""

    arrow: Arrow
    reasons: tuple[Reason, ...]
    times: int = 0

    @property
    def edges(self) -> int:
        """On how many labelled edges, counted once for each reason."""
        return sum(reason.edges for reason in self.reasons)

    @property
    def shown(self) -> int:
        """How many of them were shown."""
        return sum(reason.shown for reason in self.reasons)

    @property
    def diverged(self) -> int:
        """How many of them were answered unlawfully."""
        return sum(reason.diverged for reason in self.reasons)

    @property
    def colour(self) -> Colour:
        """Violated if any edge is, else shown if any is."""
        if self.diverged:
            return "violated"
        return "shown" if self.shown else "missing"

    @property
    def drawn(self) -> GraphArrow:
        """As it is drawn."""
        rules = tuple(reason.rule.name for reason in self.reasons)
        said = f"{self.shown:,} of {self.edges:,} labelled edges shown"
        if self.times:
            said += f", taken {counted(self.times, 'time')}"
        source, target = map(str, self.arrow)
        return GraphArrow(source, target, rules, self.times or self.shown, self.colour, said)


class _Tally:
    """What is known of a reason so far; of the edges the first that was shown is kept."""

    def __init__(self) -> None:
        self.edges = self.shown = self.diverged = 0
        self.nearest: tuple[bool, int, StateGraph, Hop, str] | None = None

    def add(self, kind: str, known: Known, hop: Hop) -> None:
        self.edges += kind != Kind.NOT_ASKED
        self.shown += kind in SHOWN
        self.diverged += kind == Kind.DIVERGED
        self._keep_nearest(kind not in SHOWN, known, hop)

    def _keep_nearest(self, hidden: bool, known: Known, hop: Hop) -> None:  # noqa: FBT001
        """Of those that were shown, if any was, the nearest; within a space that is the first."""
        if self.nearest is not None:
            was_hidden, steps, graph, _, _ = self.nearest
            if (graph is known.graph and hidden >= was_hidden) or (hidden and not was_hidden):
                return
            if hidden == was_hidden and len(known.graph.path(hop.node)) >= steps:
                return
        self.nearest = (hidden, len(known.graph.path(hop.node)), known.graph, hop, known.name)


def reasoned(spaces: tuple[Known, ...]) -> list[Reasoned]:
    """The arrows of all spaces together."""
    tallies: dict[Arrow, dict[str, _Tally]] = {}
    for known in spaces:
        profile, nodes = known.space.instance.profile, known.space.nodes
        kinds = iter(known.saved.edge_kinds)
        for node, edges in enumerate(known.space.edges):
            before = state_of(nodes[node])
            for place, (edge, kind) in enumerate(zip(edges, kinds, strict=False)):
                after = state_of(nodes[edge.target])
                for arrow, rule in passed(profile, before, after, edge.fired):
                    tally = tallies.setdefault(arrow, {}).setdefault(rule, _Tally())
                    tally.add(kind, known, Hop(node, place))
    times: Counter[str] = Counter()
    for known in spaces:
        times.update(known.saved.arrows)
    return [
        _reasoned(arrow, reasons, spaces)._replace(times=times[str(arrow)])
        for arrow, reasons in tallies.items()
    ]


def _reasoned(arrow: Arrow, tallies: dict[str, _Tally], spaces: tuple[Known, ...]) -> Reasoned:
    rules = PROFILES[spaces[0].space.instance.profile.name].rules
    reasons = [
        Reason(rules[rule], tally.edges, tally.shown, tally.diverged, _witness(tally))
        for rule, tally in tallies.items()
    ]
    return Reasoned(arrow, tuple(sorted(reasons, key=lambda reason: -reason.edges)))


def _witness(tally: _Tally) -> Witness:
    if tally.nearest is None:
        return Witness("", shown=False, steps=())
    hidden, _, graph, hop, name = tally.nearest
    taken = along(graph.space, graph.witness(hop))
    names = letters(tuple(step.given for step in taken))
    steps = []
    for number, (given, outcome) in enumerate(taken, 1):
        lines = [step_in_words(given, names)]
        for request_id, body in outcome.responses:
            to = "" if request_id == number else f"(to step {request_id}) "
            lines.append(f"<- {to}{answer_in_words(body, names)}")
        steps.append(bounded("; ".join(lines)))
    return Witness(name, not hidden, tuple(steps))
