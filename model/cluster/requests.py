"""What a broker does with requests of controllers, and the coordinator on it."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.brokers import (
    DURING_DELETE,
    LEADER_AND_ISR,
    NO_EPOCH,
    NO_LEADER,
    STOP_REPLICA,
    UPDATE_METADATA,
    Request,
    TopicRequest,
)
from groupcheck.model.cluster.sources import GMM, KA, RM, at
from groupcheck.model.cluster.state import Coordinator, Event, Replica, Role
from groupcheck.model.cluster.step import (
    STOPS_WITH_EPOCH,
    ClusterStep,
    does,
    existing,
    put,
    replaced,
    when,
)
from groupcheck.model.engine.rules import Effect, Part, Table, decide, rule, single, table

# The topic that has the groups, and the one whose offsets they commit, in instances with groups.
GROUPS: Final = 0
CONSUMED: Final = 1


class Received(NamedTuple):
    """A request at a broker, and the controller to which the answer goes, or 0."""

    request: Request
    sender: int = 0


# The coordinator of groups


def _schedule(step: ClusterStep, task: str, **fields: bool) -> None:
    coordinator = step.me.coordinator
    tasks = (*coordinator.tasks, task)
    step.become(coordinator=coordinator._replace(tasks=tasks, **fields))


ELECTED: Final = table(
    "coordinator-elected",
    "coordinator",
    rule(
        "coordinator/already-loading",
        "the groups are being loaded",
        at(GMM, 540, 531),
        when("it loads the groups or is about to", lambda s, _: s.me.coordinator.loading),
    ),
    rule(
        "coordinator/elected",
        "the broker leads the partition of the groups",
        at(GMM, 538, 529),
        does("schedule loading the groups", lambda s, _: _schedule(s, "load", loading=True)),
    ),
)
RESIGNED: Final = single(
    "coordinator-resigned",
    "coordinator",
    "coordinator/resigned",
    "the broker does not lead the partition of the groups any more",
    at(GMM, 756, 743),
    does("schedule unloading the groups", lambda s, _: _schedule(s, "unload")),
)


def _load(step: ClusterStep) -> None:
    before = step.me.coordinator
    # A broker that does not lead any more reads nothing. GroupMetadataManager.scala:566
    read = step.state.offset and step.replica(GROUPS).role == Role.LEADER
    offset = before.offset if before.owns else read
    step.become(coordinator=Coordinator(before.tasks[1:], owns=True, offset=offset))


def _unload(step: ClusterStep) -> None:
    before = step.me.coordinator
    step.become(coordinator=Coordinator(before.tasks[1:], before.loading))


TASK: Final = table(
    "coordinator-task",
    "coordinator",
    rule(
        "coordinator/loaded",
        "the oldest task is to load the groups",
        at(GMM, 547, 538),
        when("it is to load", lambda s, _: s.me.coordinator.tasks[0] == "load"),
        does("read the groups from the log, and answer for them", lambda s, _: _load(s)),
    ),
    rule(
        "coordinator/unloaded",
        "the oldest task is to unload the groups",
        at(GMM, 765, 752),
        does("forget the groups, and answer NOT_COORDINATOR", lambda s, _: _unload(s)),
    ),
)


def leads_groups(step: ClusterStep) -> bool:
    """Whether what the acting broker writes to the log of the groups is kept.

    It leads, and no other broker has been elected: with another leader, its log is truncated.
    """
    node = step.state.nodes.partitions[GROUPS]
    leads = step.replica(GROUPS).role == Role.LEADER
    return leads and node is not None and node.leader == step.actor


def _forget_offset(step: ClusterStep, *, tombstone: bool) -> None:
    step.become(coordinator=step.me.coordinator._replace(offset=False))
    if tombstone:
        step.set(offset=False)


FORGET_OFFSETS: Final = table(
    "deleted-offsets",
    "coordinator",
    rule(
        "offsets/none",
        "the coordinator knows no offset of the topic",
        at(GMM, 807, 793),
        when("it knows no offset of the topic", lambda s, _: not s.me.coordinator.offset),
    ),
    rule(
        "offsets/deleted",
        "the coordinator knows an offset of the topic, and leads the partition of the groups",
        at(GMM, 825, 811),
        when("it leads the partition of the groups", lambda s, _: leads_groups(s)),
        does("forget it, and write a tombstone", lambda s, _: _forget_offset(s, tombstone=True)),
    ),
    rule(
        "offsets/forgotten",
        "the broker does not lead the partition of the groups any more",
        at(GMM, 862, 848),
        does("forget it", lambda s, _: _forget_offset(s, tombstone=False)),
    ),
)


def _changed(step: ClusterStep, topic: int, groups: Table) -> None:
    if step.settings.groups and topic == GROUPS:
        decide(step, groups, None)


# LeaderAndIsr


def _is_leader(step: ClusterStep, about: TopicRequest) -> bool:
    return about.leader == step.actor


def _lead(step: ClusterStep, about: TopicRequest) -> None:
    before = step.replica(about.topic)
    changed = Replica(
        log=True,
        role=Role.LEADER,
        leader_epoch=about.leader_epoch,
        isr=about.isr,
        version=about.version,
        assigned=about.replicas,
        controller_epoch=about.controller_epoch,
    )
    step.set_replica(about.topic, changed)
    if before.role != Role.LEADER:
        _changed(step, about.topic, ELECTED)


def _follow(step: ClusterStep, about: TopicRequest) -> None:
    changed = Replica(True, Role.FOLLOWER, about.leader_epoch, version=about.version)  # noqa: FBT003
    step.set_replica(about.topic, changed)
    _changed(step, about.topic, RESIGNED)


LEADER: Final = table(
    "leader-and-isr",
    "request",
    rule(
        "leader-and-isr/old",
        "the broker has heard of this leader epoch or a later one",
        at(RM, 1382, 1232),
        when(
            "the leader epoch is not greater than that of the replica",
            lambda s, about: about.leader_epoch <= s.replica(about.topic).leader_epoch,
        ),
    ),
    rule(
        "leader-and-isr/leader",
        "the broker is the leader",
        at(RM, 1537, 1369),
        when("the leader is the broker itself", _is_leader),
        does("lead; load the groups if the partition has them and it did not lead", _lead),
    ),
    rule(
        "leader-and-isr/no-leader",
        "the partition has no leader",
        at(RM, 1625, 1459),
        when("there is no leader", lambda _, about: about.leader == NO_LEADER),
        does(
            "create the log, and stay as it is",
            lambda s, about: s.set_replica(about.topic, s.replica(about.topic)._replace(log=True)),
        ),
    ),
    rule(
        "leader-and-isr/follower",
        "another broker is the leader",
        at(RM, 1617, 1451),
        does("follow; unload the groups if the partition has them", _follow),
    ),
)

# StopReplica


def _delete(step: ClusterStep, about: TopicRequest) -> None:
    step.set_replica(about.topic, Replica())
    _changed(step, about.topic, RESIGNED)


STOP: Final = table(
    "stop-replica",
    "request",
    rule(
        "stop-replica/fenced",
        "the broker has heard of this leader epoch or a later one",
        at(RM, 427),
        when(
            "the broker hosts the replica, and the leader epoch is not greater than its own",
            lambda s, about: (
                s.replica(about.topic).role != Role.NONE
                and about.leader_epoch not in (DURING_DELETE, NO_EPOCH)
                and about.leader_epoch <= s.replica(about.topic).leader_epoch
            ),
        ),
    ),
    rule(
        "stop-replica/deleted",
        "the replica is to be deleted",
        at(RM, 459, 351),
        when("it is to be deleted", lambda _, about: about.delete),
        does("delete the replica; unload the groups if the partition has them", _delete),
    ),
    rule(
        "stop-replica/stopped",
        "a follower is to stop",
        at(RM, 452, 399),
        when("the broker follows", lambda s, about: s.replica(about.topic).role == Role.FOLLOWER),
        does(
            "stop fetching",
            lambda s, about: s.set_replica(
                about.topic, s.replica(about.topic)._replace(role=Role.STOPPED)
            ),
        ),
    ),
    rule("stop-replica/nothing", "the broker does not fetch", at(RM, 452, 399)),
)

# UpdateMetadata


def _know(step: ClusterStep, about: TopicRequest) -> None:
    step.become(leaders=replaced(step.me.leaders, about.topic, about.leader))


def _unknow(step: ClusterStep, about: TopicRequest) -> None:
    step.become(leaders=replaced(step.me.leaders, about.topic, 0))
    if about.topic == CONSUMED:
        decide(step, FORGET_OFFSETS, about)


METADATA: Final = table(
    "update-metadata",
    "request",
    rule(
        "update-metadata/deleted",
        "the topic is being deleted",
        at(KA, 322, 279),
        when("the leader is -2", lambda _, about: about.leader == DURING_DELETE),
        does("forget the topic, and the offsets that groups have committed of it", _unknow),
    ),
    rule(
        "update-metadata/leader",
        "the topic has a leader, or had one",
        at(RM, 1311, 1166),
        does("remember the leader", _know),
    ),
)

_TOPICS: Final = {LEADER_AND_ISR: LEADER, STOP_REPLICA: STOP, UPDATE_METADATA: METADATA}


def _handle(step: ClusterStep, received: Received) -> None:
    request = received.request
    step.become(controller_epoch=request.controller_epoch)
    for about in request.topics:
        decide(step, _TOPICS[request.api], about)


def _answer(step: ClusterStep, received: Received) -> None:
    """The controller learns which replicas of topics that it deletes are deleted."""
    request, sender = received
    if request.api != STOP_REPLICA or not sender:
        return
    controller = existing(step.state.broker(sender).controller)
    topics = tuple(
        about.topic
        for about in request.topics
        if about.delete and controller.topics[about.topic].started
    )
    if topics:
        name = "TopicDeletionStopReplicaResponseReceived"
        put(step, sender, Event(name, broker=request.broker, topics=topics))


_HANDLE: Final[tuple[Effect, ...]] = (
    does("take over the controller epoch, and handle each topic", _handle),
    does("answer; the controller puts an event for deleted replicas", _answer),
)
RECEIVE: Final = table(
    "receive",
    "request",
    rule(
        "request/stale-broker",
        "the request is for an earlier registration of the broker",
        at(KA, 3362, 2909),
        when(
            "the broker epoch is smaller than its own",
            lambda s, received: received.request.broker_epoch < s.me.epoch,
        ),
    ),
    rule(
        "request/stale-controller",
        "the broker has heard of a later controller",
        at(RM, 1339, 1188),
        when(
            "the controller epoch is smaller than the latest one",
            lambda s, received: received.request.controller_epoch < s.me.controller_epoch,
        ),
    ),
    rule("request/handled", "the request is not stale", at(RM, 1342, 1192), *_HANDLE),
)

PARTS: Final[tuple[Part, ...]] = (
    ELECTED,
    RESIGNED,
    TASK,
    FORGET_OFFSETS,
    LEADER,
    STOP,
    METADATA,
    RECEIVE,
    STOPS_WITH_EPOCH,
)
