"""What Kafka promises of a cluster, as functions over views.

Those of `WHEN_SETTLED` are about one view in which the cluster has had time to settle; the observer
also waits for them. Those of `ALWAYS` are about all views of a sequence, in their order. Each
function yields a line for each violation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

from groupcheck.model.brokers import NO_LEADER, NOBODY
from groupcheck.properties.cluster.real.views import (
    DEAD,
    EMPTY,
    IDS,
    LEADER_NOT_AVAILABLE,
    NO_ANSWER,
    NO_OFFSET,
    NONE,
    UNKNOWN_TOPIC_OR_PARTITION,
    ClusterView,
    Group,
    TopicNode,
)


class Violation(NamedTuple):
    """A promise that does not hold.

    Args:
        promise: its id.
        words: what does not hold, with numbers.
    """

    promise: str
    words: str

    @property
    def key(self) -> str:
        """What is the same for the same violation with other brokers and topics."""
        return f"{self.promise}: {re.sub(r'-?[0-9]+', 'N', self.words)}"


def brokers_register(view: ClusterView) -> Iterator[str]:
    """A broker that runs is registered."""
    for broker in IDS:
        if view.needs_controller and view.is_live(broker) and not view.is_registered(broker):
            yield f"broker {broker} runs and is not registered"


def dead_brokers_are_fenced(view: ClusterView) -> Iterator[str]:
    """A broker that was killed or is paused is fenced while there is a controller."""
    for broker in IDS:
        if view.has_controller and view.is_registered(broker) and not view.is_live(broker):
            yield f"broker {broker} does not run and is not fenced"


def there_is_a_controller(view: ClusterView) -> Iterator[str]:
    """There is a controller while a broker runs; without ZooKeeper, while a majority does."""
    if view.controller == NOBODY and view.needs_controller:
        yield "there is no controller"


def topics_have_leaders(view: ClusterView) -> Iterator[str]:
    """A partition has a leader while a replica in its ISR is registered."""
    for name, topic in _usable(view):
        state = topic.partition
        if state is None:
            if any(map(view.is_registered, topic.replicas)):
                yield f"{name} has replicas that are registered, and no leader"
        elif any(map(view.is_registered, state.isr)):
            if state.leader == NO_LEADER:
                yield f"{name} has a replica in its ISR that is registered, and no leader"
            elif not view.is_registered(state.leader):
                yield f"the leader of {name}, broker {state.leader}, is not registered"
        elif state.leader != NO_LEADER:
            yield f"{name} has a leader, and no replica in its ISR is registered"


def whole_topics_have_leaders(view: ClusterView) -> Iterator[str]:
    """A partition has a leader while all its replicas work, whichever failed before."""
    for name, topic in _usable(view):
        leader = topic.partition.leader if topic.partition else NO_LEADER
        if leader == NO_LEADER and all(map(view.works, topic.replicas)):
            yield f"all replicas of {name} work, and it has no leader"


def isrs_are_exact(view: ClusterView) -> Iterator[str]:
    """The ISR has every replica that works, and none that is not registered but a last one."""
    for name, topic in _usable(view):
        state = topic.partition
        if state is None or state.leader == NO_LEADER:
            continue
        for replica in state.isr:
            if not view.is_registered(replica):
                yield f"broker {replica} is not registered and in the ISR of {name}"
        for replica in topic.replicas:
            if view.works(state.leader) and view.works(replica) and replica not in state.isr:
                yield f"broker {replica} works and is not in the ISR of {name}"


def deletions_end(view: ClusterView) -> Iterator[str]:
    """A deletion ends when all replicas work."""
    if not view.has_controller:
        return
    for number, topic in enumerate(view.topics):
        if view.is_deleted(number) and (topic is None or all(map(view.works, topic.replicas))):
            yield f"the deletion of topic {number} does not end, and all its replicas work"


def reassignments_end(view: ClusterView) -> Iterator[str]:
    """A reassignment ends when all replicas work."""
    if not view.has_controller:
        return
    for number, topic in enumerate(view.topics):
        if topic is None or view.is_deleted(number) or not (topic.adding or topic.removing):
            continue
        if all(map(view.works, topic.replicas)):
            yield f"the reassignment of topic {number} does not end, and all its replicas work"


def metadata_agree(view: ClusterView) -> Iterator[str]:
    """The metadata of every broker agree with those of ZooKeeper, or of a majority."""
    if not view.has_controller:
        return
    for broker, answers in zip(IDS, view.answers, strict=True):
        if not view.works(broker):
            continue
        if answers is None:
            yield f"broker {broker} works and does not answer Metadata"
            continue
        if answers.controller != view.controller:
            yield f"the controller is {answers.controller} in the metadata of broker {broker}"
        for number, name in enumerate(view.names):
            leader, expected = answers.leaders[number], _leader(view, number)
            if expected is not None and leader != expected:
                what = f"leader {leader}" if leader > 0 else f"error {-leader}"
                yield f"{name} has {what} in the metadata of broker {broker}"


def the_coordinator_answers(view: ClusterView) -> Iterator[str]:
    """The leader of the offsets partition coordinates the group, answers and describes it."""
    leader = view.coordinator
    if not view.has_controller or not view.works(leader):
        return
    for broker, answers in zip(IDS, view.answers, strict=True):
        if view.works(broker) and answers is not None and answers.coordinator != leader:
            named = answers.coordinator
            found = f"broker {named}" if named > 0 else f"error {-named}"
            yield f"broker {broker} finds {found} as the coordinator, not broker {leader}"
    group = view.group or Group(NO_ANSWER)
    if group.error != NONE:
        what = (
            "does not answer" if group.error == NO_ANSWER else f"answers with error {group.error}"
        )
        yield f"the coordinator {what}"
    elif group.state not in {EMPTY, DEAD} or (
        group.state == DEAD and set(group.offsets) != {NO_OFFSET}
    ):
        yield f"the coordinator describes a group without members as {group.state}"


def committed_offsets_survive(view: ClusterView) -> Iterator[str]:
    """A committed offset survives, and ends with its topic."""
    if not view.has_controller or view.group is None or view.group.error != NONE:
        return
    for number, (offset, wanted) in enumerate(zip(view.group.offsets, view.committed, strict=True)):
        if offset in wanted:
            continue
        if wanted == (NO_OFFSET,):
            yield f"topic {number} is deleted, and its committed offset {offset} is not"
        else:
            yield f"the offset of topic {number} is {offset}, and {wanted[-1]} was committed"


def deleted_logs_are_gone(view: ClusterView) -> Iterator[str]:
    """A broker that works has no folder of a deleted topic, nor of one that it is no replica of."""
    if not view.has_controller:
        return
    for broker, answers in zip(IDS, view.answers, strict=True):
        for number in map(int, answers.folders if answers else ()):
            topic = view.topics[number]
            if not view.is_deleted(number) and (topic is None or broker not in topic.replicas):
                yield f"broker {broker} has a folder of topic {number}"


WHEN_SETTLED: Final[dict[str, Callable[[ClusterView], Iterator[str]]]] = {
    "registration": brokers_register,
    "fencing": dead_brokers_are_fenced,
    "controller": there_is_a_controller,
    "leaders": topics_have_leaders,
    "replicas": whole_topics_have_leaders,
    "isr": isrs_are_exact,
    "deletion": deletions_end,
    "reassignment": reassignments_end,
    "metadata": metadata_agree,
    "coordinator": the_coordinator_answers,
    "offsets": committed_offsets_survive,
    "logs": deleted_logs_are_gone,
}


def controller_epochs_grow(views: Sequence[ClusterView]) -> Iterator[str]:
    """The controller epoch never falls, and in ZooKeeper is the version of its node."""
    for before, view in pairwise(views):
        if view.controller_epoch < before.controller_epoch:
            yield (
                f"the controller epoch falls from {before.controller_epoch} to "
                f"{view.controller_epoch}"
            )
    for view in views:
        if view.controller_epoch != view.controller_version:
            yield (
                f"the controller epoch is {view.controller_epoch}, the version of its node "
                f"{view.controller_version}"
            )


def each_controller_has_its_epoch(views: Sequence[ClusterView]) -> Iterator[str]:
    """Each controller has an epoch of its own."""
    epochs: dict[int, int] = {}
    for view in views:
        if view.controller_node == 0:
            continue
        other = epochs.setdefault(view.controller_epoch, view.controller_node)
        if other != view.controller_node:
            yield f"two controllers have the epoch {view.controller_epoch}"


def leaders_are_in_sync(views: Sequence[ClusterView]) -> Iterator[str]:
    """A leader is in the ISR, which has replicas only, and with ZooKeeper is never empty."""
    for view in views:
        for name, topic in zip(view.names, view.every_topic, strict=True):
            state = topic.partition if topic else None
            if topic is None or state is None:
                continue
            if state.leader != NO_LEADER and state.leader not in state.isr:
                yield f"the leader of {name}, broker {state.leader}, is not in its ISR"
            # Without ZooKeeper the last replica is an eligible leader then (KIP-966).
            if not state.isr and (view.zookeeper or state.leader != NO_LEADER):
                yield f"the ISR of {name} is empty"
            if not set(state.isr) <= set(topic.replicas):
                yield f"the ISR of {name} has a broker that is no replica"


def leader_epochs_grow(views: Sequence[ClusterView]) -> Iterator[str]:
    """The leader epoch of a partition never falls, and grows with a new leader."""
    for before, view in pairwise(views):
        for name, old, new in zip(view.names, before.every_topic, view.every_topic, strict=True):
            if not (old and new and old.created == new.created):
                continue
            earlier, later = old.partition, new.partition
            if earlier is None or later is None:
                continue
            if later.leader_epoch < earlier.leader_epoch:
                yield (
                    f"the leader epoch of {name} falls from {earlier.leader_epoch} to "
                    f"{later.leader_epoch}"
                )
            elif later.leader_epoch == earlier.leader_epoch and later.leader != earlier.leader:
                yield f"{name} has another leader in the leader epoch {later.leader_epoch}"
            if later.controller_epoch < earlier.controller_epoch:
                yield f"a controller that is older writes the state of {name}"


ALWAYS: Final[dict[str, Callable[[Sequence[ClusterView]], Iterator[str]]]] = {
    "controller-epoch": controller_epochs_grow,
    "one-controller": each_controller_has_its_epoch,
    "in-sync": leaders_are_in_sync,
    "leader-epoch": leader_epochs_grow,
}
EVERY: Final[dict[str, Callable[..., Iterator[str]]]] = {**WHEN_SETTLED, **ALWAYS}
# Those that say nothing of a cluster, by whether it has ZooKeeper. There, sessions end only when a
# sequence says so. Without it, topics are deleted at once, and a leader with an older epoch than
# another one had is not taken for the controller.
MEANINGLESS: Final = {
    True: ("fencing", "replicas"),
    False: ("deletion", "controller-epoch"),
}

T = TypeVar("T")


def of_cluster(promises: dict[str, T], *, zookeeper: bool) -> dict[str, T]:
    """Those of the promises that say something of a cluster with ZooKeeper, or of one without."""
    return {name: each for name, each in promises.items() if name not in MEANINGLESS[zookeeper]}


def unsettled(view: ClusterView) -> list[Violation]:
    """What does not hold in a view that should be settled.

    While the broker in `/controller` is paused, or killed and its session lives, nothing else is
    promised than that others are registered. Without ZooKeeper nothing is promised while fewer than
    a majority of the brokers run.
    """
    checks = of_cluster(WHEN_SETTLED, zookeeper=view.zookeeper)
    return [Violation(name, words) for name, check in checks.items() for words in check(view)]


def violations(views: Sequence[ClusterView]) -> list[Violation]:
    """What does not hold in the views of a sequence, in their order; each line once."""
    found = [Violation(name, words) for name, check in ALWAYS.items() for words in check(views)]
    return list(dict.fromkeys(found))


def _usable(view: ClusterView) -> Iterator[tuple[str, TopicNode]]:
    """The topics whose leaders a working controller looks after."""
    if not view.has_controller:
        return
    for number, (name, topic) in enumerate(zip(view.names, view.every_topic, strict=True)):
        if topic is not None and not view.is_deleted(number):
            yield name, topic


def _leader(view: ClusterView, number: int) -> int | None:
    """What metadata have to say of a topic: its leader, or an error, negated; None: anything."""
    topic = view.every_topic[number]
    if topic is None or view.is_deleted(number):
        return -UNKNOWN_TOPIC_OR_PARTITION
    if topic.partition is None:
        return None
    leader = topic.partition.leader
    return -LEADER_NOT_AVAILABLE if leader == NO_LEADER else leader
