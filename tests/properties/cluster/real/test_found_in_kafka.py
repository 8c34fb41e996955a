"""Promises that a real cluster of Kafka 2.7 breaks, found by the specification of the cluster.

docs/found-in-clusters.md describes each. A test passes if Kafka breaks the promise, and if what
that page says under "Workaround" then helps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from threading import Event

import pytest

from groupcheck.properties.cluster.real.processes import missing
from groupcheck.properties.cluster.real.views import IDS, NO_OFFSET, NONE, OFFSETS
from support.cluster_brokers import (
    CLUSTER,
    Cluster,
    during,
    eventually,
    group_of,
    long_log,
)

LOADING, NOT_COORDINATOR = 14, 16
# Partitions of the offsets topic: one that broker 1 loads for seconds, one that moves meanwhile,
# and one that another broker takes over, and loads for seconds, too.
LONG, MOVING, FAILING = range(3)
REPLICAS = {LONG: [1], MOVING: [1, 2], FAILING: [2, 3]}
LONG_GROUP, MOVING_GROUP, FAILING_GROUP = (group_of(each, len(REPLICAS)) for each in REPLICAS)
BATCHES = 150_000  # a broker loads them for about 6 s
DELETIONS = 500  # 4 are usual
QUIET_S = 5.0  # if no broker has claimed to be the controller for so long, none will
STAYS_S = 10.0
TRIES = 5
SETTLES_S = 2.0
FENCED = "Controller moved to another broker when moving some replicas to OfflineReplica state"
NEWER = "Leader and isr path written by another controller"
NOT_EMPTY = "Controller to broker state change requests batch is not empty"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.external(f"{why}" if (why := missing(CLUSTER)) else ""),
]


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    """One cluster for all tests."""
    log = long_log("another-group", BATCHES)
    cluster = Cluster(REPLICAS, {LONG: log, FAILING: log})
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(running: Cluster) -> Cluster:
    """The cluster, with all brokers, an active controller, and all groups loaded."""
    running.recover()
    eventually(lambda: all(_coordinates(running, partition) for partition in REPLICAS))
    return running


def _leader(cluster: Cluster, partition: int) -> int:
    return int(cluster.state(OFFSETS, partition)["leader"])


def _coordinates(cluster: Cluster, partition: int) -> bool:
    """Whether the leader of a partition has loaded its groups."""
    group = group_of(partition, len(REPLICAS))
    leader = _leader(cluster, partition)
    return leader in IDS and cluster.committed(leader, group, "topic")[0] == NONE


def _no_broker_claims(cluster: Cluster) -> bool:
    """Delete `/controller` as soon as a broker creates it; returns whether none does any more."""
    for _ in range(DELETIONS):
        created = Event()
        there = cluster.client.exists("/controller", watch=lambda _, event=created: event.set())
        if there is None and not created.wait(QUIET_S):
            return True
        cluster.processes.zookeeper.delete_controller()
    return False


def test_a_cluster_has_no_controller_if_its_node_is_deleted_while_each_broker_takes_over(
    cluster: Cluster,
) -> None:
    """Each broker creates `/controller`, and the node is deleted before the broker watches it.

    The watch of a broker on `/controller` fires when the node is created, by whichever broker. The
    broker sets it again when it handles that event, ControllerChange: the new controller only after
    `onControllerFailover`. Deletions before that fire no watch. Afterwards the brokers handle
    ControllerChange, find no node, resign, and wait for one.
    """
    assert _no_broker_claims(cluster)
    cluster.processes.zookeeper.create_topic("without-controller", [2])
    during(STAYS_S, lambda: cluster.controller == 0)
    assert cluster.registered == set(IDS)
    assert cluster.state("without-controller") == {}
    no_broker = {"version": 1, "brokerid": -1, "timestamp": "0"}
    cluster.client.create("/controller", json.dumps(no_broker).encode())
    during(1, lambda: cluster.controller == -1)
    cluster.processes.zookeeper.delete_controller()
    eventually(lambda: cluster.state("without-controller").get("leader") == 2)
    assert cluster.controller in IDS


def _fence(cluster: Cluster) -> bool:
    """Let broker 1, a controller, learn that broker 3 has failed after broker 2 was elected.

    Returns whether its write was rejected. If broker 2 is quicker than this test, it has already
    removed broker 3 from the ISR, and broker 1 writes nothing.
    """
    eventually(lambda: cluster.state("followed")["isr"] == [2, 3])
    # If broker 3 led a partition, the write of its new leader would come first.
    eventually(lambda: 2 in cluster.state(OFFSETS, FAILING)["isr"])
    assert cluster.elect_preferred(OFFSETS, FAILING) == NONE
    eventually(lambda: _leader(cluster, FAILING) == 2)
    cluster.move_controller(1)
    cluster.processes.pause(1)
    cluster.kill(3)
    cluster.processes.zookeeper.delete_controller()
    while not cluster.exists("/controller"):
        pass
    cluster.processes.pause(2)
    before = len(cluster.log(1))
    cluster.processes.resume(1)
    eventually(lambda: any(each in cluster.log(1)[before:] for each in (FENCED, NEWER)))
    cluster.processes.resume(2)
    eventually(lambda: cluster.state("followed")["isr"] == [2])
    return FENCED in cluster.log(1)


def test_a_controller_whose_write_was_rejected_once_changes_no_replica_when_it_is_elected_again(
    cluster: Cluster,
) -> None:
    """Broker 1 handles BrokerChange after another broker has become the controller.

    It adds StopReplica for broker 3 to the batch of its replica state machine, then its write to
    ZooKeeper is rejected. The batch stays as it is, and the next ones throw. So when broker 1 is
    the controller again, no LeaderAndIsr reaches the restarted broker 3, and no StopReplica the
    replica of a topic that is to be deleted.
    """
    cluster.create("followed", 2, 3)
    cluster.create("deleted", 2)
    for _ in range(TRIES):
        if _fence(cluster):
            break
        cluster.processes.start(3)
    cluster.move_controller(1)
    cluster.processes.start(3)
    cluster.request_deletion("deleted")
    during(
        STAYS_S,
        lambda: (
            cluster.controller == 1
            and cluster.exists("/admin/delete_topics/deleted")
            and cluster.exists("/brokers/topics/deleted")
            and cluster.state("followed")["isr"] == [2]
        ),
    )
    assert NOT_EMPTY in cluster.log(1)
    cluster.move_controller(2)
    eventually(lambda: not cluster.exists("/admin/delete_topics/deleted"))
    eventually(lambda: set(cluster.state("followed")["isr"]) == {2, 3})
    cluster.restart(1)


def test_the_offset_of_a_topic_stays_if_the_topic_is_deleted_while_the_coordinator_loads(
    cluster: Cluster,
) -> None:
    """The coordinator fails, and the other replica of its partition takes over.

    UpdateMetadata with the leader -2 arrives before the group is loaded, so there is no offset to
    remove. Then the group is loaded from the log, with the offset.
    """
    failed = _leader(cluster, FAILING)
    other = 5 - failed
    cluster.create("recreated", 1)
    eventually(lambda: len(cluster.state(OFFSETS, FAILING)["isr"]) == 2)
    eventually(lambda: cluster.commit(failed, FAILING_GROUP, "recreated", 7) == NONE)
    cluster.kill(failed)
    eventually(lambda: cluster.committed(other, FAILING_GROUP, "recreated")[0] == LOADING)
    cluster.request_deletion("recreated")
    eventually(lambda: not cluster.exists("/admin/delete_topics/recreated"))
    assert not cluster.exists("/brokers/topics/recreated")
    assert cluster.committed(other, FAILING_GROUP, "recreated")[0] == LOADING
    eventually(lambda: _coordinates(cluster, FAILING))
    assert cluster.committed(other, FAILING_GROUP, "recreated") == (NONE, 7)
    cluster.create("recreated", 1)
    during(1, lambda: cluster.committed(other, FAILING_GROUP, "recreated") == (NONE, 7))
    assert cluster.delete_offset(other, FAILING_GROUP, "recreated") == NONE
    assert cluster.committed(other, FAILING_GROUP, "recreated") == (NONE, NO_OFFSET)
    cluster.processes.start(failed)


def test_the_offset_of_a_topic_stays_if_the_topic_is_deleted_while_no_broker_coordinates(
    cluster: Cluster,
) -> None:
    """Broker 1, the only replica of the partition of the group, is down meanwhile.

    No later UpdateMetadata tells it that the topic was deleted.
    """
    cluster.create("elsewhere", 2)
    eventually(lambda: cluster.commit(1, LONG_GROUP, "elsewhere", 7) == NONE)
    cluster.kill(1)
    cluster.request_deletion("elsewhere")
    eventually(lambda: not cluster.exists("/admin/delete_topics/elsewhere"))
    cluster.processes.start(1)
    eventually(lambda: _leader(cluster, LONG) == 1 and _coordinates(cluster, LONG))
    during(1, lambda: cluster.committed(1, LONG_GROUP, "elsewhere") == (NONE, 7))


def test_a_coordinator_that_becomes_the_leader_twice_before_it_loads_never_answers(
    cluster: Cluster,
) -> None:
    """Broker 1 leads, follows and leads a partition, while it still loads another one.

    When it leads again, its first load is still to come, so it schedules no other one. It loads,
    and then unloads, because it followed.
    """
    if cluster.controller == 1:
        cluster.move_controller(3)
    assert any(_leads_twice(cluster) for _ in range(TRIES))
    eventually(lambda: _coordinates(cluster, LONG))
    eventually(lambda: cluster.committed(1, MOVING_GROUP, "topic")[0] == NOT_COORDINATOR)
    during(
        STAYS_S,
        lambda: (
            _leader(cluster, MOVING) == 1
            and cluster.committed(1, MOVING_GROUP, "topic") == (NOT_COORDINATOR, NO_OFFSET)
        ),
    )
    cluster.end_session(1)
    eventually(lambda: _leader(cluster, MOVING) == 2)
    eventually(lambda: 1 in cluster.state(OFFSETS, MOVING)["isr"])
    assert cluster.elect_preferred(OFFSETS, MOVING) == NONE
    eventually(lambda: _leader(cluster, MOVING) == 1 and _coordinates(cluster, MOVING))


def _leads_twice(cluster: Cluster) -> bool:
    """Let broker 1 lead, follow and lead the partition that moves.

    Returns whether it has loaded nothing yet.
    """
    cluster.restart(1)
    _lead(cluster)
    cluster.end_session(1)
    eventually(lambda: _leader(cluster, MOVING) == 2)
    _lead(cluster)
    return cluster.committed(1, LONG_GROUP, "topic")[0] == LOADING


def _lead(cluster: Cluster) -> None:
    """Make broker 1 the leader of the partition that moves, and wait until it is to load it."""
    eventually(lambda: 1 in cluster.state(OFFSETS, MOVING)["isr"])
    assert cluster.elect_preferred(OFFSETS, MOVING) == NONE
    eventually(lambda: _leader(cluster, MOVING) == 1)
    eventually(
        lambda: (
            cluster.committed(1, MOVING_GROUP, "topic")[0] == LOADING or _coordinates(cluster, LONG)
        )
    )


def test_a_reassigned_partition_has_no_leader_if_the_session_of_its_target_ends(
    cluster: Cluster,
) -> None:
    """The target joins the ISR while it is not live, so the reassignment ends without a leader."""
    topics = (f"moved-{number}" for number in range(TRIES))
    topic = next((each for each in topics if _has_no_leader(cluster, each)), "")
    assert topic
    assert cluster.registered == set(IDS)
    during(STAYS_S, lambda: _moved_to_nowhere(cluster, topic))
    cluster.restart(3)
    eventually(lambda: cluster.state(topic)["leader"] == 3)


def _has_no_leader(cluster: Cluster, topic: str) -> bool:
    """Move a topic from broker 2 to broker 3, whose session ends; whether it has no leader then."""
    if cluster.controller == 3:
        cluster.move_controller(1)
    cluster.create(topic, 2)
    cluster.reassign(topic, 3)
    cluster.end_session(3)
    eventually(lambda: cluster.registered == set(IDS))
    eventually(lambda: cluster.state(topic)["isr"] == [3])
    time.sleep(SETTLES_S)
    return _moved_to_nowhere(cluster, topic)


def _moved_to_nowhere(cluster: Cluster, topic: str) -> bool:
    state = cluster.state(topic)
    return (state["leader"], state["isr"]) == (-1, [3])


def test_the_log_of_a_broker_stays_after_a_reassignment_to_it_was_cancelled(
    cluster: Cluster,
) -> None:
    """The broker handles LeaderAndIsr, and then StopReplica with the same leader epoch."""
    if cluster.controller == 3:
        cluster.move_controller(1)
    cluster.create("cancelled", 2)
    cluster.processes.pause(3)
    cluster.reassign("cancelled", 3)
    cluster.reassign("cancelled")
    cluster.processes.resume(3)
    eventually(lambda: cluster.has_log(3, "cancelled"))
    during(STAYS_S, lambda: cluster.has_log(3, "cancelled"))
    assert cluster.state("cancelled")["isr"] == [2]


def test_the_log_of_a_broker_stays_if_its_replica_is_moved_while_the_broker_is_down(
    cluster: Cluster,
) -> None:
    """StopReplica is not sent to a broker that is down, and not later when it starts."""
    if cluster.controller == 3:
        cluster.move_controller(1)
    cluster.create("moved-away", 2, 3)
    eventually(lambda: cluster.has_log(3, "moved-away"))
    cluster.kill(3)
    eventually(lambda: cluster.registered == {1, 2})
    cluster.reassign("moved-away", 2, 1)
    eventually(lambda: set(cluster.state("moved-away")["isr"]) == {1, 2})
    cluster.processes.start(3)
    eventually(lambda: cluster.registered == set(IDS))
    during(STAYS_S, lambda: cluster.has_log(3, "moved-away"))
