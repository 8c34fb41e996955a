"""The specification of a cluster: which inputs are possible, and what each of them does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from groupcheck.model.brokers import (
    ANNOUNCE,
    ARRIVE,
    CANCEL,
    CLAIM,
    COMMIT,
    CREATE,
    DELETE,
    DELIVER,
    ELECT,
    EXPAND,
    EXPIRE,
    HANDLE,
    KILL,
    LOAD,
    LOSE,
    MOVE,
    NO_EPOCH,
    NOBODY,
    REASSIGN,
    RENEW,
    SHRINK,
    START,
    Assignment,
    ClusterInput,
    Nodes,
    Partition,
)
from groupcheck.model.cluster import (
    deletion,
    elections,
    environment,
    events,
    machines,
    partition_machine,
    reassignment,
    replica_machine,
    requests,
)
from groupcheck.model.cluster.sources import KC, OLDER, TAGS, VERSION, at
from groupcheck.model.cluster.state import (
    Broker,
    Cluster,
    Controller,
    Coordinator,
    PartitionPhase,
    Replica,
    ReplicaPhase,
    Role,
    Session,
    Settings,
    Topic,
)
from groupcheck.model.cluster.step import (
    WRITES_ISR,
    ClusterStep,
    EventFailedError,
    MovedError,
    existing,
    replaced,
    when,
)
from groupcheck.model.engine.rules import Part, Table, Version, decide, rule, table, version_of
from groupcheck.model.engine.specification import Outcome, Specification

EVENTS: Final[dict[str, Table]] = {**elections.EVENTS, **events.EVENTS}


# The events that do something before they read or write a node, or may not read one.
_WITHOUT_SESSION: Final = (
    "Expire",
    "AlterIsrReceived",
    "PartitionReassignmentIsrChange",
    "TopicDeletionStopReplicaResponseReceived",
)

SESSION: Final = table(
    "event-session",
    "event",
    rule(
        "event/session-ended",
        "ZooKeeper has ended the session, so its reads and writes fail",
        at(KC, 2440, 1914),
        when(
            "its session has ended, and the event begins with a read",
            lambda s, event: s.me.session != Session.LIVE and event.name not in _WITHOUT_SESSION,
        ),
    ),
)
PARTS: Final[tuple[Part, ...]] = (
    *environment.PARTS,
    *elections.PARTS,
    SESSION,
    *events.PARTS,
    *deletion.PARTS,
    machines.FENCED,
    *replica_machine.PARTS,
    *partition_machine.PARTS,
    *reassignment.PARTS,
    *requests.PARTS,
)
VERSIONS: Final = {name: version_of(name, PARTS) for name in TAGS}
RULES: Final = VERSIONS[VERSION]


@dataclass(frozen=True)
class Brokers(Specification):
    """A cluster of brokers and ZooKeeper.

    Args:
        settings: of the instance.
        edited: rules that take the place of those of the version.
    """

    settings: Settings
    edited: Version | None = field(default=None, repr=False, compare=False)

    @property
    def rules(self) -> Version:
        """The rules of the version that the settings name."""
        return self.edited or VERSIONS[self.settings.version]

    @property
    def initial(self) -> Cluster:
        """Stopped brokers and no nodes, or a settled cluster with broker 1 as its controller."""
        return _settled(self.settings) if self.settings.running else _stopped(self.settings)

    def inputs(self, state: Cluster) -> Iterator[ClusterInput]:
        """What can happen: faults, requests of operators, and steps of the cluster itself."""
        yield from _faults(self.settings, state)
        yield from _asked(self.settings, state)
        if self.settings.isr:
            yield from _isrs(self, state)
        yield from _steps(state)

    def successors(self, state: Cluster, given: ClusterInput) -> Iterator[Outcome]:
        """The outcome of an input."""
        step = ClusterStep(self.rules, self.settings, state)
        step.actor = given.broker
        _ACTIONS.get(given.name, _do)(step, given)
        yield Outcome(step.state, (), tuple(step.applied))

    def action(self, given: ClusterInput) -> str:
        """What happens."""
        return given.name


def _do(step: ClusterStep, given: ClusterInput) -> None:
    decide(step, environment.TABLES[given.name], given)


def _handle(step: ClusterStep, _given: ClusterInput) -> None:
    event, *queue = step.me.queue
    step.become(queue=tuple(queue))
    if decide(step, SESSION, event) is None:
        _until_moved(step, EVENTS[event.name], event)


def _until_moved(step: ClusterStep, each: Table, subject: Any) -> None:  # noqa: ANN401
    try:
        decide(step, each, subject)
    except MovedError:
        elections.moved(step)
    except EventFailedError:
        return


def _claim(step: ClusterStep, _given: ClusterInput) -> None:
    try:
        decide(step, elections.CLAIM, None)
    except MovedError:
        elections.moved(step)
    except EventFailedError:
        elections.failed(step)


def _deliver(step: ClusterStep, given: ClusterInput) -> None:
    controller = existing(step.state.broker(given.sender).controller)
    request, *others = controller.channels[given.broker - 1]
    channels = replaced(controller.channels, given.broker - 1, tuple(others))
    step.set_broker(given.sender, controller=controller._replace(channels=channels))
    decide(step, requests.RECEIVE, requests.Received(request, given.sender))


def _take_orphan(step: ClusterStep, given: ClusterInput) -> None:
    orphans = list(step.state.orphans)
    orphans.remove(existing(given.request))
    step.set(orphans=tuple(orphans))


def _arrive(step: ClusterStep, given: ClusterInput) -> None:
    _take_orphan(step, given)
    decide(step, requests.RECEIVE, requests.Received(existing(given.request)))


_ACTIONS: Final[dict[str, Callable[[ClusterStep, ClusterInput], object]]] = {
    START: lambda step, _: decide(step, elections.START, None),
    RENEW: lambda step, _: decide(step, elections.RENEW, None),
    HANDLE: _handle,
    CLAIM: _claim,
    DELIVER: _deliver,
    ARRIVE: _arrive,
    LOSE: _take_orphan,
    LOAD: lambda step, _: decide(step, requests.TASK, None),
}


def _faults(settings: Settings, state: Cluster) -> Iterator[ClusterInput]:
    left = state.faults > 0
    for number, broker in enumerate(state.brokers, 1):
        # A broker whose predecessor's session has not ended cannot start: its id is taken.
        if not broker.running and broker.session == Session.NONE:
            yield ClusterInput(START, number)
        if broker.running and settings.kills and left:
            yield ClusterInput(KILL, number)
        ends = not broker.running or (settings.expires and left)
        if broker.session == Session.LIVE and ends:
            yield ClusterInput(EXPIRE, number)
    if settings.moves and left and state.nodes.controller != NOBODY:
        yield ClusterInput(MOVE)


def _asked(settings: Settings, state: Cluster) -> Iterator[ClusterInput]:
    nodes = state.nodes
    if state.requests > 0:
        for topic, exists in enumerate(nodes.topics):
            kept = settings.groups and topic == requests.GROUPS
            if not exists and not kept:
                yield ClusterInput(CREATE, topic=topic)
            if not nodes.deletions[topic] and not kept:
                yield ClusterInput(DELETE, topic=topic)
            if settings.elects and serving(state):
                yield ClusterInput(ELECT, topic=topic)
        if settings.groups and len(nodes.topics) > requests.CONSUMED:
            numbers = range(1, len(state.brokers) + 1)
            yield from (ClusterInput(COMMIT, b) for b in numbers if _commits(state, b))
        yield from _reassigned(settings, state)


def _reassigned(settings: Settings, state: Cluster) -> Iterator[ClusterInput]:
    for topic, target in enumerate(settings.targets):
        if target and serving(state):
            yield ClusterInput(REASSIGN, topic=topic)
            if settings.cancels:
                yield ClusterInput(CANCEL, topic=topic)


def _isrs(instance: Brokers, state: Cluster) -> Iterator[ClusterInput]:
    """The ISRs that change, and those that leaders announce."""
    writes = WRITES_ISR.holds_in(instance.rules)
    for number, broker in enumerate(state.brokers, 1):
        has_session = broker.running and broker.session == Session.LIVE
        if has_session if writes else serving(state):
            for topic in range(len(state.nodes.topics)):
                yield from _lags(state, number, topic)
        if has_session and broker.changed:
            yield ClusterInput(ANNOUNCE, number)


def serving(state: Cluster) -> bool:
    """Whether the broker in `/controller` runs, and acts as the controller."""
    if state.nodes.controller == NOBODY:
        return False
    broker = state.broker(state.nodes.controller)
    return broker.running and broker.controller is not None and broker.session == Session.LIVE


def _commits(state: Cluster, number: int) -> bool:
    broker, node = state.broker(number), state.nodes.partitions[requests.GROUPS]
    replica = broker.replicas[requests.GROUPS]
    return (
        broker.running
        and broker.coordinator.owns
        and not broker.coordinator.offset
        and broker.leaders[requests.CONSUMED] != 0
        and replica.role == Role.LEADER
        and node is not None
        and node.leader == number
    )


def _lags(state: Cluster, number: int, topic: int) -> Iterator[ClusterInput]:
    """The followers of a leader that fall behind or catch up."""
    broker = state.broker(number)
    replica = broker.replicas[topic]
    if not broker.running or replica.role != Role.LEADER or replica.pending:
        return
    for other in sorted({*replica.assigned, *replica.isr} - {number}):
        if other in replica.isr:
            given = ClusterInput(SHRINK, number, topic, other)
            if state.faults > 0 or not environment.fetches(state, given):
                yield given
        else:
            given = ClusterInput(EXPAND, number, topic, other)
            if environment.fetches(state, given):
                yield given


def _steps(state: Cluster) -> Iterator[ClusterInput]:
    for number, broker in enumerate(state.brokers, 1):
        if broker.running:
            yield from (ClusterInput(name, number) for name in _own_steps(broker))
            for sender, other in enumerate(state.brokers, 1):
                if other.controller is not None and other.controller.channels[number - 1]:
                    yield ClusterInput(DELIVER, number, sender=sender)
    for request in dict.fromkeys(state.orphans):
        if state.broker(request.broker).running:
            yield ClusterInput(ARRIVE, request.broker, request=request)
        yield ClusterInput(LOSE, request.broker, request=request)


def _own_steps(broker: Broker) -> Iterator[str]:
    if broker.session == Session.EXPIRED:
        yield RENEW
    if broker.claiming != NO_EPOCH:
        yield CLAIM
    elif broker.queue:
        yield HANDLE
    if broker.coordinator.tasks:
        yield LOAD


def _stopped(settings: Settings) -> Cluster:
    count, topics = settings.brokers, len(settings.topics)
    nodes = Nodes(
        controller=NOBODY,
        controller_epoch=0,
        brokers=(0,) * count,
        topics=(False,) * topics,
        partitions=(None,) * topics,
        deletions=(False,) * topics,
        assignments=(Assignment(),) * topics,
    )
    broker = Broker(replicas=(Replica(),) * topics, leaders=(0,) * topics)
    return Cluster(nodes, (broker,) * count, (0,) * count, (), settings.faults, settings.requests)


def _settled(settings: Settings) -> Cluster:
    stopped = _stopped(settings)
    count = settings.brokers
    created = range(settings.created)
    partitions = tuple(
        Partition(replicas[0], 0, replicas, 1, 0) if topic in created else None
        for topic, replicas in enumerate(settings.topics)
    )
    nodes = stopped.nodes._replace(
        controller=1,
        controller_epoch=1,
        brokers=(1,) * count,
        topics=tuple(topic in created for topic in range(len(settings.topics))),
        partitions=partitions,
        assignments=tuple(
            Assignment(replicas if topic in created else ())
            for topic, replicas in enumerate(settings.topics)
        ),
    )
    known = tuple(_known(settings, partitions, topic) for topic in range(len(settings.topics)))
    controller = Controller(1, (1,) * count, known, ((),) * count)
    brokers = tuple(
        _running(settings, partitions, number)._replace(
            controller=controller if number == 1 else None
        )
        for number in range(1, count + 1)
    )
    return stopped._replace(
        nodes=nodes, brokers=brokers, registered=(1,) * count, offset=settings.groups
    )


Partitions = tuple[Partition | None, ...]


def _known(settings: Settings, partitions: Partitions, topic: int) -> Topic:
    numbers = range(1, settings.brokers + 1)
    if partitions[topic] is None:
        return Topic(replicas=(ReplicaPhase.NON_EXISTENT,) * settings.brokers)
    assigned = settings.topics[topic]
    phases = tuple(
        ReplicaPhase.ONLINE if number in assigned else ReplicaPhase.NON_EXISTENT
        for number in numbers
    )
    return Topic(
        known=True,
        assigned=assigned,
        leadership=partitions[topic],
        phase=PartitionPhase.ONLINE,
        replicas=phases,
    )


def _running(settings: Settings, partitions: Partitions, number: int) -> Broker:
    replicas = tuple(
        _replica(settings, topic, partition, number) for topic, partition in enumerate(partitions)
    )
    heard = settings.groups or any(replica.role != Role.NONE for replica in replicas)
    leaders = tuple(p.leader if settings.groups and p is not None else 0 for p in partitions)
    owns = settings.groups and replicas[requests.GROUPS].role == Role.LEADER
    return Broker(
        running=True,
        session=Session.LIVE,
        epoch=1,
        watches_controller=True,
        controller_epoch=1 if heard else 0,
        replicas=replicas,
        leaders=leaders,
        coordinator=Coordinator(owns=owns, offset=owns),
    )


def _replica(settings: Settings, topic: int, partition: Partition | None, number: int) -> Replica:
    if partition is None or number not in settings.topics[topic]:
        return Replica()
    if partition.leader == number:
        writes = WRITES_ISR.holds_in(VERSIONS[settings.version])
        return Replica(
            log=True,
            role=Role.LEADER,
            leader_epoch=0,
            isr=partition.isr,
            assigned=settings.topics[topic],
            controller_epoch=partition.controller_epoch if writes else 0,
        )
    return Replica(log=True, role=Role.FOLLOWER, leader_epoch=0)


_BOTH: Final = (1, 2)
MOVED: Final = Settings(topics=((1,),), created=1, targets=((2,),), faults=0, requests=1, isr=True)
"""A topic is reassigned from broker 1 to broker 2."""


# The instances in which the rules of 2.4 differ.
DIFFERENT: Final = (
    "leaders",
    "isr",
    "isr-sessions",
    "deletion",
    "deletions",
    "groups",
    "offsets",
    "reassignment",
    "reassignment-3",
    "reassignment-cancel",
    "reassignment-deletion",
)


def instances() -> dict[str, Brokers]:
    """The model instances by name."""
    found = {
        "election-2": Settings(running=False, moves=True),
        "election-3": Settings(brokers=3, running=False, kills=False, moves=True),
        "leaders": Settings(topics=(_BOTH,), created=1, faults=2),
        "leaders-3": Settings(brokers=3, topics=((1, 2, 3),), created=1, moves=True),
        "unclean": Settings(topics=(_BOTH,), created=1, faults=2, expires=False, unclean=True),
        "isr": Settings(topics=(_BOTH,), created=1, faults=2, expires=False, moves=True, isr=True),
        "isr-sessions": Settings(topics=(_BOTH,), created=1, faults=2, kills=False, isr=True),
        "preferred": Settings(topics=(_BOTH,), created=1, requests=1, elects=True),
        "fencing": Settings(topics=((2,),), created=1, faults=3, kills=False, moves=True),
        "creation": Settings(topics=(_BOTH,), requests=1),
        "deletion": Settings(topics=(_BOTH,), created=1, requests=1),
        "deletion-moves": Settings(
            topics=(_BOTH,), created=1, requests=1, kills=False, expires=False, moves=True
        ),
        "deletions": Settings(topics=((1,), (2,)), created=2, requests=2, expires=False),
        "groups": Settings(topics=(_BOTH,), created=1, requests=1, elects=True, groups=True),
        "offsets": Settings(
            topics=(_BOTH, (1,)), created=2, requests=1, expires=False, groups=True
        ),
        "reassignment": MOVED._replace(faults=1, moves=True),
        "reassignment-3": MOVED._replace(brokers=3, topics=(_BOTH,), targets=((2, 3),)),
        "reassignment-cancel": MOVED._replace(requests=2, cancels=True),
        "reassignment-deletion": MOVED._replace(requests=2),
    }
    older = {f"{name}-{OLDER}": found[name]._replace(version=OLDER) for name in DIFFERENT}
    return {name: Brokers(settings) for name, settings in (found | older).items()}
