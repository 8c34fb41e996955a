"""Sessions, the election of a controller, and its failover."""

from __future__ import annotations

from typing import Final

from groupcheck.model.brokers import NO_EPOCH, NO_LEADER, NOBODY
from groupcheck.model.cluster.deletion import resume_deletions
from groupcheck.model.cluster.machines import check_epoch
from groupcheck.model.cluster.partition_machine import elect_offline
from groupcheck.model.cluster.reassignment import resume as resume_reassignments
from groupcheck.model.cluster.replica_machine import move_replicas
from groupcheck.model.cluster.sources import KC, KS, ZK, at
from groupcheck.model.cluster.state import (
    Controller,
    Event,
    PartitionPhase,
    ReplicaPhase,
    Session,
    Topic,
)
from groupcheck.model.cluster.step import (
    WRITES_ISR,
    ClusterStep,
    does,
    drop_asked,
    fire_children,
    fire_controller,
    put,
    tries,
    unsent,
    when,
)
from groupcheck.model.engine.rules import Part, Table, decide, rule, single, table

# Registration


def register(step: ClusterStep) -> None:
    """Create the node of the acting broker in `/brokers/ids`."""
    place = step.actor - 1
    count = step.state.registered[place] + 1
    step.set(
        registered=(*step.state.registered[:place], count, *step.state.registered[place + 1 :])
    )
    step.become(epoch=count)
    step.node_at("brokers", place, count)
    fire_children(step, "watches_brokers")


REGISTER: Final = does("create its node in /brokers/ids", lambda s, _: register(s))

START: Final = single(
    "start",
    "session",
    "session/start",
    "a broker starts",
    at(KS, 312, 270),
    does("open a session", lambda s, _: s.become(running=True, session=Session.LIVE, queue=())),
    REGISTER,
    does("put Startup", lambda s, _: put(s, s.actor, Event("Startup"))),
)


def _renew(step: ClusterStep, _given: object) -> None:
    dropped = step.me.queue
    step.become(session=Session.NONE, queue=(Event("Expire"),))
    drop_asked(step, dropped)


RENEW: Final = single(
    "renew",
    "session",
    "session/ended",
    "the broker learns that ZooKeeper has ended its session",
    at(KC, 166, 214),
    does("clear the queue, and put Expire", _renew),
)

# Resignation


def resign(step: ClusterStep) -> None:
    """Forget what a controller knows; its connections end: `onControllerResignation`."""
    channels = step.controller.channels
    step.become(controller=None)
    unsent(step, channels)


_RESIGN: Final = does(
    "resign: forget what it knows, and close the connections to brokers", lambda s, _: resign(s)
)
_ACTIVE: Final = when("it is the controller", lambda s, _: s.me.controller is not None)

RESIGNATION: Final = table(
    "maybe-resign",
    "election",
    rule(
        "election/resign",
        "it is no longer the broker in /controller",
        at(KC, 1488, 1373),
        _ACTIVE,
        when(
            "/controller has another broker, or none",
            lambda s, _: s.state.nodes.controller != s.actor,
        ),
        does("watch /controller", lambda s, _: s.become(watches_controller=True)),
        _RESIGN,
    ),
    rule(
        "election/no-change",
        "it is not the controller, or still is",
        at(KC, 1486, 1371),
        does("watch /controller", lambda s, _: s.become(watches_controller=True)),
    ),
)

# Election

ELECTION: Final = table(
    "elect",
    "election",
    rule(
        "election/known",
        "there is a controller",
        at(KC, 1500, 1385),
        when("/controller exists", lambda s, _: s.state.nodes.controller != NOBODY),
        does("watch /controller", lambda s, _: s.become(watches_controller=True)),
    ),
    rule(
        "election/read",
        "there is no controller",
        at(ZK, 112, 109),
        does(
            "read /controller_epoch",
            lambda s, _: s.become(claiming=s.state.nodes.controller_epoch),
        ),
    ),
)


def _can_claim(step: ClusterStep, _given: object) -> bool:
    nodes = step.state.nodes
    return nodes.controller == NOBODY and nodes.controller_epoch == step.me.claiming


def _claim(step: ClusterStep, _given: object) -> None:
    step.node(controller=step.actor, controller_epoch=step.me.claiming + 1)
    fire_controller(step, "ControllerChange")


_DONE: Final = does("end the election", lambda s, _: s.become(claiming=NO_EPOCH))


def forget_announced(step: ClusterStep) -> None:
    """Watch `/isr_change_notification`, and delete the nodes in it, which fires the watch.

    Raises:
        MovedError: another controller has been elected since.
    """
    step.control(watches_isr=True)
    if step.state.nodes.announced:
        check_epoch(step)
        step.node(announced=())
        fire_children(step, "watches_isr")


def _fail_over(step: ClusterStep, _given: object) -> None:
    """`onControllerFailover`."""
    nodes = step.state.nodes
    topics = tuple(_read(step, number, nodes.brokers) for number in range(len(nodes.topics)))
    channels = ((),) * len(nodes.brokers)
    controller = Controller(nodes.controller_epoch, nodes.brokers, topics, channels)
    step.become(controller=controller)
    if WRITES_ISR(step):
        forget_announced(step)
    # Before the state machines start, UpdateMetadata tells every broker which brokers are live.
    every = [(t, b) for t, topic in enumerate(topics) for b in topic.assigned]
    move_replicas(step, [each for each in every if step.is_live(each[1])], ReplicaPhase.ONLINE)
    move_replicas(step, [each for each in every if not step.is_live(each[1])], ReplicaPhase.OFFLINE)
    _read_partitions(step)
    elect_offline(step)
    resume_reassignments(step)
    resume_deletions(step)


