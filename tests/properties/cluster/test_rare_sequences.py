"""What random walks seldom reach: sequences after which the two have differed, or nearly did."""

from __future__ import annotations

from groupcheck.model.brokers import (
    CLAIM,
    CREATE,
    DELETE,
    DELIVER,
    ELECT,
    ENVIRONMENT,
    EXPAND,
    EXPIRE,
    HANDLE,
    KILL,
    LOAD,
    LOSE,
    MOVE,
    REASSIGN,
    RENEW,
    SHRINK,
    START,
    Assignment,
    ClusterInput,
)
from groupcheck.model.cluster.specification import Brokers
from groupcheck.model.cluster.state import Cluster, Settings
from support.builtin_cluster import BuiltinCluster
from support.compared_clusters import Walk


class Compared:
    """A walk whose every step is compared."""

    def __init__(self, settings: Settings) -> None:
        self._walk = Walk(Brokers(settings), BuiltinCluster(settings))
        difference = self._walk.compare()
        assert difference is None, difference

    @property
    def state(self) -> Cluster:
        return self._walk.state

    @property
    def rules(self) -> set[str]:
        return self._walk.rules

    def do(self, name: str, broker: int = 0, topic: int = -1, sender: int = 0) -> None:
        self._give(ClusterInput(name, broker, topic, sender))

    def go_on(self, *without: str) -> None:
        """What the cluster does by itself, until nothing is left; orphans wait."""
        waits = {*ENVIRONMENT, LOSE, *without}
        while True:
            inputs = [each for each in self._walk.possible() if each.name not in waits]
            if not inputs:
                return
            self._give(inputs[0])

    def _give(self, given: ClusterInput) -> None:
        assert given in self._walk.possible(), f"{given} is not possible"
        difference = self._walk.step(given)
        assert difference is None, f"\n{difference}"


def test_a_request_to_a_broker_whose_channel_is_gone_is_dropped() -> None:
    walk = Compared(
        Settings(brokers=3, topics=((2, 3),), created=1, faults=3, requests=1, moves=True)
    )
    walk.do(KILL, 2)
    walk.do(EXPIRE, 2)
    walk.go_on()
    walk.do(MOVE)
    walk.do(DELETE, topic=0)
    walk.go_on()  # the next controller waits for broker 2 before it deletes anything
    walk.do(START, 2)
    walk.do(KILL, 3)
    walk.do(EXPIRE, 3)
    walk.do(HANDLE, 1)  # BrokerChange: broker 2 is new, and broker 3 is dead
    controller = walk.state.broker(1).controller
    assert controller is not None
    assert [request.api for request in controller.channels[1]].count("StopReplica") == 2
    assert not controller.channels[2]
    assert not walk.state.orphans


def test_a_leader_that_has_registered_again_takes_the_answer_to_its_earlier_request() -> None:
    walk = Compared(Settings(topics=((2, 1),), created=1, faults=2, isr=True))
    walk.do(EXPIRE, 2)
    walk.do(SHRINK, 2, 0, 1)
    walk.do(RENEW, 2)
    walk.do(HANDLE, 2)
    walk.do(HANDLE, 2)
    assert walk.state.broker(2).replicas[0].pending
    walk.go_on()
    assert not walk.state.broker(2).replicas[0].pending


def test_a_controller_without_session_leaves_the_leader_waiting_for_its_isr() -> None:
    walk = Compared(Settings(topics=((1, 2),), created=1, faults=2, isr=True))
    walk.do(SHRINK, 1, 0, 2)
    walk.do(EXPIRE, 1)
    walk.do(HANDLE, 1)
    assert walk.state.broker(1).replicas[0].pending


def test_an_answer_to_a_request_of_an_earlier_leader_epoch_is_ignored() -> None:
    walk = Compared(Settings(topics=((2, 1),), created=1, faults=4, isr=True))
    walk.do(SHRINK, 2, 0, 1)
    walk.go_on()
    walk.do(EXPIRE, 2)
    walk.do(EXPAND, 2, 0, 1)
    walk.do(RENEW, 2)
    walk.do(HANDLE, 2)
    walk.do(HANDLE, 2)
    walk.do(HANDLE, 1)  # BrokerChange: broker 2 leads again, with another leader epoch
    walk.go_on(HANDLE)
    walk.do(EXPAND, 2, 0, 1)
    walk.do(HANDLE, 1)  # the first AlterIsr: its broker epoch is stale
    assert walk.state.broker(2).replicas[0].pending
    walk.go_on()
    assert walk.state.broker(2).replicas[0].isr == (2, 1)


def _flips_leadership(walk: Compared) -> None:
    """Broker 2 becomes the leader of the groups, then broker 1, before broker 2 loads them."""
    walk.do(KILL, 1)
    walk.do(EXPIRE, 1)
    walk.go_on(LOAD)
    walk.do(START, 1)
    walk.go_on(LOAD)
    walk.do(EXPAND, 2, 0, 1)
    walk.go_on(LOAD)
    walk.do(ELECT, topic=0)
    walk.go_on(LOAD)
    assert walk.state.broker(2).coordinator.tasks == ("load", "unload")


GROUPS = Settings(
    topics=((1, 2), (2,)),
    created=2,
    faults=4,
    requests=4,
    isr=True,
    elects=True,
    groups=True,
)


