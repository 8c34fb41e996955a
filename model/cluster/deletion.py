"""The deletion of topics in a controller: `TopicDeletionManager`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupcheck.model.brokers import Assignment
from groupcheck.model.cluster.machines import check_epoch
from groupcheck.model.cluster.partition_machine import move_partitions
from groupcheck.model.cluster.replica_machine import move_replicas
from groupcheck.model.cluster.sources import CC, TDM, at
from groupcheck.model.cluster.state import PartitionPhase, ReplicaPhase
from groupcheck.model.cluster.step import (
    About,
    ClusterStep,
    EventFailedError,
    does,
    fire_children,
    inform,
    set_state,
    when,
)
from groupcheck.model.engine.rules import (
    Behaviour,
    Part,
    decide,
    procedure,
    rule,
    single,
    table,
)


def replicas_of(step: ClusterStep, topics: Iterable[int]) -> list[tuple[int, int]]:
    """The replicas of topics, as pairs of topic and broker."""
    return [(topic, broker) for topic in topics for broker in step.topic(topic).assigned]


def _in_phase(
    step: ClusterStep, topics: Iterable[int], phase: ReplicaPhase
) -> list[tuple[int, int]]:
    return [
        (topic, broker)
        for topic, broker in replicas_of(step, topics)
        if step.topic(topic).replicas[broker - 1] == phase
    ]


def _all_deleted(step: ClusterStep, about: About) -> bool:
    deleted = _in_phase(step, [about.topic], ReplicaPhase.DELETION_SUCCESSFUL)
    return deleted == replicas_of(step, [about.topic])


def _started(step: ClusterStep, about: About) -> bool:
    return bool(_in_phase(step, [about.topic], ReplicaPhase.DELETION_STARTED))


def _not_to_be_deleted(step: ClusterStep, about: About) -> None:
    step.set_topic(about.topic, queued=False, started=False)


FORGET: Final = procedure(
    "forget-topic",
    "deletion",
    "forget the topic, but not the phases of its partition and replicas",
    does(
        "it is not known",
        lambda s, about: s.set_topic(
            about.topic, known=False, assigned=(), adding=(), removing=(), leadership=None
        ),
    ),
    does("it is not to be deleted", _not_to_be_deleted).only(at(CC, 295)),
)


def forget_topic(step: ClusterStep, topic: int) -> None:
    """Forget a topic: `removeTopic`."""
    FORGET(step, About(topic))


def delete_request(step: ClusterStep, topic: int) -> None:
    """Delete the node in `/admin/delete_topics`, if it exists."""
    check_epoch(step)
    if step.state.nodes.deletions[topic]:
        step.node_at("deletions", topic, value=False)
        fire_children(step, "watches_deletions")


def _complete(step: ClusterStep, about: About) -> None:
    topic = about.topic
    deleted = _in_phase(step, [topic], ReplicaPhase.DELETION_SUCCESSFUL)
    move_replicas(step, deleted, ReplicaPhase.NON_EXISTENT)
    check_epoch(step)
    set_state(step, topic, None)
    if step.state.nodes.topics[topic]:
        step.node_at("topics", topic, value=False)
        step.node_at("assignments", topic, Assignment())
        fire_children(step, "watches_topics")
    delete_request(step, topic)
    forget_topic(step, topic)


QUEUED: Final = when("it is to be deleted", lambda s, about: s.topic(about.topic).queued)
_ALL_DELETED: Final = when("every replica is in ReplicaDeletionSuccessful", _all_deleted)
_NOT_STARTED: Final = when(
    "no replica is in ReplicaDeletionStarted", lambda s, about: not _started(s, about)
)


def _has_unknown_replica(step: ClusterStep, about: About) -> bool:
    return bool(_in_phase(step, [about.topic], ReplicaPhase.NON_EXISTENT))


def _fail(_step: ClusterStep, _about: About) -> None:
    raise EventFailedError


PROGRESS: Final = table(
    "deletion-progress",
    "deletion",
    rule(
        "deletion/unknown-replica",
        "the replica state machine was stuck when the topic was created",
        at(TDM, 328, 337),
        when("a replica has no phase", _has_unknown_replica),
        does("throw NoSuchElementException, which ends the event", _fail),
    ),
    rule(
        "deletion/complete",
        "every replica of the topic is deleted",
        at(TDM, 328, 337),
        _ALL_DELETED,
        does("it is not to be deleted any more", _not_to_be_deleted).only(at(TDM, None, 246)),
        does(
            "forget the replicas, delete the nodes of the topic and of the request, and forget the "
            "topic",
            _complete,
        ),
    ),
    rule(
        "deletion/in-progress",
        "the topic is being deleted",
        at(TDM, 332, 341),
        when("a replica is in ReplicaDeletionStarted", _started),
    ),
    rule(
        "deletion/retry",
        "a replica could not be deleted",
        at(TDM, 336, 345),
        when(
            "a replica is in ReplicaDeletionIneligible",
            lambda s, about: bool(_in_phase(s, [about.topic], ReplicaPhase.DELETION_INELIGIBLE)),
        ),
    ),
)
ELIGIBLE: Final = table(
    "deletion-eligible",
    "deletion",
    rule(
        "deletion/halted",
        "a replica is not live or could not be deleted, or the topic is being reassigned",
        at(TDM, 224, 223),
        QUEUED,
        _NOT_STARTED,
        when("it is ineligible", lambda s, about: s.topic(about.topic).ineligible),
    ),
    rule(
        "deletion/start",
        "the topic is to be deleted",
        at(TDM, 342, 351),
        QUEUED,
        _NOT_STARTED,
    ),
)


ONE_BY_ONE: Final = Behaviour(
    "deletions-one-by-one",
    "deletion",
    "the deletion of a topic goes on before the next topic is looked at",
    at(TDM, None, 354),
)


def resume_deletions(step: ClusterStep) -> None:
    """Go on with the deletion of every topic that is to be deleted.

    Raises:
        MovedError: another controller has been elected since.
        EventFailedError: a replica is unknown, or the session has ended.
    """
    queued = step.topics_where(lambda each: each.queued)
    for topics in [[each] for each in queued] if ONE_BY_ONE(step) else [queued]:
        _resume(step, topics)


def _resume(step: ClusterStep, topics: Iterable[int]) -> None:
    retried, begun = [], []
    for topic in topics:
        about = About(topic)
        progress = decide(step, PROGRESS, about)
        if progress is not None and progress.id == "deletion/retry":
            retried.append(topic)
        eligible = decide(step, ELIGIBLE, about)
        if eligible is not None and eligible.id == "deletion/start":
            begun.append(topic)
    ineligible = _in_phase(step, retried, ReplicaPhase.DELETION_INELIGIBLE)
    move_replicas(step, ineligible, ReplicaPhase.OFFLINE)
    if begun:
        _delete_topics(step, begun)


def _delete_topics(step: ClusterStep, topics: list[int]) -> None:
    """Stop the partitions, tell every broker, and delete the replicas: `onTopicDeletion`."""
    unseen = [topic for topic in topics if not step.topic(topic).started]
    assigned = [topic for topic in unseen if step.topic(topic).assigned]
    move_partitions(step, assigned, PartitionPhase.OFFLINE)
    move_partitions(step, assigned, PartitionPhase.NON_EXISTENT)
    for topic in unseen:
        step.set_topic(topic, started=True)
    inform(step, step.live(), topics)
    _delete_replicas(step, topics)


def _delete_replicas(step: ClusterStep, topics: list[int]) -> None:
    """`onPartitionDeletion`."""
    all_replicas = replicas_of(step, topics)
    dead = [each for each in all_replicas if not step.is_live(each[1])]
    deleted = _in_phase(step, topics, ReplicaPhase.DELETION_SUCCESSFUL)
    retried = [each for each in all_replicas if each not in dead and each not in deleted]
    move_replicas(step, dead, ReplicaPhase.DELETION_INELIGIBLE)
    move_replicas(step, retried, ReplicaPhase.OFFLINE)
    move_replicas(step, retried, ReplicaPhase.DELETION_STARTED)
    mark_ineligible(step, {topic for topic, _ in dead})


INELIGIBLE: Final = single(
    "deletion-halt",
    "deletion",
    "deletion/halt",
    "a replica cannot be deleted now, or the topic is being reassigned",
    at(TDM, 172, 171),
    QUEUED,
    does("mark it ineligible", lambda s, about: s.set_topic(about.topic, ineligible=True)),
)
RESUMED: Final = single(
    "deletion-resume",
    "deletion",
    "deletion/resume",
    "a broker with a replica of the topic has returned, or its reassignment has ended",
    at(TDM, 138, 137),
    QUEUED,
    does("mark it eligible again", lambda s, about: s.set_topic(about.topic, ineligible=False)),
)


def mark_ineligible(step: ClusterStep, topics: Iterable[int]) -> None:
    """Halt the deletion of topics."""
    for topic in sorted(topics):
        decide(step, INELIGIBLE, About(topic))


def fail_deletion(step: ClusterStep, replicas: list[tuple[int, int]]) -> None:
    """Replicas could not be deleted: `failReplicaDeletion`."""
    failed = [each for each in replicas if step.topic(each[0]).queued]
    if failed:
        move_replicas(step, failed, ReplicaPhase.DELETION_INELIGIBLE)
        mark_ineligible(step, {topic for topic, _ in failed})
        resume_deletions(step)


def resume_for(step: ClusterStep, topics: Iterable[int]) -> None:
    """Go on with the deletion of these topics, and of others: `resumeDeletionForTopics`."""
    resumed = [topic for topic in sorted(topics) if step.topic(topic).queued]
    for topic in resumed:
        decide(step, RESUMED, About(topic))
    if resumed:
        resume_deletions(step)


PARTS: Final[tuple[Part, ...]] = (PROGRESS, ELIGIBLE, INELIGIBLE, RESUMED, FORGET, ONE_BY_ONE)
