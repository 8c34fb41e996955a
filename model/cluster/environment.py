"""What operators and faults do to a cluster."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.brokers import (
    ANNOUNCE,
    CANCEL,
    COMMIT,
    CREATE,
    DELETE,
    ELECT,
    EXPAND,
    EXPIRE,
    KILL,
    MOVE,
    NOBODY,
    REASSIGN,
    SHRINK,
    Assignment,
    ClusterInput,
    Partition,
)
from groupcheck.model.cluster.sources import AM, CCM, GMM, KC, PA, RM, RU, ZC, ZK, at
from groupcheck.model.cluster.state import Broker, Cluster, Event, Replica, Role, Session
from groupcheck.model.cluster.step import (
    WRITES_ISR,
    ClusterStep,
    does,
    drop_asked,
    fire_children,
    fire_controller,
    put,
    set_state,
    tries,
    unsent,
    watches,
    when,
)
from groupcheck.model.engine.rules import Part, Table, procedure, rule, single, table

FAULT: Final = does("count a fault", lambda s, _: s.set(faults=s.state.faults - 1))
REQUEST: Final = does("count a request", lambda s, _: s.set(requests=s.state.requests - 1))


def _kill(step: ClusterStep, _given: ClusterInput) -> None:
    me = step.me
    channels = () if me.controller is None else me.controller.channels
    step.become(
        **Broker()._asdict()
        | {
            "session": Session.LIVE if me.session == Session.LIVE else Session.NONE,
            "replicas": tuple(Replica(log=each.log) for each in me.replicas),
            "leaders": (0,) * len(me.leaders),
        }
    )
    unsent(step, channels)
    drop_asked(step, me.queue)


def _expire(step: ClusterStep, _given: ClusterInput) -> None:
    running = step.me.running
    step.become(session=Session.EXPIRED if running else Session.NONE)
    if running:
        FAULT.apply(step, None)
    nodes = step.state.nodes
    if nodes.brokers[step.actor - 1]:
        step.node_at("brokers", step.actor - 1, 0)
        fire_children(step, "watches_brokers")
    if nodes.controller == step.actor:
        _delete_controller(step)


def _delete_controller(step: ClusterStep) -> None:
    step.node(controller=NOBODY)
    fire_controller(step, "Reelect")


def _create(step: ClusterStep, given: ClusterInput) -> None:
    step.node_at("topics", given.topic, value=True)
    created = Assignment(step.settings.topics[given.topic])
    step.node_at("assignments", given.topic, created)
    fire_children(step, "watches_topics")


def _request_deletion(step: ClusterStep, given: ClusterInput) -> None:
    step.node_at("deletions", given.topic, value=True)
    fire_children(step, "watches_deletions")


def _request_leader(step: ClusterStep, given: ClusterInput) -> None:
    event = Event("ReplicaLeaderElection", topics=(given.topic,))
    put(step, step.state.nodes.controller, event)


def _request_reassignment(step: ClusterStep, given: ClusterInput) -> None:
    target = step.settings.targets[given.topic] if given.name == REASSIGN else ()
    event = Event("ApiPartitionReassignment", topics=(given.topic,), replicas=target)
    put(step, step.state.nodes.controller, event)


def fetches(state: Cluster, given: ClusterInput) -> bool:
    """Whether the replica of an input fetches from the leader: it runs and has its leader epoch."""
    follower = state.broker(given.sender)
    replica = follower.replicas[given.topic]
    leader = state.broker(given.broker).replicas[given.topic]
    return (
        follower.running
        and replica.role == Role.FOLLOWER
        and replica.leader_epoch == leader.leader_epoch
    )


class Wanted(NamedTuple):
    """An ISR that a leader wants for a topic."""

    topic: int
    isr: tuple[int, ...]


def _ask(step: ClusterStep, given: Wanted) -> None:
    isr = given.isr
    replica = step.replica(given.topic)
    partition = Partition(step.actor, replica.leader_epoch, isr, 0, replica.version)
    asked = Event("AlterIsrReceived", step.actor, step.me.epoch, (given.topic,), partition)
    put(step, step.state.nodes.controller, asked)
    step.set_replica(given.topic, step.replica(given.topic)._replace(pending=True))


def _is_present(step: ClusterStep, given: Wanted) -> bool:
    node = step.state.nodes.partitions[given.topic]
    return node is not None and node.version == step.replica(given.topic).version


def _write_isr(step: ClusterStep, given: Wanted) -> None:
    topic, isr = given
    replica = step.replica(topic)
    version = replica.version + 1
    written = Partition(step.actor, replica.leader_epoch, isr, replica.controller_epoch, version)
    set_state(step, topic, written)
    step.set_replica(topic, replica._replace(isr=isr, version=version))
    step.become(changed=tuple(sorted({*step.me.changed, topic})))


# The answer to a write arrives, so a node with another version does not have what was written.
# Kafka reads it to find that out: checkLeaderAndIsrZkData.
WRITE_ISR: Final = table(
    "isr",
    "environment",
    rule(
        "isr/written",
        "the node has not changed since the leader has heard of it",
        at(PA, None, 1181),
        when("the node has the version that the leader knows", _is_present),
        does("write the node, with the same leader epoch; remember to announce it", _write_isr),
    ),
    rule(
        "isr/version",
        "the node has changed since, or is gone",
        at(PA, None, 1186),
        watches(RU, 40),
    ),
)


ASK: Final = procedure(
    "want-isr",
    "environment",
    "want the ISR",
    does("ask the controller for it with AlterIsr", _ask).only(at(PA, 1394)),
    tries("write it to the node", WRITE_ISR).only(at(PA, None, 1166)),
)


def _shrink(step: ClusterStep, given: ClusterInput) -> None:
    if fetches(step.state, given):
        FAULT.apply(step, None)
    isr = step.replica(given.topic).isr
    ASK(step, Wanted(given.topic, tuple(each for each in isr if each != given.sender)))


def _expand(step: ClusterStep, given: ClusterInput) -> None:
    isr = step.replica(given.topic).isr
    ASK(step, Wanted(given.topic, (*isr, given.sender)))


def _announce(step: ClusterStep, _given: ClusterInput) -> None:
    step.node(announced=(*step.state.nodes.announced, step.me.changed))
    step.become(changed=())
    fire_children(step, "watches_isr")


def _commit(step: ClusterStep, _given: ClusterInput) -> None:
    step.become(coordinator=step.me.coordinator._replace(offset=True))
    step.set(offset=True)


TABLES: Final[dict[str, Table]] = {
    KILL: single(
        KILL,
        "environment",
        "environment/kill",
        "its process is killed",
        at(CCM, 188, 192),
        does("keep the logs and the session; lose everything else", _kill),
        FAULT,
    ),
    EXPIRE: single(
        EXPIRE,
        "environment",
        "environment/expire",
        "ZooKeeper has not heard of it for zookeeper.session.timeout.ms",
        at(ZC, 423, 420),
        does(
            "delete its node in /brokers/ids, and /controller if it has its id; that is a fault if "
            "the broker runs",
            _expire,
        ),
    ),
    MOVE: single(
        MOVE,
        "environment",
        "environment/move",
        "an operator has deleted it",
        at(ZK, 1054, 1058),
        does("delete /controller", lambda s, _: _delete_controller(s)),
        FAULT,
    ),
    CREATE: single(
        CREATE,
        "environment",
        "environment/create",
        "a client asks for it",
        at(AM, 197, 150),
        does("create its node in /brokers/topics", _create),
        REQUEST,
    ),
    DELETE: single(
        DELETE,
        "environment",
        "environment/delete",
        "a client asks for it",
        at(AM, 252, 227),
        does("create its node in /admin/delete_topics", _request_deletion),
        REQUEST,
    ),
    ELECT: single(
        ELECT,
        "environment",
        "environment/elect",
        "a client asks for it",
        at(KC, 2109, 1737),
        does("put ReplicaLeaderElection", _request_leader),
        REQUEST,
    ),
    REASSIGN: single(
        REASSIGN,
        "environment",
        "environment/reassign",
        "a client asks for it",
        at(KC, 2124, 1747),
        does("put ApiPartitionReassignment with the target", _request_reassignment),
        REQUEST,
    ),
    CANCEL: single(
        CANCEL,
        "environment",
        "environment/cancel",
        "a client asks for it",
        at(KC, 2124, 1747),
        does("put ApiPartitionReassignment without a target", _request_reassignment),
        REQUEST,
    ),
    SHRINK: single(
        SHRINK,
        "environment",
        "environment/shrink",
        "a replica has not caught up for replica.lag.time.max.ms",
        at(PA, 952, 834),
        does(f"{ASK.words} without it; that is a fault if the replica fetches", _shrink),
    ),
    EXPAND: single(
        EXPAND,
        "environment",
        "environment/expand",
        "a replica has caught up with the leader",
        at(PA, 788, 684),
        does(f"{ASK.words} with it", _expand),
    ),
    COMMIT: single(
        COMMIT,
        "environment",
        "environment/commit",
        "a group commits an offset",
        at(GMM, 340, 328),
        does("write it to the log of the groups, and remember it", _commit),
        REQUEST,
    ),
    ANNOUNCE: single(
        ANNOUNCE,
        "environment",
        "environment/announce",
        "the broker has written an ISR",
        at(RM, None, 294),
        does("create a node in /isr_change_notification with the topics", _announce),
    ),
}
PARTS: Final[tuple[Part, ...]] = (*TABLES.values(), WRITE_ISR, ASK, WRITES_ISR)
