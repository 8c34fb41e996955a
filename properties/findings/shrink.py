"""Shrinks a finding to a shortest sequence with the same cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Several
from typing import Any, NamedTuple

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.rules.timers import due_next
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.minimising import minimised
from groupcheck.model.engine.trace import inputs_to
from groupcheck.model.vocabulary import JoinGroupRequest, Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.merge_steps import advances_merged, shorter_forms
from groupcheck.properties.sequence import Sequence, symbols_of, well_formed

# Tries sequences on the port; the first finding with the same cause, if any.
Trial = Callable[[list[Sequence]], Finding | None]

# The number of other traces to a finding that are tried, the shortest first.
WAYS = 48


def shrink(finding: Finding, trial: Trial, graphs: Several[StateGraph] = ()) -> Finding:
    """The smallest finding with the same cause.

    Tries shorter traces of the state graphs first: to the state before the last step, and to any
    transition that applies the rule of the finding. Then removes steps, in halves, quarters and one
    by one, and replaces two steps by one, until every step is needed. Last, tries simpler settings
    and lists, and shortens an advance of time at the end.
    """
    if finding.is_the_end:
        return finding
    ways = sorted(
        (way for graph in graphs for way in other_ways(finding, graph)),
        key=lambda way: (len(way.sequence.steps), way.forks),
    )
    shorter = [w.sequence for w in ways if len(w.sequence.steps) < len(finding.sequence.steps)]
    found: Finding | None = trial(shorter[:WAYS]) or finding
    while found is not None:
        finding = _without_unneeded(found, trial)
        steps = len(finding.sequence.steps)
        others = (advances_merged(finding.sequence), *shorter_forms(finding.sequence))
        found = trial([other for other in others if len(other.steps) < steps])
    while found := trial(list(simpler(finding.sequence, graphs))):
        finding = found
    return trial(list(sooner(finding))) or finding


def simpler(sequence: Sequence, graphs: Several[StateGraph] = ()) -> Iterator[Sequence]:
    """The sequence without a setting of the broker, or without an element of a list of a request.

    The settings of the graphs stay: a broker on a real clock has them, and cannot change them.
    """
    kept = {name for graph in graphs for name in graph.space.instance.broker}
    for left_out in sorted(sequence.broker.keys() - kept) if graphs else ():
        broker = {name: value for name, value in sequence.broker.items() if name != left_out}
        yield sequence._replace(broker=broker)
    for number, step in enumerate(sequence.steps):
        before, after = sequence.steps[:number], sequence.steps[number + 1 :]
        for shorter in _with_shorter_lists(step):
            yield sequence._replace(steps=(*before, shorter, *after))


def _with_shorter_lists(value: Any) -> Iterator[Any]:  # noqa: ANN401 - any record or field
    """The value without one of the elements, for each list in it that has several, at any depth."""
    if hasattr(value, "_fields"):
        for field, inside in zip(value._fields, value, strict=True):
            for shorter in _with_shorter_lists(inside):
                yield value._replace(**{field: shorter})
    elif isinstance(value, tuple):
        for number, element in enumerate(value):
            before, after = value[:number], value[number + 1 :]
            if before or after:
                yield (*before, *after)
            for shorter in _with_shorter_lists(element):
                yield (*before, shorter, *after)


def _without_unneeded(finding: Finding, trial: Trial) -> Finding:
    """The finding without unneeded steps, each with its dependents."""

    def tried(candidates: Iterator[tuple[Input, ...]]) -> Finding | None:
        return trial(list(fair(finding.sequence, candidates)))

    return minimised(finding, lambda found: found.sequence.steps, tried)


class Way(NamedTuple):
    """A trace to a finding; `forks` counts the steps with several allowed outcomes."""

    sequence: Sequence
    forks: int

    def excusing(self, finding: Finding) -> Way:
        """The same trace, with the deviations of the other one."""
        deviations = finding.sequence.deviations
        return self._replace(sequence=self.sequence._replace(deviations=deviations))


def other_ways(finding: Finding, graph: StateGraph) -> list[Way]:
    """Traces of a graph that may end in the finding, roughly the shortest first."""
    space, last = graph.space, finding.sequence.steps[-1]
    ways: list[Way] = []
    if finding.before is not None:
        form = space.canonical(finding.before)
        if isinstance(last, Request):
            # The same request from the member in the same position.
            last = last._replace(body=rename(last.body, form.names, -form.generation_offset))
        if form.node in space.numbers:
            ways.append(way_to(graph, space.numbers[form.node], last))
    for node, edges in enumerate(space.edges):
        if len(ways) >= WAYS:
            break
        given_there = dict.fromkeys(edge.given for edge in edges if finding.reason in edge.applied)
        ways += [way_to(graph, node, given) for given in given_there]
    return [way.excusing(finding) for way in ways if well_formed(way.sequence.steps)]


def way_to(graph: StateGraph, node: int, last: Input) -> Way:
    """A shortest trace to a node, followed by an input."""
    space = graph.space
    transitions = graph.path(node)
    state, steps = inputs_to(space, transitions)
    branches = sum(edge.given == last for edge in space.edges[node])
    forks = (branches > 1) + sum(
        sum(edge.given == graph.edge(transition).given for edge in space.edges[transition.node]) > 1
        for transition in transitions
    )
    if isinstance(last, Request):
        last = space.canonical(state).restore(last, len(steps) + 1)
    instance = space.instance
    return Way(
        advances_merged(Sequence(instance.profile.name, instance.broker, (*steps, last))), forks
    )


def sooner(finding: Finding) -> Iterator[Sequence]:
    """If an advance is last: the sequence with shorter advances, up to each expiry of a timer."""
    *steps, last = finding.sequence.steps
    if finding.before is None or not isinstance(last, Advance):
        return
    profile, passed_ms = finding.sequence.model, 0
    config, state = Config.of(finding.sequence.broker), finding.before
    while due := due_next(state, last.ms - passed_ms):
        passed_ms += due[0].left_ms
        # A timer that is late may fire at any time.
        if due[0].left_ms <= 0 or passed_ms >= last.ms:
            return
        yield finding.sequence._replace(steps=(*steps, Advance(passed_ms)))
        outcomes = successors(state, Advance(due[0].left_ms), profile, config)
        if not outcomes:  # rules with deviations may have none
            return
        state = outcomes[0].coordinator


def fair(sequence: Sequence, candidates: Iterable[tuple[Input, ...]]) -> Iterator[Sequence]:
    """The sequences that clients can send, without the dependents of what was removed."""
    for steps in map(_without_orphans, candidates):
        if steps[-1:] == sequence.steps[-1:] and well_formed(steps):
            yield sequence._replace(steps=steps)


def _without_orphans(steps: tuple[Input, ...]) -> tuple[Input, ...]:
    """The steps without those that use the member id of a removed JoinGroup."""
    joined = {
        f"#{s.request_id}"
        for s in steps
        if isinstance(s, Request) and isinstance(s.body, JoinGroupRequest) and not s.body.member_id
    }
    return tuple(
        s for s in steps if not isinstance(s, Request) or joined.issuperset(symbols_of(s.body))
    )