def test_a_broker_that_follows_by_now_loads_no_groups_but_owns_the_partition() -> None:
    walk = Compared(GROUPS)
    _flips_leadership(walk)
    walk.do(LOAD, 2)
    assert walk.state.broker(2).coordinator.owns
    assert not walk.state.broker(2).coordinator.offset


def test_a_broker_that_leads_again_before_it_has_loaded_ends_without_the_groups() -> None:
    walk = Compared(GROUPS)
    _flips_leadership(walk)
    walk.do(KILL, 1)
    walk.do(EXPIRE, 1)
    walk.go_on(LOAD)
    assert "coordinator/already-loading" in walk.rules
    walk.go_on()
    assert not walk.state.broker(2).coordinator.owns


def _makes_controller_stuck(walk: Compared) -> None:
    """Broker 1 is fenced while it takes the replica of topic 0 on broker 2 offline."""
    walk.do(EXPIRE, 2)
    walk.do(MOVE)
    walk.do(RENEW, 2)
    walk.do(HANDLE, 2)
    walk.do(HANDLE, 2)
    walk.do(CLAIM, 2)
    walk.do(HANDLE, 1)
    assert walk.state.broker(1).stuck
    walk.go_on()
    walk.do(EXPIRE, 2)
    walk.go_on()
    assert walk.state.broker(1).controller is not None


def test_a_stuck_controller_begins_no_deletion_of_a_topic_that_it_has_created() -> None:
    walk = Compared(
        Settings(topics=((2,), (1, 2)), created=1, faults=4, requests=2, moves=True, kills=False)
    )
    _makes_controller_stuck(walk)
    walk.do(CREATE, topic=1)
    walk.go_on()
    walk.do(DELETE, topic=1)
    walk.go_on()
    controller = walk.state.broker(1).controller
    assert controller is not None
    assert controller.topics[1].queued
    assert not controller.topics[1].started


def test_a_controller_does_not_elect_a_leader_after_a_later_controller_has() -> None:
    walk = Compared(Settings(brokers=3, topics=((3, 2),), created=1, faults=4, moves=True))
    walk.do(KILL, 3)
    walk.do(EXPIRE, 3)
    walk.do(MOVE)
    walk.do(HANDLE, 2)
    walk.do(CLAIM, 2)
    walk.do(HANDLE, 1)  # BrokerChange
    assert walk.state.nodes.partitions[0] is not None
    assert walk.state.nodes.partitions[0].controller_epoch == 2
    walk.go_on()


def test_a_failover_fails_if_a_topic_is_reassigned_that_has_no_leader_and_no_live_replica() -> None:
    walk = Compared(
        Settings(
            brokers=3,
            topics=((1, 2), (3,)),
            running=False,
            faults=2,
            requests=4,
            moves=True,
            targets=((2, 3), (1, 2)),
        )
    )
    walk.do(START, 2)
    walk.do(CREATE, topic=1)
    for step in (HANDLE, CLAIM, HANDLE):
        walk.do(step, 2)
    walk.do(START, 1)
    walk.do(HANDLE, 2)
    walk.do(REASSIGN, topic=1)
    walk.do(HANDLE, 2)
    assert walk.state.nodes.assignments[1].adding == (1, 2)
    walk.do(KILL, 1)
    walk.do(EXPIRE, 1)
    walk.do(MOVE)
    walk.do(HANDLE, 2)
    walk.do(HANDLE, 2)
    walk.do(CLAIM, 2)
    assert "reassignment/node-is-gone" in walk.rules


def test_a_deletion_waits_for_a_reassignment_that_waits_for_it() -> None:
    walk = Compared(
        Settings(
            topics=((1,),), created=1, faults=9, requests=9, moves=True, isr=True, targets=((2,),)
        )
    )
    walk.do(REASSIGN, topic=0)
    walk.do(DELETE, topic=0)
    walk.do(MOVE)
    walk.do(HANDLE, 1)
    walk.do(HANDLE, 1)  # the deletion starts
    assert "deletion/start" in walk.rules
    walk.go_on()
    nodes = walk.state.nodes
    assert nodes.deletions[0]
    assert nodes.assignments[0].adding == (2,)
    assert nodes.partitions[0] is not None
    assert nodes.partitions[0].leader == -1
    assert all(broker.running for broker in walk.state.brokers)


def test_a_refused_write_of_an_isr_by_the_controller_watches_the_partition_again() -> None:
    walk = Compared(
        Settings(
            brokers=3,
            topics=((1, 2),),
            created=1,
            requests=1,
            isr=True,
            targets=((2, 3),),
            version="2.4",
        )
    )
    walk.do(REASSIGN, topic=0)
    walk.do(HANDLE, 1)  # it raises the leader epoch, which fires the watch
    walk.do(SHRINK, 1, 0, 2)  # the leader does not know the new version, and reads the node
    walk.do(DELIVER, 1, sender=1)
    walk.do(SHRINK, 1, 0, 2)
    assert {"isr/version", "isr/written"} <= walk.rules
    queue = [event.name for event in walk.state.broker(1).queue]
    assert queue == ["PartitionReassignmentIsrChange"] * 2
    walk.go_on()
    walk.do(EXPAND, 1, 0, 2)
    walk.do(EXPAND, 1, 0, 3)
    walk.go_on()
    assert walk.state.nodes.assignments[0] == Assignment((2, 3))
