"""What operators and faults do to a cluster."""

from __future__ import annotations

from typing import Final

from groupcheck.model.brokers import (
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
from groupcheck.model.cluster.sources import AM, CCM, GMM, KC, PA, ZC, ZK, at
from groupcheck.model.cluster.state import Broker, Cluster, Event, Replica, Role, Session
from groupcheck.model.cluster.step import (
    ClusterStep,
    does,
    drop_asked,
    fire_children,
    fire_controller,
    put,
    unsent,
)
from groupcheck.model.engine.rules import Table, single

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


def _ask(step: ClusterStep, given: ClusterInput, isr: tuple[int, ...]) -> None:
    replica = step.replica(given.topic)
    partition = Partition(step.actor, replica.leader_epoch, isr, 0, replica.version)
    asked = Event("AlterIsrReceived", step.actor, step.me.epoch, (given.topic,), partition)
    put(step, step.state.nodes.controller, asked)
    step.set_replica(given.topic, step.replica(given.topic)._replace(pending=True))


def _shrink(step: ClusterStep, given: ClusterInput) -> None:
    if fetches(step.state, given):
        FAULT.apply(step, None)
    isr = step.replica(given.topic).isr
    _ask(step, given, tuple(each for each in isr if each != given.sender))


def _expand(step: ClusterStep, given: ClusterInput) -> None:
    isr = step.replica(given.topic).isr
    _ask(step, given, (*isr, given.sender))


def _commit(step: ClusterStep, _given: ClusterInput) -> None:
    step.become(coordinator=step.me.coordinator._replace(offset=True))
    step.set(offset=True)


EXPECTS: Final = "ask the controller for the ISR"
TABLES: Final[dict[str, Table]] = {
    KILL: single(
        KILL,
        "environment",
        "environment/kill",
        "its process is killed",
        at(CCM, 188),
        does("keep the logs and the session; lose everything else", _kill),
        FAULT,
    ),
    EXPIRE: single(
        EXPIRE,
        "environment",
        "environment/expire",
        "ZooKeeper has not heard of it for zookeeper.session.timeout.ms",
        at(ZC, 423),
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
        at(ZK, 1054),
        does("delete /controller", lambda s, _: _delete_controller(s)),
        FAULT,
    ),
    CREATE: single(
        CREATE,
        "environment",
        "environment/create",
        "a client asks for it",
        at(AM, 197),
        does("create its node in /brokers/topics", _create),
        REQUEST,
    ),
    DELETE: single(
        DELETE,
        "environment",
        "environment/delete",
        "a client asks for it",
        at(AM, 252),
        does("create its node in /admin/delete_topics", _request_deletion),
        REQUEST,
    ),
    ELECT: single(
        ELECT,
        "environment",
        "environment/elect",
        "a client asks for it",
        at(KC, 2109),
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
        at(PA, 952),
        does(f"{EXPECTS} without it; that is a fault if the replica fetches", _shrink),
    ),
    EXPAND: single(
        EXPAND,
        "environment",
        "environment/expand",
        "a replica has caught up with the leader",
        at(PA, 788),
        does(f"{EXPECTS} with it", _expand),
    ),
    COMMIT: single(
        COMMIT,
        "environment",
        "environment/commit",
        "a group commits an offset",
        at(GMM, 340),
        does("write it to the log of the groups, and remember it", _commit),
        REQUEST,
    ),
}
PARTS: Final = tuple(TABLES.values())
