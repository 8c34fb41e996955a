"""The transitions between group states: the rules that cause them, coverage, and a witness."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from groupcheck.model.classic.exploring.group_graph import Arrow, arrows_of_step, state_of
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.model.engine.rules import VersionRule
from groupcheck.model.engine.trace import trace_of
from groupcheck.properties.coverage.kind import SHOWN, Kind
from groupcheck.reports.explored_graphs import Known
from groupcheck.reports.formatting import counted
from groupcheck.reports.state_graph import Colour, GraphArrow
from groupcheck.reports.steps import answer_line, step_line, trace_steps


class Witness(NamedTuple):
    """A shortest trace to a transition: its instance, and its steps as text."""

    instance: str
    covered: bool
    steps: tuple[str, ...]


class Reason(NamedTuple):
    """A rule that causes a group transition, with the numbers of all and of covered transitions."""

    rule: VersionRule
    transitions: int
    covered: int
    diverged: int
    witness: Witness


class Reasoned(NamedTuple):
    """A group transition with its reasons, the most frequent first; it was taken `times` times."""

    arrow: Arrow
    reasons: tuple[Reason, ...]
    times: int = 0

    @property
    def transitions(self) -> int:
        """The number of transitions, counted once for each reason."""
        return sum(reason.transitions for reason in self.reasons)

    @property
    def covered(self) -> int:
        """The number of them that are covered."""
        return sum(reason.covered for reason in self.reasons)

    @property
    def diverged(self) -> int:
        """The number of them with an answer that is not allowed."""
        return sum(reason.diverged for reason in self.reasons)

    @property
    def colour(self) -> Colour:
        """Violated if any transition is, else covered if any is."""
        if self.diverged:
            return "violated"
        return "covered" if self.covered else "missing"

    @property
    def drawn(self) -> GraphArrow:
        """The arrow of the state graph."""
        rules = tuple(reason.rule.id for reason in self.reasons)
        tooltip = f"{self.covered:,} of {self.transitions:,} transitions covered"
        if self.times:
            tooltip += f", taken {counted(self.times, 'time')}"
        source, target = map(str, self.arrow)
        return GraphArrow(source, target, rules, self.times or self.covered, self.colour, tooltip)


class _Tally:
    """The counts of a reason, and its nearest transition: a covered one if there is any."""

    def __init__(self) -> None:
        self.transitions = self.covered = self.diverged = 0
        self.nearest: tuple[bool, int, StateGraph, TransitionReference, str] | None = None

    def add(self, kind: str, known: Known, transition: TransitionReference) -> None:
        self.transitions += kind != Kind.NOT_ASKED
        self.covered += kind in SHOWN
        self.diverged += kind == Kind.DIVERGED
        self._keep_nearest(kind not in SHOWN, known, transition)

    def _keep_nearest(self, hidden: bool, known: Known, transition: TransitionReference) -> None:  # noqa: FBT001
        """Keep the nearest covered one, or the nearest; within an instance that is the first."""
        if self.nearest is not None:
            was_hidden, steps, graph, _, _ = self.nearest
            if (graph is known.graph and hidden >= was_hidden) or (hidden and not was_hidden):
                return
            if hidden == was_hidden and len(known.graph.path(transition.node)) >= steps:
                return
        self.nearest = (
            hidden,
            len(known.graph.path(transition.node)),
            known.graph,
            transition,
            known.name,
        )


def reasoned(instances: tuple[Known, ...]) -> list[Reasoned]:
    """The group transitions of all instances."""
    tallies: dict[Arrow, dict[str, _Tally]] = {}
    for known in instances:
        profile, nodes = known.space.instance.profile, known.space.nodes
        kinds = iter(known.result.outcomes)
        for node, edges in enumerate(known.space.edges):
            before = state_of(nodes[node])
            for place, (edge, kind) in enumerate(zip(edges, kinds, strict=False)):
                after = state_of(nodes[edge.target])
                for arrow, rule in arrows_of_step(profile, before, after, edge.applied):
                    tally = tallies.setdefault(arrow, {}).setdefault(rule, _Tally())
                    tally.add(kind, known, TransitionReference(node, place))
    times: Counter[str] = Counter()
    for known in instances:
        times.update(known.result.group_transitions)
    return [
        _reasoned(arrow, reasons, instances)._replace(times=times[str(arrow)])
        for arrow, reasons in tallies.items()
    ]


def _reasoned(arrow: Arrow, tallies: dict[str, _Tally], instances: tuple[Known, ...]) -> Reasoned:
    rules = EVERY_PROFILE[instances[0].space.instance.profile.name].rules
    reasons = [
        Reason(rules[rule], tally.transitions, tally.covered, tally.diverged, _witness(tally))
        for rule, tally in tallies.items()
    ]
    return Reasoned(arrow, tuple(sorted(reasons, key=lambda reason: -reason.transitions)))


def _witness(tally: _Tally) -> Witness:
    if tally.nearest is None:
        return Witness("", covered=False, steps=())
    hidden, _, graph, transition, name = tally.nearest
    trace = trace_of(graph.space, graph.witness(transition))
    steps = tuple(
        "; ".join([step_line(step), *(answer_line(answer, number) for answer in step.answers)])
        for number, step in enumerate(trace_steps(trace), 1)
    )
    return Witness(name, not hidden, steps)