def _read(step: ClusterStep, number: int, live: tuple[int, ...]) -> Topic:
    """What a new controller knows of a topic: `initializeControllerContext`."""
    nodes = step.state.nodes
    exists, queued = nodes.topics[number], nodes.deletions[number]
    assigned, adding, removing = nodes.assignments[number]
    reassigned = bool(adding or removing)
    dead = any(not live[broker - 1] for broker in assigned)
    replicas = tuple(
        ReplicaPhase.NON_EXISTENT
        if broker not in assigned
        else ReplicaPhase.ONLINE
        if epoch
        else ReplicaPhase.DELETION_INELIGIBLE
        for broker, epoch in enumerate(live, 1)
    )
    return Topic(
        exists,
        assigned,
        nodes.partitions[number] if exists else None,
        PartitionPhase.NON_EXISTENT,
        replicas,
        queued,
        started=False,
        ineligible=(dead or reassigned) and queued,
        adding=adding,
        removing=removing,
        reassigned=reassigned,
    )


def _read_partitions(step: ClusterStep) -> None:
    """The phases in which partitions begin: `initializePartitionState`."""
    for number, topic in enumerate(step.controller.topics):
        if not topic.assigned:
            continue
        if topic.leadership is None:
            phase = PartitionPhase.NEW
        elif topic.leadership.leader != NO_LEADER and step.is_live(topic.leadership.leader):
            phase = PartitionPhase.ONLINE
        else:
            phase = PartitionPhase.OFFLINE
        step.set_topic(number, phase=phase)


CLAIM: Final = table(
    "claim",
    "election",
    rule(
        "election/session-ended",
        "ZooKeeper has ended the session meanwhile",
        at(ZK, 146, 143),
        when("its session has ended", lambda s, _: s.me.session != Session.LIVE),
        _DONE,
    ),
    rule(
        "election/won",
        "there is still no controller",
        at(ZK, 139, 136),
        when(
            "/controller does not exist, and /controller_epoch has not changed",
            _can_claim,
        ),
        does("create /controller and raise /controller_epoch in one write", _claim),
        _DONE,
        does(
            "watch and read the nodes; mark live and dead replicas, elect leaders for partitions "
            "without a live one, and go on with reassignments and deletions",
            _fail_over,
        ),
    ),
    rule(
        "election/lost",
        "another broker was elected meanwhile",
        at(ZK, 138, 135),
        _DONE,
        tries("watch /controller", RESIGNATION),
    ),
)


def _trigger_move(step: ClusterStep, _given: object) -> None:
    step.become(watches_controller=True)  # it reads the node
    resign(step)
    step.node(controller=NOBODY)
    fire_controller(step, "Reelect")


FAILED: Final = single(
    "failover-failed",
    "election",
    "election/failed",
    "an exception ends the failover",
    at(KC, 1526, 1412),
    does("watch and read /controller; resign, and delete it", _trigger_move),
)


def failed(step: ClusterStep) -> None:
    """An exception other than ControllerMovedException ends a failover: `triggerControllerMove`."""
    decide(step, FAILED, None)


# Controller events of elections


def _open_session(step: ClusterStep, _given: object) -> None:
    if step.me.controller is not None:
        resign(step)
    step.become(session=Session.LIVE, watches_controller=False)
    put(step, step.actor, Event("RegisterBrokerAndReelect"))


EVENTS: Final[dict[str, Table]] = {
    "Startup": single(
        "Startup",
        "event",
        "event/startup",
        "the broker has started",
        at(KC, 1415, 1284),
        does("watch /controller", lambda s, _: s.become(watches_controller=True)),
        tries("elect", ELECTION),
    ),
    "Reelect": single(
        "Reelect",
        "event",
        "event/reelect",
        "/controller was deleted",
        at(KC, 2359, 1839),
        tries("resign if it is no longer the controller", RESIGNATION),
        tries("elect", ELECTION),
    ),
    "ControllerChange": single(
        "ControllerChange",
        "event",
        "event/controller-change",
        "/controller was created",
        at(KC, 2355, 1835),
        tries("resign if it is no longer the controller", RESIGNATION),
    ),
    "Expire": single(
        "Expire",
        "event",
        "event/expire",
        "the session has ended",
        at(KC, 2369, 1849),
        does(
            "resign, open a session, and put RegisterBrokerAndReelect",
            _open_session,
        ),
    ),
    "RegisterBrokerAndReelect": single(
        "RegisterBrokerAndReelect",
        "event",
        "event/register",
        "the broker has a new session",
        at(KC, 2364, 1844),
        REGISTER,
        tries("resign if it is no longer the controller", RESIGNATION),
        tries("elect", ELECTION),
    ),
}

MOVED: Final = single(
    "moved",
    "event",
    "event/moved",
    "a write of the event was fenced",
    at(KC, 2437, 1911),
    tries("resign if it is no longer the controller", RESIGNATION),
)


def moved(step: ClusterStep) -> None:
    """ControllerMovedException ends an event."""
    decide(step, MOVED, None)


PARTS: Final[tuple[Part, ...]] = (
    START,
    RENEW,
    RESIGNATION,
    ELECTION,
    CLAIM,
    FAILED,
    *EVENTS.values(),
    MOVED,
)
