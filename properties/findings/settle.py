"""The one form of a finding: from wherever it came, it ends as the same sequence, and the same id.

A shrinker ends with a shortest sequence, and of those there are many: which one depends on where it
began. So the ways of the state graphs are tried once more, in an order that depends on nothing but
the model, up to the length that was come to: the first that ends in the finding is the one that is
told. What was found under settings of the broker that no explored space has may be shorter there,
and is told by a way of the spaces all the same, though it be longer: else one bug would have an id
for each setting it was met under. What no explored space has keeps the form that it was found in.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several
from itertools import islice, pairwise

from groupcheck.model.exploring.explorer import Edge
from groupcheck.model.exploring.graph import StateGraph
from groupcheck.model.state import Advance
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.shrink import Trial, Way, way_to
from groupcheck.properties.sequence import Sequence, well_formed

# So many ways of each graph are tried; and by so many steps may become longer what was found under
# other settings.
MOST_WAYS = 96
MOST_LONGER = 4


def settled(finding: Finding, trial: Trial, graphs: Several[StateGraph]) -> Finding:
    """The finding by the first way of the graphs that ends in it, or as it is if none does."""
    if finding.is_the_end:
        return finding
    length = len(finding.sequence.steps)
    found = trial(_tried(finding, graphs, range(length + 1)), finding.key)
    if found is None and finding.sequence.broker not in [g.space.instance.broker for g in graphs]:
        for longer in range(length + 1, length + 1 + MOST_LONGER):
            found = trial(_tried(finding, graphs, range(longer, longer + 1)), finding.key)
            if found is not None:
                break
    return found or finding


def _tried(finding: Finding, graphs: Several[StateGraph], lengths: range) -> list[Sequence]:
    """The ways of the graphs that have one of these lengths, the shortest first."""
    ways = [way for g in graphs for way in islice(_ways(finding, g, lengths), MOST_WAYS)]
    ways.sort(key=lambda way: (len(way.sequence.steps), way.forks))
    return [way.past(finding).sequence for way in ways]


def _ways(finding: Finding, graph: StateGraph, lengths: range) -> Iterator[Way]:
    """The ways to every labelled edge that may show the finding, the nearest nodes first."""
    for node, edges in enumerate(graph.space.edges):
        wanted = dict.fromkeys(edge.given for edge in edges if _may_show(finding, edge))
        passes = _passes(graph, node) if wanted else []
        for given in wanted:
            if _steps(passes, given) in lengths:
                way = way_to(graph, node, given)
                if well_formed(way.sequence.steps):
                    yield way


def _may_show(finding: Finding, edge: Edge) -> bool:
    """Whether it applies the rule that the finding is against, or is of the same sort as its last.

    By a rule, whatever comes last: time may end a join phase, or a member that joins, and which of
    the two was met is a matter of chance.
    """
    if finding.reason:
        return finding.reason in edge.fired
    return _sort(edge.given) == _sort(finding.sequence.steps[-1])


def _passes(graph: StateGraph, node: int) -> list[bool]:
    """Of each step of the way to a node whether it is that time passes."""
    return [isinstance(graph.edge(hop).given, Advance) for hop in graph.path(node)]


def _steps(passes: list[bool], last: Input) -> int:
    """The steps of such a way and on, if times that pass one after the other are one step."""
    passes = [*passes, isinstance(last, Advance)]
    return len(passes) - sum(one and other for one, other in pairwise(passes))


def _sort(given: Input) -> object:
    return given.api if isinstance(given, Request) else type(given)
