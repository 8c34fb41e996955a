"""Pictures of the state machines of a cluster, drawn from its rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from groupcheck.model.brokers import NO_EPOCH
from groupcheck.model.cluster.machines import changes
from groupcheck.model.cluster.partition_machine import PARTITION
from groupcheck.model.cluster.replica_machine import REPLICA
from groupcheck.model.cluster.specification import instances
from groupcheck.model.cluster.state import Broker, Session
from groupcheck.model.engine.exploration import explore
from groupcheck.reports.state_graph import GraphArrow, as_svg


def partitions() -> str:
    """The state machine of partitions, as SVG."""
    return as_svg(_arrows(changes(PARTITION)), "The states of a partition in a controller")


def replicas() -> str:
    """The state machine of replicas, as SVG."""
    return as_svg(_arrows(changes(REPLICA)), "The states of a replica in a controller")


def brokers() -> str:
    """A broker in the election of a controller, as SVG: what happens in an instance."""
    space = explore(instances()["election-2"])
    found = Counter(
        (source, target, edge.applied[0])
        for number, edges in enumerate(space.edges)
        for edge in edges
        for source, target in zip(
            map(_phase, space.nodes[number].brokers),
            map(_phase, space.nodes[edge.target].brokers),
            strict=True,
        )
        if source != target
    )
    return as_svg(_arrows(each for each, _ in found.most_common()), "A broker in an election")


def _phase(broker: Broker) -> str:
    if not broker.running:
        return "stopped"
    if broker.session != Session.LIVE:
        return "session ended"
    if broker.claiming != NO_EPOCH:
        return "in an election"
    return "not the controller" if broker.controller is None else "controller"


def _arrows(found: Iterable[tuple[str, str, str]]) -> Iterator[GraphArrow]:
    """An arrow between two states has all rules that lead from one to the other."""
    rules: dict[tuple[str, str], list[str]] = {}
    for source, target, rule in found:
        rules.setdefault((str(source), str(target)), []).append(rule)
    for (source, target), reasons in rules.items():
        if source != target:
            yield GraphArrow(source, target, tuple(reasons), 1)
