"""The controller events about brokers, topics and leaders."""

from __future__ import annotations

from typing import Final

from groupcheck.model.brokers import Partition
from groupcheck.model.cluster.deletion import (
    delete_request,
    fail_deletion,
    forget_topic,
    mark_ineligible,
    replicas_of,
    resume_deletions,
    resume_for,
)
from groupcheck.model.cluster.elections import forget_announced
from groupcheck.model.cluster.partition_machine import elect_offline, move_partitions
from groupcheck.model.cluster.reassignment import CAUGHT_UP, READ_REASSIGNED, REQUESTED
from groupcheck.model.cluster.reassignment import resume as resume_reassignments
from groupcheck.model.cluster.replica_machine import move_replicas
from groupcheck.model.cluster.sources import KC, ZK, at
from groupcheck.model.cluster.state import Event, PartitionPhase, ReplicaPhase, Session
from groupcheck.model.cluster.step import (
    ClusterStep,
    answer_asking,
    asked_in_vain,
    asking,
    does,
    existing,
    inform,
    replaced,
    tries,
    unsent,
    watch_state,
    when,
)
from groupcheck.model.engine.rules import (
    Behaviour,
    Effect,
    Guard,
    Part,
    Rule,
    Sources,
    Table,
    decide,
    rule,
    single,
    table,
)

ACTIVE: Final = when("it is not the controller", lambda s, _: s.me.controller is None)


def _ignored(name: str, lines: Sources) -> Rule:
    return rule(name, "the broker is not the controller", lines, ACTIVE)


# Brokers that come and go

Brokers = list[int]


def _changes(step: ClusterStep) -> tuple[Brokers, Brokers, Brokers]:
    """The brokers that are new, that have registered again, and that are gone."""
    pairs = list(enumerate(zip(step.state.nodes.brokers, step.controller.live, strict=True), 1))
    new = [number for number, (now, known) in pairs if now and not known]
    bounced = [number for number, (now, known) in pairs if now and known and now > known]
    dead = [number for number, (now, known) in pairs if known and not now]
    return new, bounced, dead


def _connect(step: ClusterStep, numbers: Brokers) -> None:
    """Close the connections to brokers that are gone or have registered again."""
    channels = step.controller.channels
    ended = [channels[number - 1] for number in numbers]
    for number in numbers:
        step.control(channels=replaced(step.controller.channels, number - 1, ()))
    unsent(step, ended)


def _add_live(step: ClusterStep, numbers: Brokers) -> None:
    for number in numbers:
        live = replaced(step.controller.live, number - 1, step.state.nodes.brokers[number - 1])
        step.control(live=live)


def _remove_live(step: ClusterStep, numbers: Brokers) -> None:
    for number in numbers:
        step.control(live=replaced(step.controller.live, number - 1, 0))


def _replicas_on(step: ClusterStep, numbers: Brokers) -> list[tuple[int, int]]:
    everything = range(len(step.controller.topics))
    return [each for each in replicas_of(step, everything) if each[1] in numbers]


HEARS_OF_DELETIONS: Final = Behaviour(
    "new-brokers-hear-of-deletions",
    "brokers",
    "UpdateMetadata to a new broker has the topics that are to be deleted, too",
    at(KC, None, 418),
)


def _has_leader(step: ClusterStep) -> list[int]:
    all_topics = HEARS_OF_DELETIONS(step)
    return step.topics_where(
        lambda topic: topic.leadership is not None and (all_topics or not topic.queued)
    )


def _on_startup(step: ClusterStep, numbers: Brokers) -> None:
    """`onBrokerStartup`. UpdateMetadata to the other brokers has no topics."""
    inform(step, numbers, _has_leader(step))
    replicas = _replicas_on(step, numbers)
    move_replicas(step, replicas, ReplicaPhase.ONLINE)
    elect_offline(step)
    resume_reassignments(step, numbers)
    resume_for(step, {topic for topic, _ in replicas})


