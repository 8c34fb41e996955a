"""The one shrinker: from a finding to the shortest sequence that still is that finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Several
from typing import NamedTuple

from groupcheck.model.config import Config
from groupcheck.model.exploring.canonical import rename
from groupcheck.model.exploring.graph import StateGraph
from groupcheck.model.exploring.path import realise
from groupcheck.model.profiles import PROFILES
from groupcheck.model.rules.timers import due_next
from groupcheck.model.state import Advance
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import JoinGroupRequest, Request
from groupcheck.properties.findings.closer import closer, merged
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.sequence import Sequence, symbols_of, well_formed

# Tries sequences on the port; the finding of the first that ends in one with the given key.
Trial = Callable[[list[Sequence], tuple[str, ...]], Finding | None]


# How many other ways to a finding are tried, the shortest first.
WAYS = 48


def shrink(finding: Finding, trial: Trial, graphs: Several[StateGraph] = ()) -> Finding:
    """The smallest finding of the same key that can be reached.

    First the state graphs are asked for shorter ways: to the state before the last step, and to
    any labelled edge that applies the rule the finding is against. Then steps are left out, in
    halves, quarters and one by one, until none can be spared, nor two be made one; last, times that
    pass at the end are no longer than needed.
    """
    if finding.is_the_end:
        return finding
    ways = sorted(
        (way for graph in graphs for way in other_ways(finding, graph)),
        key=lambda way: (len(way.sequence.steps), way.forks),
    )
    shorter = [w.sequence for w in ways if len(w.sequence.steps) < len(finding.sequence.steps)]
    found: Finding | None = trial(shorter[:WAYS], finding.key) or finding
    while found is not None:
        finding = _least(found, trial)
        steps = len(finding.sequence.steps)
        others = (merged(finding.sequence), *closer(finding.sequence))
        found = trial([other for other in others if len(other.steps) < steps], finding.key)
    return trial(list(sooner(finding)), finding.key) or finding


def _least(finding: Finding, trial: Trial) -> Finding:
    """The finding without the steps that can be spared."""
    size = len(finding.sequence.steps) // 2
    while size:
        smaller = trial(list(without(finding.sequence, size)), finding.key)
        if smaller is None:
            size //= 2
        else:
            finding = smaller
            size = min(size, len(finding.sequence.steps) // 2)
    return finding


class Way(NamedTuple):
    """A way to a finding; `forks` counts the steps at which a port is free to go elsewhere."""

    sequence: Sequence
    forks: int

    def past(self, finding: Finding) -> Way:
        """The same, going past what the finding goes past."""
        return self._replace(sequence=self.sequence._replace(past=finding.sequence.past))


def other_ways(finding: Finding, graph: StateGraph) -> list[Way]:
    """Ways of a space that may end in the finding, about the shortest first."""
    space, last = graph.space, finding.sequence.steps[-1]
    ways: list[Way] = []
    if finding.before is not None:
        frame = space.frame(finding.before)
        if isinstance(last, Request):
            # The same request, from whoever stands in the same place.
            last = last._replace(body=rename(last.body, frame.names, -frame.generations_cut))
        if frame.node in space.numbers:
            ways.append(way_to(graph, space.numbers[frame.node], last))
    for node, edges in enumerate(space.edges):
        if len(ways) >= WAYS:
            break
        alike = dict.fromkeys(edge.given for edge in edges if finding.reason in edge.fired)
        ways += [way_to(graph, node, given) for given in alike]
    return [way.past(finding) for way in ways if well_formed(way.sequence.steps)]


def way_to(graph: StateGraph, node: int, last: Input) -> Way:
    """A shortest way of a space to a node, and one input there."""
    space = graph.space
    hops = graph.path(node)
    state, steps = realise(space, hops)
    branches = sum(edge.given == last for edge in space.edges[node])
    forks = (branches > 1) + sum(
        sum(edge.given == graph.edge(hop).given for edge in space.edges[hop.node]) > 1
        for hop in hops
    )
    if isinstance(last, Request):
        last = space.frame(state).restore(last, len(steps) + 1)
    instance = space.instance
    return Way(merged(Sequence(instance.profile.name, instance.broker, (*steps, last))), forks)


def sooner(finding: Finding) -> Iterator[Sequence]:
    """If time passes last: the sequence with less of it, to each moment at which a timer fires."""
    *steps, last = finding.sequence.steps
    if finding.before is None or not isinstance(last, Advance):
        return
    profile, passed_ms = PROFILES[finding.sequence.profile], 0
    config, state = Config.of(finding.sequence.broker), finding.before
    while due := due_next(state.group, last.ms - passed_ms):
        passed_ms += due[0].left_ms
        if passed_ms >= last.ms:
            return
        yield finding.sequence._replace(steps=(*steps, Advance(passed_ms)))
        state = successors(state, Advance(due[0].left_ms), profile, config)[0].coordinator


def without(sequence: Sequence, size: int) -> Iterator[Sequence]:
    """The sequence without each run of `size` steps and what needs them; the last step stays."""
    steps = sequence.steps
    for start in range(0, len(steps) - 1, max(size // 2, 1)):
        kept = list(steps[:start] + steps[min(start + size, len(steps) - 1) :])
        kept = _without_orphans(kept)
        if kept and kept[-1] == steps[-1] and well_formed(kept):
            yield sequence._replace(steps=tuple(kept))


def _without_orphans(steps: list[Input]) -> list[Input]:
    """The steps, less those that use the id of a JoinGroup that is not there."""
    told = {
        f"#{s.request_id}"
        for s in steps
        if isinstance(s, Request) and isinstance(s.body, JoinGroupRequest) and not s.body.member_id
    }
    return [s for s in steps if not isinstance(s, Request) or told.issuperset(symbols_of(s.body))]
