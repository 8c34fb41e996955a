"""The one shrinker: from a finding to the shortest sequence that still is that finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groupcheck.model.canonical import rename
from groupcheck.model.explorer import Space
from groupcheck.model.graph import Hop, StateGraph
from groupcheck.model.state import Coordinator
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import JoinGroupRequest, Request
from groupcheck.properties.finding import Finding
from groupcheck.properties.sequence import Sequence, symbols_of, well_formed

# Tries sequences on the port; the finding of the first that ends in one with the given key.
Trial = Callable[[list[Sequence], tuple[str, ...]], Finding | None]


def shrink(finding: Finding, trial: Trial, graph: StateGraph | None = None) -> Finding:
    """The smallest finding of the same key that can be reached.

    First the shortest path of the state graph to the state before the last step, if the finding
    came from a space; then steps are left out, in halves, quarters and one by one, until none
    can be spared.
    """
    if graph is not None and (direct := shortest_way(finding, graph)) is not None:
        finding = trial([direct], finding.key) or finding
    size = len(finding.sequence.steps) // 2
    while size:
        smaller = trial(list(without(finding.sequence, size)), finding.key)
        if smaller is None:
            size //= 2
        else:
            finding = smaller
            size = min(size, len(finding.sequence.steps) // 2)
    return finding


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


def shortest_way(finding: Finding, graph: StateGraph) -> Sequence | None:
    """A shortest sequence that brings the model to the finding's last step, if the space has it."""
    space = graph.space
    if finding.before is None:
        return None
    frame = space.frame(finding.before)
    if frame.node not in space.numbers:
        return None
    state, steps = realise(space, graph.path(space.numbers[frame.node]))
    last = finding.sequence.steps[-1]
    if isinstance(last, Request):
        # The same request, from whoever stands in the same place.
        canonical = last._replace(body=rename(last.body, frame.names, -frame.generations_cut))
        last = space.frame(state).restore(canonical, len(steps) + 1)
    found = finding.sequence._replace(steps=(*steps, last))
    return found if well_formed(found.steps) else None


def realise(space: Space, hops: list[Hop]) -> tuple[Coordinator, tuple[Input, ...]]:
    """A path of the graph as concrete inputs, with the state it leads to."""
    instance = space.instance
    state = Coordinator()
    steps: list[Input] = []
    for hop in hops:
        edge = space.edges[hop.node][hop.edge]
        given = edge.given
        if isinstance(given, Request):
            given = space.frame(state).restore(given, len(steps) + 1)
        steps.append(given)
        state = next(
            outcome.coordinator
            for outcome in successors(state, given, instance.profile, instance.config)
            if outcome.fired == edge.fired
            and space.numbers.get(space.frame(outcome.coordinator).node) == edge.target
        )
    return state, tuple(steps)