def _on_failure(step: ClusterStep, numbers: Brokers) -> None:
    """`onReplicasBecomeOffline`."""
    replicas = _replicas_on(step, numbers)
    deleted = [each for each in replicas if step.topic(each[0]).queued]
    offline = step.topics_where(
        lambda topic: (
            topic.leadership is not None
            and not topic.queued
            and not step.is_live(topic.leadership.leader)
        )
    )
    move_partitions(step, offline, PartitionPhase.OFFLINE)
    elect_offline(step)
    others = [each for each in replicas if each not in deleted]
    move_replicas(step, others, ReplicaPhase.OFFLINE)
    fail_deletion(step, deleted)


def _new(step: ClusterStep, numbers: Brokers) -> None:
    _add_live(step, numbers)
    _on_startup(step, numbers)


def _bounced(step: ClusterStep, numbers: Brokers) -> None:
    _dead(step, numbers)
    _new(step, numbers)


def _dead(step: ClusterStep, numbers: Brokers) -> None:
    _remove_live(step, numbers)
    _on_failure(step, numbers)


def _some(words: str) -> Guard:
    return when(words, lambda _, numbers: bool(numbers))


_START: Final = (
    "send LeaderAndIsr to their replicas; elect leaders for new and offline partitions; go on with "
    "reassignments to them, and with the deletion of their topics"
)
_FAIL: Final = (
    "elect leaders for the partitions that they led; take their replicas out of ISRs; halt the "
    "deletion of their topics"
)
NEW: Final = single(
    "new-brokers",
    "brokers",
    "brokers/new",
    "brokers have registered",
    at(KC, 1580, 1441),
    _some("there are new brokers"),
    does(_START, _new),
)
BOUNCED: Final = single(
    "bounced-brokers",
    "brokers",
    "brokers/bounced",
    "brokers have registered again",
    at(KC, 1590, 1445),
    _some("there are brokers with a later registration"),
    does(f"as for brokers that are gone, then as for new ones: {_FAIL}; {_START}", _bounced),
)
DEAD: Final = single(
    "dead-brokers",
    "brokers",
    "brokers/dead",
    "brokers are gone",
    at(KC, 1602, 1451),
    _some("there are brokers whose registration is gone"),
    does(_FAIL, _dead),
)


def _change_brokers(step: ClusterStep, _event: Event) -> None:
    new, bounced, dead = _changes(step)
    _connect(step, [*bounced, *dead])
    step.disconnected = dead  # new brokers are handled before dead ones are forgotten
    for each, numbers in ((NEW, new), (BOUNCED, bounced), (DEAD, dead)):
        decide(step, each, numbers)


# Topics that are created and deleted


def _change_topics(step: ClusterStep, _event: Event) -> None:
    exist = step.state.nodes.topics
    known = [topic.known for topic in step.controller.topics]
    added = [t for t in range(len(exist)) if exist[t] and not known[t]]
    for topic in (t for t in range(len(exist)) if known[t] and not exist[t]):
        forget_topic(step, topic)
    for topic in added:
        step.set_topic(topic, known=True, assigned=step.state.nodes.assignments[topic].replicas)
    if added:
        move_partitions(step, added, PartitionPhase.NEW)
        move_replicas(step, replicas_of(step, added), ReplicaPhase.NEW)
        move_partitions(step, added, PartitionPhase.ONLINE)
        move_replicas(step, replicas_of(step, added), ReplicaPhase.ONLINE)


def _delete_topics(step: ClusterStep, _event: Event) -> None:
    requested = [t for t, exists in enumerate(step.state.nodes.deletions) if exists]
    unknown = [t for t in requested if not step.topic(t).known]
    for topic in unknown:
        delete_request(step, topic)
    known = [t for t in requested if t not in unknown]
    # Before they are queued, so that only the deletion of a topic that is queued already halts.
    mark_ineligible(step, [topic for topic in known if step.topic(topic).reassigned])
    for topic in known:
        step.set_topic(topic, queued=True)
    if known:
        resume_deletions(step)


