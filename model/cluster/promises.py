"""What Kafka promises of a cluster, whatever the rules do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from groupcheck.model.brokers import (
    ARRIVE,
    CLAIM,
    DELIVER,
    EXPAND,
    EXPIRE,
    HANDLE,
    LOAD,
    LOSE,
    NO_LEADER,
    RENEW,
    START,
    ClusterInput,
    Partition,
)
from groupcheck.model.cluster.requests import CONSUMED, GROUPS
from groupcheck.model.cluster.specification import serving
from groupcheck.model.cluster.state import Cluster, Role, Settings
from groupcheck.model.cluster.step import existing
from groupcheck.model.engine.specification import Invariant, LeadsTo, Property, StepInvariant

# States


def _all_differ(values: Iterable[object]) -> bool:
    listed = list(values)
    return len(set(listed)) == len(listed)


def _one_controller(state: Cluster) -> bool:
    return _all_differ(b.controller.epoch for b in state.brokers if b.controller is not None)


def _partitions(state: Cluster) -> Iterable[Partition]:
    return (each for each in state.nodes.partitions if each is not None)


def _leader_in_isr(state: Cluster) -> bool:
    return all(p.leader in p.isr or p.leader == NO_LEADER for p in _partitions(state))


def _one_leader(state: Cluster) -> bool:
    return all(
        _all_differ(
            broker.replicas[topic].leader_epoch
            for broker in state.brokers
            if broker.replicas[topic].role == Role.LEADER
        )
        for topic in range(len(state.nodes.topics))
    )


def _nothing_left(state: Cluster) -> bool:
    nodes = state.nodes
    return all(
        exists or partition is None
        for exists, partition in zip(nodes.topics, nodes.partitions, strict=True)
    )


def _assigned(state: Cluster) -> bool:
    nodes = state.nodes
    return all(
        partition is None or {partition.leader, *partition.isr} <= {NO_LEADER, *assignment.replicas}
        for partition, assignment in zip(nodes.partitions, nodes.assignments, strict=True)
    )


def _has_replica(state: Cluster) -> bool:
    nodes = state.nodes
    return all(
        bool(set(assignment.replicas) - set(assignment.removing)) == exists
        for exists, assignment in zip(nodes.topics, nodes.assignments, strict=True)
    )


ONE_CONTROLLER: Final = Invariant("No two controllers have one epoch.", _one_controller)
LEADER_IN_ISR: Final = Invariant("A leader is in the ISR.", _leader_in_isr)
NO_EMPTY_ISR: Final = Invariant(
    "An ISR is not empty.", lambda state: all(p.isr for p in _partitions(state))
)
ONE_LEADER: Final = Invariant("No two brokers lead a partition with one leader epoch.", _one_leader)
NOTHING_LEFT: Final = Invariant("A topic without a node has no partition.", _nothing_left)

ASSIGNED: Final = Invariant("The leader and the ISR of a partition are replicas of it.", _assigned)
HAS_REPLICA: Final = Invariant("A topic has a replica that is not to be removed.", _has_replica)

# Steps


def _grows(before: Cluster, _given: ClusterInput, after: Cluster) -> bool:
    return after.nodes.controller_epoch >= before.nodes.controller_epoch


def _leader_epochs_grow(before: Cluster, _given: ClusterInput, after: Cluster) -> bool:
    pairs = zip(before.nodes.partitions, after.nodes.partitions, strict=True)
    return all(
        new.leader_epoch > old.leader_epoch or (new.leader, new.leader_epoch) == old[:2]
        for old, new in pairs
        if old is not None and new is not None
    )


def _stale_changes_nothing(before: Cluster, given: ClusterInput, after: Cluster) -> bool:
    """The nodes that a controller writes: topics, partitions and deletions."""
    if given.name != HANDLE:
        return True
    controller = before.broker(given.broker).controller
    stale = controller is None or controller.epoch != before.nodes.controller_epoch
    return not stale or before.nodes[3:] == after.nodes[3:]


def _no_stale_request(before: Cluster, given: ClusterInput, after: Cluster) -> bool:
    """A request of an earlier controller than the broker knows changes nothing there."""
    if given.name not in (DELIVER, ARRIVE):
        return True
    if given.request is not None:
        epoch = given.request.controller_epoch
    else:
        epoch = existing(before.broker(given.sender).controller).epoch
    one, other = before.broker(given.broker), after.broker(given.broker)
    return epoch >= one.controller_epoch or one.replicas == other.replicas


def _clean(before: Cluster, given: ClusterInput, after: Cluster) -> bool:
    """A new leader was in the ISR of the node, or in the one that a leader has asked for since."""
    pairs = zip(before.nodes.partitions, after.nodes.partitions, strict=True)
    return all(
        new.leader in (old.leader, NO_LEADER)
        or new.leader in (*old.isr, *_asked_isr(before, given, topic))
        for topic, (old, new) in enumerate(pairs)
        if old is not None and new is not None
    )


def _asked_isr(before: Cluster, given: ClusterInput, topic: int) -> tuple[int, ...]:
    """The ISR in the AlterIsr that a step handles: the same step may elect another leader."""
    if given.name != HANDLE:
        return ()
    event = before.broker(given.broker).queue[0]
    asked = event.partition is not None and event.topics == (topic,)
    return existing(event.partition).isr if asked else ()


def _is_reassigned(state: Cluster, topic: int) -> bool:
    assignment = state.nodes.assignments[topic]
    return bool(assignment.adding or assignment.removing)


def _starts_deletion(before: Cluster, after: Cluster, topic: int) -> bool:
    return any(
        one.controller is not None
        and other.controller is not None
        and not one.controller.topics[topic].started
        and other.controller.topics[topic].started
        for one, other in zip(before.brokers, after.brokers, strict=True)
    )


def _deletion_waits(before: Cluster, _given: ClusterInput, after: Cluster) -> bool:
    return not any(
        _is_reassigned(after, topic) and _starts_deletion(before, after, topic)
        for topic in range(len(after.nodes.topics))
    )


EPOCHS_GROW: Final = StepInvariant("The controller epoch never goes back.", _grows)
LEADER_EPOCHS_GROW: Final = StepInvariant(
    "A partition gets another leader only with a greater leader epoch.", _leader_epochs_grow
)
FENCED: Final = StepInvariant(
    "A stale controller changes no node of a topic, a partition or a deletion.",
    _stale_changes_nothing,
)
FENCED_REQUESTS: Final = StepInvariant(
    "A request of a stale controller changes no replica.", _no_stale_request
)
CLEAN: Final = StepInvariant("A new leader was in the ISR.", _clean)
DELETION_WAITS: Final = StepInvariant(
    "The deletion of a topic does not start while it is being reassigned.", _deletion_waits
)

# What happens in the end

_GO_ON: Final = (START, RENEW, HANDLE, CLAIM, DELIVER, LOAD)


def _fair(given: ClusterInput) -> tuple[object, ...] | None:
    """The cluster goes on, stopped brokers start, and replicas catch up: each in the end."""
    if given.name in _GO_ON:
        return given.name, given.broker, given.sender
    if given.name in (ARRIVE, LOSE):
        return (given.request,)
    if given.name == EXPAND:
        return given[:4]
    return (EXPIRE, given.broker) if given.name == EXPIRE else None


def _fair_to_the_end(state: Cluster) -> bool:
    return state.faults == 0


def _in_the_end(words: str, settled: Callable[[Cluster], bool]) -> LeadsTo:
    return LeadsTo(words, _fair_to_the_end, settled, _fair)


def _leads(state: Cluster, topic: int) -> bool:
    """Whether a running broker leads the partition with the newest epoch."""
    node = state.nodes.partitions[topic]
    if node is None or node.leader == NO_LEADER:
        return False
    broker = state.broker(node.leader)
    replica = broker.replicas[topic]
    return (
        broker.running and replica.role == Role.LEADER and replica.leader_epoch == node.leader_epoch
    )


def _has_leaders(state: Cluster) -> bool:
    nodes = state.nodes
    return all(
        _leads(state, topic)
        for topic, exists in enumerate(nodes.topics)
        if exists and not nodes.deletions[topic]
    )


def _deletions_end(state: Cluster) -> bool:
    return not any(state.nodes.deletions)


def _reassignments_end(state: Cluster) -> bool:
    return not any(_is_reassigned(state, topic) for topic in range(len(state.nodes.topics)))


def _removed_replicas_are_deleted(state: Cluster) -> bool:
    return not any(
        broker.replicas[topic].log and number not in state.nodes.assignments[topic].replicas
        for number, broker in enumerate(state.brokers, 1)
        for topic, exists in enumerate(state.nodes.topics)
        if exists
    )


def _coordinates(state: Cluster) -> bool:
    node = state.nodes.partitions[GROUPS]
    return _leads(state, GROUPS) and node is not None and state.broker(node.leader).coordinator.owns


def _no_offset_left(state: Cluster) -> bool:
    return state.nodes.topics[CONSUMED] or not state.offset


def _metadata_agree(state: Cluster) -> bool:
    """Whether no running broker answers with a leader of a topic that does not exist."""
    return all(
        exists or broker.leaders[topic] == 0
        for broker in state.brokers
        if broker.running
        for topic, exists in enumerate(state.nodes.topics)
    )


CONTROLLER: Final = _in_the_end("In the end a running broker is the controller.", serving)
LEADERS: Final = _in_the_end("In the end every partition has a leader that runs.", _has_leaders)
DELETED: Final = _in_the_end("In the end no deletion is pending.", _deletions_end)
COORDINATOR: Final = _in_the_end("In the end a broker answers for the groups.", _coordinates)
NO_OFFSET: Final = _in_the_end(
    "In the end a deleted topic has no committed offset.", _no_offset_left
)
METADATA: Final = _in_the_end(
    "In the end no broker has a deleted topic in its metadata.", _metadata_agree
)

REASSIGNED: Final = _in_the_end("In the end no reassignment is in progress.", _reassignments_end)
REMOVED: Final = _in_the_end(
    "In the end no broker has the log of a replica that was removed.", _removed_replicas_are_deleted
)

SAFETY: Final = (
    ONE_CONTROLLER,
    LEADER_IN_ISR,
    NO_EMPTY_ISR,
    ONE_LEADER,
    NOTHING_LEFT,
    EPOCHS_GROW,
    LEADER_EPOCHS_GROW,
    FENCED,
    FENCED_REQUESTS,
    CLEAN,
)


def promises(settings: Settings) -> list[Property]:
    """The promises that are about something that an instance has."""
    kept: list[Property] = [*SAFETY, CONTROLLER]
    if settings.topics:
        kept += [LEADERS, DELETED]
    if settings.targets:
        kept += [ASSIGNED, HAS_REPLICA, DELETION_WAITS, REASSIGNED, REMOVED]
    if settings.groups:
        kept.append(COORDINATOR)
        kept += [NO_OFFSET, METADATA] * (len(settings.topics) > CONSUMED)
    return kept
