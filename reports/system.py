"""The whole system explored: counts, the promises, and sequences, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from groupcheck.model.engine.checking import Violation, violations
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.model.engine.specification import LeadsTo
from groupcheck.model.system.promises import ONE_OWNER_AT_ANY_TIME, PROMISES
from groupcheck.model.system.specification import DELIVER, HANDLE, SystemInput, WholeSystem
from groupcheck.model.system.state import Progress, System
from groupcheck.reports.clients import events_text
from groupcheck.reports.formatting import bounded_lines, counted
from groupcheck.reports.violations import violation_lines


class SystemRun(NamedTuple):
    """An explored system, and the properties that do not hold in it.

    What must follow in the end is not checked if the limit of generations has cut off states.
    """

    space: StateSpace
    violations: Sequence[Violation]

    @classmethod
    def of(cls, space: StateSpace) -> SystemRun:
        """The run with the properties checked."""
        limited = cls(space, ()).limited
        checked = [each for each in PROMISES if not (limited and isinstance(each, LeadsTo))]
        return cls(space, violations(space, [*checked, ONE_OWNER_AT_ANY_TIME]))

    @property
    def broken(self) -> list[Violation]:
        """The promises that do not hold."""
        return [each for each in self.violations if each.property in PROMISES]

    @property
    def limited(self) -> bool:
        """Whether the limit of generations has cut off states."""
        instance: WholeSystem = self.space.instance
        return any(node.group().generation_id >= instance.generations for node in self.space.nodes)


def verdict(run: SystemRun) -> str:
    """The verdict in one line."""
    if run.broken:
        return f"{counted(len(run.broken), 'promise')} violated"
    return "the promises hold" + (", up to the limit of generations" if run.limited else "")


def run_text(run: SystemRun) -> str:
    """The result for a terminal."""
    space = run.space
    instance: WholeSystem = space.instance
    generations = max(node.group().generation_id for node in space.nodes)
    of_kafka = f"{counted(instance.consumers, 'consumer')} of Kafka {instance.profile}"
    kind = "cooperative" if instance.cooperative else "eager"
    counts = (
        counted(len(space.nodes), "state"),
        counted(space.transition_count, "transition"),
        f"depth {space.depth}",
        counted(generations, "generation"),
    )
    lines = [
        f"system     {of_kafka}, {kind}, {counted(instance.faults, 'fault')}",
        f"explored   {', '.join(counts)}",
    ]
    found = {each.property: each for each in run.violations}
    for promise in PROMISES:
        unchecked = run.limited and isinstance(promise, LeadsTo)
        result = "violated" if promise in found else "unchecked" if unchecked else "holds"
        lines.append(f"{result:<10} {promise.words}")
    if ONE_OWNER_AT_ANY_TIME in found:
        lines.append(f"broken     {ONE_OWNER_AT_ANY_TIME.words} Kafka does not promise it.")
    lines += violation_lines(run.violations, partial(_steps, StateGraph(space)))
    return bounded_lines([*lines, "", f"verdict    {verdict(run)}"])


def _steps(graph: StateGraph, path: Sequence[TransitionReference], first: int) -> Iterator[str]:
    for number, reference in enumerate(path, first):
        edge = graph.edge(reference)
        group = graph.space.nodes[edge.target].group()
        did = step_text(graph.space.nodes[reference.node], edge.given)
        yield f"  {number}. {did} [{group.state} {group.generation_id}]"
        if edge.responses and (events := events_text(edge.responses[0])) != "nothing":
            yield f"       {events}"


def step_text(state: System, given: SystemInput) -> str:
    """A step of the system in words, with the request or the answer that it is about."""
    if given.name not in (HANDLE, DELIVER):
        return str(given)
    flights = state.consumers[given.consumer].flights
    who = f"consumer {given.consumer + 1}"
    if given.name == DELIVER:
        return f"{who}: {flights[0].answer}"
    handled = next(flight for flight in flights if flight.progress == Progress.SENT)
    return f"{who}: the coordinator handles {handled.api}"


def run_json(run: SystemRun) -> dict[str, Any]:
    """The result as JSON."""
    space = run.space
    graph = StateGraph(space)
    instance: WholeSystem = space.instance
    return {
        "profile": instance.profile,
        "consumers": instance.consumers,
        "cooperative": instance.cooperative,
        "faults": instance.faults,
        "states": len(space.nodes),
        "transitions": space.transition_count,
        "depth": space.depth,
        "limited": run.limited,
        "verdict": verdict(run),
        "violations": [
            {
                "property": each.property.words,
                "promise": each.property in PROMISES,
                "path": [_step(graph, reference) for reference in each.path],
                "cycle": [_step(graph, reference) for reference in each.cycle],
            }
            for each in run.violations
        ],
    }


def _step(graph: StateGraph, reference: TransitionReference) -> str:
    return step_text(graph.space.nodes[reference.node], graph.edge(reference).given)