def _deleted(step: ClusterStep, event: Event) -> None:
    replicas = [
        (topic, event.broker)
        for topic in event.topics
        if step.topic(topic).queued and (topic, event.broker) in replicas_of(step, [topic])
    ]
    move_replicas(step, replicas, ReplicaPhase.DELETION_SUCCESSFUL)
    resume_deletions(step)


# Leaders and ISRs


def _elect_preferred(step: ClusterStep, event: Event) -> None:
    topics = [
        topic
        for topic in event.topics
        if (known := step.topic(topic)).assigned
        and not known.queued
        and known.leadership is not None
        and known.leadership.leader != known.assigned[0]
    ]
    move_partitions(step, topics, PartitionPhase.ONLINE, preferred=True)


def _asked(event: Event) -> Partition:
    return existing(event.partition)


def _known(step: ClusterStep, event: Event) -> Partition | None:
    return step.topic(event.topics[0]).leadership


def _is_desired(step: ClusterStep, event: Event) -> bool:
    asked, known = _asked(event), _known(step, event)
    return known is not None and asked[:3] == known[:3]


def _take_isr(step: ClusterStep, event: Event) -> None:
    partition, replica = existing(_known(step, event)), asking(step, event)
    if replica is not None and partition.version >= replica.version:
        answer_asking(step, event, isr=partition.isr, version=partition.version, pending=False)


def _write_isr(step: ClusterStep, event: Event) -> None:
    asked, topic = _asked(event), event.topics[0]
    changed = asked._replace(controller_epoch=step.controller.epoch, version=asked.version + 1)
    step.node_at("partitions", topic, changed)
    step.set_topic(topic, leadership=changed)


def _is_old(step: ClusterStep, event: Event) -> bool:
    # It exists: with this epoch, no other controller has deleted it.
    node = existing(step.state.nodes.partitions[event.topics[0]])
    return node.version != _asked(event).version


_VAIN: Final = does("the leader asks again if it still needs to", asked_in_vain)
_INFORM: Final = does(
    "send UpdateMetadata to all", lambda s, event: inform(s, s.live(), event.topics)
)
_COMPLETE: Final = tries("complete the reassignment if every target is in sync", CAUGHT_UP)
_ALTER_ISR: Final = table(
    "AlterIsrReceived",
    "event",
    rule(
        "alter-isr/not-controller",
        "the broker is not the controller",
        at(KC, 2256),
        ACTIVE,
        _VAIN,
    ),
    rule(
        "alter-isr/stale-broker",
        "the leader is not live, or has registered again",
        at(KC, 2268),
        when(
            "the registration is not the one that the controller knows",
            lambda s, event: s.controller.live[event.broker - 1] != event.epoch,
        ),
        _VAIN,
    ),
    rule(
        "alter-isr/unknown",
        "the controller does not know a leader of the partition",
        at(KC, 2294),
        when("it knows no leader", lambda s, event: _known(s, event) is None),
    ),
    rule(
        "alter-isr/fenced",
        "the controller has elected another leader since",
        at(KC, 2284),
        when(
            "the leader epoch is smaller than the one that it knows",
            lambda s, event: _asked(event).leader_epoch < existing(_known(s, event)).leader_epoch,
        ),
        _INFORM,
    ),
    rule(
        "alter-isr/desired",
        "the partition has this ISR already",
        at(KC, 2286),
        when("leader, leader epoch and ISR are those that it knows", _is_desired),
        does("the leader takes over ISR and version, unless it has a newer version", _take_isr),
        _INFORM,
        _COMPLETE,
    ),
    rule(
        "alter-isr/session-ended",
        "ZooKeeper has ended the session of the controller",
        at(ZK, 262, 259),
        when("its session has ended", lambda s, _: s.me.session != Session.LIVE),
        _INFORM,
    ),
    rule(
        "alter-isr/moved",
        "another controller has been elected since",
        at(KC, 2334),
        when(
            "/controller_epoch has another version than it expects",
            lambda s, _: s.state.nodes.controller_epoch != s.controller.epoch,
        ),
        _VAIN,
    ),
    rule(
        "alter-isr/version",
        "the node has changed since",
        at(KC, 2318),
        when("the node has another version", _is_old),
        _INFORM,
    ),
    rule(
        "alter-isr/written",
        "the leader asks for another ISR",
        at(KC, 2302),
        does("write the node, with the same leader epoch", _write_isr),
        does("the leader takes over ISR and version, unless it has a newer version", _take_isr),
        _INFORM,
        _COMPLETE,
    ),
)


