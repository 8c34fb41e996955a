"""The canonical form of a finding: one sequence, whatever generator found it.

The shrinker ends with one of many shortest sequences; which one depends on the first. So the traces
of the state graphs are tried again, in an order that depends on the model alone, up to the length
of the finding. The first that ends in the finding is its canonical form. A finding under broker
settings that no explored instance has may be shorter there. It still gets a trace of an explored
instance, even a longer one: otherwise a bug would have a sequence for each setting. A finding that
no explored instance shows is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several
from itertools import islice, pairwise

from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.exploration import Transition
from groupcheck.model.engine.graph import StateGraph
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.findings.shrink import Trial, Way, way_to
from groupcheck.properties.input_kinds import kind_of
from groupcheck.properties.sequence import Sequence, well_formed

# The traces of each graph that are tried, and the steps by which a finding under other settings may
# grow.
MOST_WAYS = 96
MOST_LONGER = 4


def canonicalise(finding: Finding, trial: Trial, graphs: Several[StateGraph]) -> Finding:
    """The finding with the first trace of the graphs that ends in it; unchanged if none does."""
    if finding.is_the_end:
        return finding
    length = len(finding.sequence.steps)
    found = trial(_tried(finding, graphs, range(length + 1)))
    if found is None and finding.sequence.broker not in [g.space.instance.broker for g in graphs]:
        for longer in range(length + 1, length + 1 + MOST_LONGER):
            found = trial(_tried(finding, graphs, range(longer, longer + 1)))
            if found is not None:
                break
    return found or finding


def _tried(finding: Finding, graphs: Several[StateGraph], lengths: range) -> list[Sequence]:
    """The traces of the graphs with one of these lengths, the shortest first."""
    ways = [way for g in graphs for way in islice(_ways(finding, g, lengths), MOST_WAYS)]
    ways.sort(key=lambda way: (len(way.sequence.steps), way.forks))
    return [way.excusing(finding).sequence for way in ways]


def _ways(finding: Finding, graph: StateGraph, lengths: range) -> Iterator[Way]:
    """The traces to every transition that may show the finding, the nearest nodes first."""
    for node, edges in enumerate(graph.space.edges):
        wanted = dict.fromkeys(edge.given for edge in edges if _may_show(finding, edge))
        passes = _passes(graph, node) if wanted else []
        for given in wanted:
            if _steps(passes, given) in lengths:
                way = way_to(graph, node, given)
                if well_formed(way.sequence.steps):
                    yield way


def _may_show(finding: Finding, edge: Transition) -> bool:
    """Whether a transition applies the rule of the finding, or has its kind of last step.

    The rule decides if there is one: time or a joining member may end the same join phase.
    """
    if finding.reason:
        return finding.reason in edge.applied
    return kind_of(edge.given)[0] == kind_of(finding.sequence.steps[-1])[0]


def _passes(graph: StateGraph, node: int) -> list[bool]:
    """For each step to a node, whether it is an advance of time."""
    return [isinstance(graph.edge(transition).given, Advance) for transition in graph.path(node)]


def _steps(passes: list[bool], last: Input) -> int:
    """The steps of such a trace with a last one, consecutive advances counted once."""
    passes = [*passes, isinstance(last, Advance)]
    return len(passes) - sum(one and other for one, other in pairwise(passes))
