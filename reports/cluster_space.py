"""An explored instance of a cluster: counts, the promises, and sequences, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from groupcheck.model.brokers import DELIVER, HANDLE, ClusterInput
from groupcheck.model.cluster.promises import promises
from groupcheck.model.cluster.specification import Brokers
from groupcheck.model.cluster.state import Cluster
from groupcheck.model.cluster.step import existing
from groupcheck.model.engine.checking import Violation, violations
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.reports.formatting import bounded_lines, counted
from groupcheck.reports.violations import violation_lines


class ClusterSpace(NamedTuple):
    """An explored instance, and the promises that do not hold in it."""

    name: str
    space: StateSpace
    violations: Sequence[Violation]

    @classmethod
    def of(cls, name: str, space: StateSpace) -> ClusterSpace:
        """The instance with its promises checked."""
        return cls(name, space, violations(space, promises(space.instance.settings)))


def verdict(run: ClusterSpace) -> str:
    """The verdict in one line."""
    if run.violations:
        return f"{counted(len(run.violations), 'promise')} violated"
    return "the promises hold"


def space_text(run: ClusterSpace) -> str:
    """The result for a terminal."""
    space = run.space
    instance: Brokers = space.instance
    settings = instance.settings
    what = (
        counted(settings.brokers, "broker"),
        counted(len(settings.topics), "topic"),
        counted(settings.faults, "fault"),
        counted(settings.requests, "request"),
    )
    counts = (
        counted(len(space.nodes), "state"),
        counted(space.transition_count, "transition"),
        f"depth {space.depth}",
    )
    lines = [
        f"instance   {run.name}: {', '.join(what)}, as Kafka {settings.version} with ZooKeeper",
        f"explored   {', '.join(counts)}",
    ]
    broken = {each.property: each for each in run.violations}
    lines += [
        f"{'violated' if each in broken else 'holds':<10} {each.words}"
        for each in promises(settings)
    ]
    lines += violation_lines(run.violations, partial(_steps, StateGraph(space)))
    return bounded_lines([*lines, "", f"verdict    {verdict(run)}"])


def _steps(graph: StateGraph, path: Sequence[TransitionReference], first: int) -> Iterator[str]:
    for number, reference in enumerate(path, first):
        edge = graph.edge(reference)
        did = step_text(graph.space.nodes[reference.node], edge.given)
        yield f"  {number}. {did} [{', '.join(edge.applied)}]"


def step_text(state: Cluster, given: ClusterInput) -> str:
    """A step of a cluster in words, with the event or the request that it is about."""
    if given.name == HANDLE:
        return f"broker {given.broker} handles {state.broker(given.broker).queue[0].name}"
    if given.name == DELIVER:
        controller = existing(state.broker(given.sender).controller)
        api = controller.channels[given.broker - 1][0].api
        return f"broker {given.broker} handles {api} of broker {given.sender}"
    return str(given) if given.request is None else f"{given}: {given.request.api}"


def space_json(run: ClusterSpace) -> dict[str, Any]:
    """The result as JSON."""
    space = run.space
    graph = StateGraph(space)
    return {
        "instance": run.name,
        "settings": space.instance.settings._asdict(),
        "states": len(space.nodes),
        "transitions": space.transition_count,
        "depth": space.depth,
        "verdict": verdict(run),
        "violations": [
            {
                "property": each.property.words,
                "path": [_step(graph, reference) for reference in each.path],
                "cycle": [_step(graph, reference) for reference in each.cycle],
            }
            for each in run.violations
        ],
    }


def _step(graph: StateGraph, reference: TransitionReference) -> dict[str, Any]:
    edge = graph.edge(reference)
    did = step_text(graph.space.nodes[reference.node], edge.given)
    return {"step": did, "rules": list(edge.applied)}