def _read_isrs(step: ClusterStep, _event: Event) -> None:
    topics = sorted({topic for node in step.state.nodes.announced for topic in node})
    for topic in topics:
        node = step.state.nodes.partitions[topic]
        if node is not None:
            watch_state(step, topic)
            step.set_topic(topic, leadership=node)
    if topics:
        inform(step, step.live(), topics)


def _event(name: str, id_: str, words: str, lines: Sources, *effects: Effect) -> Table:
    return table(
        name, "event", _ignored(f"{id_}-ignored", lines), rule(id_, words, lines, *effects)
    )


EVENTS: Final[dict[str, Table]] = {
    "BrokerChange": _event(
        "BrokerChange",
        "event/broker-change",
        "/brokers/ids has changed",
        at(KC, 1554, 1416),
        does("watch and read it", lambda s, _: s.control(watches_brokers=True)),
        does(
            "close the connections to brokers that are gone or have registered again; handle new, "
            "then returned, then dead brokers",
            _change_brokers,
        ),
    ),
    "TopicChange": _event(
        "TopicChange",
        "event/topic-change",
        "/brokers/topics has changed",
        at(KC, 1627, 1476),
        does("watch and read it", lambda s, _: s.control(watches_topics=True)),
        does("forget deleted topics; start partitions and replicas of new ones", _change_topics),
    ),
    "TopicDeletion": _event(
        "TopicDeletion",
        "event/topic-deletion",
        "/admin/delete_topics has changed",
        at(KC, 1702, 1549),
        does("watch and read it", lambda s, _: s.control(watches_deletions=True)),
        does(
            "delete the requests for unknown topics; halt the deletion of those that were to be "
            "deleted before and are being reassigned; go on with the deletion of the others",
            _delete_topics,
        ),
    ),
    "TopicDeletionStopReplicaResponseReceived": _event(
        "TopicDeletionStopReplicaResponseReceived",
        "event/replica-deleted",
        "a broker has deleted replicas",
        at(KC, 1393, 1262),
        does(
            "move the replicas to ReplicaDeletionSuccessful; go on with deletions",
            _deleted,
        ),
    ),
    "ReplicaLeaderElection": _event(
        "ReplicaLeaderElection",
        "event/preferred-leader",
        "the preferred leader is requested",
        at(KC, 2127, 1761),
        does("elect it, if it does not lead and the topic is not to be deleted", _elect_preferred),
    ),
    "ApiPartitionReassignment": REQUESTED,
    "PartitionReassignmentIsrChange": _event(
        "PartitionReassignmentIsrChange",
        "event/reassigned-isr-change",
        "the node of a partition that was being reassigned has changed",
        at(KC, None, 1676),
        READ_REASSIGNED,
        _COMPLETE,
    ),
    "AlterIsrReceived": _ALTER_ISR,
    "IsrChangeNotification": _event(
        "IsrChangeNotification",
        "event/isr-change",
        "/isr_change_notification has changed",
        at(KC, None, 1711),
        does(
            "read the topics in it; read the nodes of their partitions, and watch those for which "
            "a handler is registered; send UpdateMetadata to all",
            _read_isrs,
        ),
        does(
            "watch /isr_change_notification; delete the nodes in it, which fires the watch",
            lambda s, _: forget_announced(s),
        ),
    ),
}

PARTS: Final[tuple[Part, ...]] = (NEW, BOUNCED, DEAD, *EVENTS.values(), HEARS_OF_DELETIONS)
