"""The nodes that a specification allows after a sequence, if one is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from groupcheck.model.brokers import COMMIT, Assignment, ClusterInput, Nodes, Partition
from groupcheck.properties.cluster.real.actions import PAUSE, RESUME, Action
from groupcheck.properties.cluster.real.promises import Violation
from groupcheck.properties.cluster.real.views import ClusterView, nodes

# The nodes in which a cluster may settle after these inputs, each done when it had settled after
# the one before. It begins with three brokers that run, broker 1 the controller with epoch 1, and
# no topics; the topics are those of `ASSIGNMENTS`.
# It is None if there are too many to say.
Oracle = Callable[[Sequence[ClusterInput]], Collection[Nodes] | None]

_OF_TOPICS: Final = {
    "topics": "exists",
    "deletions": "to be deleted",
    "assignments": "replicas",
    "partitions": "state",
}


def compared(found: Nodes) -> Nodes:
    """The part of the nodes that is compared.

    Not compared: how often a broker was registered, which depends on how often its client has
    connected, and the versions of the states of partitions, which count writes that change nothing.
    """
    partitions = tuple(
        state and Partition(state.leader, state.leader_epoch, tuple(sorted(state.isr)), 0, 0)
        for state in found.partitions
    )
    brokers = tuple(int(epoch != 0) for epoch in found.brokers)
    return found._replace(brokers=brokers, partitions=partitions)


def inputs_of(actions: Sequence[Action]) -> tuple[ClusterInput, ...] | None:
    """The inputs of a specification; None if an oracle says nothing of such a sequence.

    A commit changes no node. An oracle assumes that the cluster settles after each input, and that
    each broker that runs takes its steps.
    """
    if any(each.at_once or each.given.name in {PAUSE, RESUME} for each in actions):
        return None
    return tuple(each.given for each in actions if each.given.name != COMMIT)


def disallowed(
    oracle: Oracle, inputs: Sequence[ClusterInput], view: ClusterView
) -> list[Violation] | None:
    """A violation unless the oracle allows the nodes of a view after these inputs.

    It is None if the oracle says nothing of these inputs.
    """
    every = oracle(inputs)
    if every is None:
        return None
    allowed = set(map(compared, every))
    found = compared(nodes(view))
    if found in allowed:
        return []
    nearest = sorted(allowed, key=lambda other: len(differences(found, other)))
    if not nearest:
        return [Violation("specification", "the specification allows no nodes")]
    return [Violation("specification", f"not allowed: {'; '.join(differences(found, nearest[0]))}")]


def differences(found: Nodes, allowed: Nodes) -> list[str]:
    """What differs between the nodes that were found and those that are allowed."""
    lines = [
        f"{name.replace('_', ' ')} {_said(seen)} instead of {_said(other)}"
        for name, seen, other in zip(Nodes._fields, found, allowed, strict=True)
        if seen != other and name not in _OF_TOPICS
    ]
    for number in range(len(found.topics)):
        for name, what in _OF_TOPICS.items():
            seen, other = getattr(found, name)[number], getattr(allowed, name)[number]
            if seen != other:
                lines.append(f"topic {number}, {what}: {_said(seen)} instead of {_said(other)}")
    return lines


def _said(value: object) -> str:
    if isinstance(value, Partition):
        isr = " ".join(map(str, value.isr))
        return f"leader {value.leader}, epoch {value.leader_epoch}, ISR {isr}"
    if isinstance(value, Assignment):
        return " ".join(map(str, value.replicas)) or "none"
    if value is None:
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
