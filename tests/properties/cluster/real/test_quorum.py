"""A cluster without ZooKeeper: what its majority answers, its ports, and a real one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from random import Random
from threading import Event

import pytest

from groupcheck.model.brokers import (
    COMMIT,
    CREATE,
    DELETE,
    KILL,
    REASSIGN,
    START,
    ClusterInput,
    Partition,
)
from groupcheck.properties.brokers.definition import Address
from groupcheck.properties.cluster.real import quorum as module
from groupcheck.properties.cluster.real.actions import PAUSE, RESUME, random_sequence
from groupcheck.properties.cluster.real.driver import POLL_S, SETTLE_S, RealCluster
from groupcheck.properties.cluster.real.promises import Violation, unsettled
from groupcheck.properties.cluster.real.quorum import Quorum, agreed, stable_ports
from groupcheck.properties.cluster.real.verify import Limits, verify_sequences
from groupcheck.properties.cluster.real.views import IDS, ClusterView, TopicNode
from groupcheck.properties.cluster.real.wire import Described, Leader, Moving
from support.needs import needs_broker
from support.real_clusters import real_cluster

SEQUENCES, TIME_S = 3, 20
TOPIC = TopicNode(7, (1, 2), Partition(1, 0, (1, 2), 0, 0))
OLD = Described({1: 9, 2: 8, 3: 7}, {})
NEW = Described({1: 9, 2: 8}, {"t": TOPIC})


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], None),
        ([NEW], None),
        ([OLD, NEW], None),
        ([OLD, NEW, NEW], NEW),
        ([OLD, OLD], OLD),
    ],
)
def test_the_metadata_are_what_two_of_three_brokers_answer(
    answers: list[Described], expected: Described | None
) -> None:
    assert agreed(answers) == expected


def test_the_ports_of_controllers_differ_and_no_outgoing_connection_is_given_one() -> None:
    ports = stable_ports(20)
    assert len(set(ports)) == 20
    low, high = map(int, module.EPHEMERAL.read_text().split())
    assert not any(low <= port <= high for port in ports)


class Answering:
    """Stands for the connections: what each broker and each controller answers, by node."""

    def __init__(self) -> None:
        self.brokers: dict[int, Described] = {}
        self.leaders: dict[int, Leader] = {}
        self.nodes: dict[Address, int] = {}
        self.moving: dict[str, Moving] | None = {}

    def described(self, broker: Address, topics: Sequence[str]) -> Described | None:
        del topics
        return self.brokers.get(self.nodes[broker])

    def reassignments(self, node: Address, topics: Sequence[str]) -> dict[str, Moving] | None:
        del node, topics
        return self.moving

    def leader(self, node: Address) -> Leader | None:
        return self.leaders.get(self.nodes[node])


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Answers that replace those of the wire."""
    found = Answering()
    monkeypatch.setattr(module, "Wire", lambda *_: found)
    return found


@pytest.fixture
def quorum(answering: Answering) -> Quorum:
    """A quorum of three nodes that run, the brokers on the ports 9, 8, 7."""
    live = {node: ("127.0.0.1", 10 - node) for node in IDS}
    found = Quorum(lambda: live, Event())
    controllers = {("127.0.0.1", port): node for node, port in found.controllers.items()}
    answering.nodes = {**{address: node for node, address in live.items()}, **controllers}
    return found


def test_what_a_majority_agreed_on_stays_while_none_does(
    quorum: Quorum, answering: Answering
) -> None:
    answering.brokers = {1: NEW, 2: NEW, 3: OLD}
    assert quorum.read(["t"]).topics == (TOPIC,)
    answering.brokers = {3: OLD}
    assert quorum.read(["t"]).topics == (TOPIC,)
    answering.brokers = {1: OLD, 3: OLD}
    assert quorum.read(["t"]).topics == (None,)


def test_a_broker_that_is_known_by_the_port_before_its_restart_is_not_registered(
    quorum: Quorum, answering: Answering
) -> None:
    answering.brokers = dict.fromkeys(IDS, OLD._replace(ports={1: 9, 2: 8, 3: 6}))
    assert quorum.read(()).registered == {1: 1, 2: 1}


def test_a_leader_with_an_older_epoch_than_another_had_is_not_the_controller(
    quorum: Quorum, answering: Answering
) -> None:
    answering.leaders = {1: Leader(1, 5), 2: Leader(2, 6)}
    assert quorum.read(())[:3] == (2, 2, 6)
    del answering.leaders[2]
    assert quorum.read(())[:3] == (0, 0, 6)


def test_the_leader_says_what_is_being_reassigned(quorum: Quorum, answering: Answering) -> None:
    answering.brokers = dict.fromkeys(IDS, NEW)
    answering.leaders = {1: Leader(1, 5)}
    answering.moving = {"t": Moving((3,), (1,))}
    moving = TOPIC._replace(adding=(3,), removing=(1,))
    assert quorum.read(["t"]).topics == (moving,)
    answering.moving = None
    assert quorum.read(["t"]).topics == (moving,)
    answering.moving = {}
    assert quorum.read(["t"]).topics == (TOPIC,)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    """One real cluster for all tests."""
    with real_cluster("kafka-cluster:4.1") as running:
        yield running


def _settled(cluster: RealCluster, *inputs: ClusterInput) -> ClusterView:
    """The view after these inputs, each of which the cluster settles after."""
    view = cluster.settle()[-1]
    for given in inputs:
        assert cluster.is_possible(given), given
        assert cluster.do(given) == ""
        view = cluster.settle()[-1]
        assert unsettled(view) == []
    return view


@needs_broker("kafka:4.1")
def test_the_next_coordinator_has_the_offset_that_was_committed_to_a_killed_one(
    cluster: RealCluster,
) -> None:
    cluster.begin()
    topic = 1  # on all brokers
    before = _settled(cluster, ClusterInput(CREATE, topic=topic), ClusterInput(COMMIT, topic=topic))
    killed = before.coordinator
    view = _settled(cluster, ClusterInput(KILL, broker=killed))
    assert view.coordinator not in {0, killed}
    assert view.group is not None
    assert view.group.offsets[topic] == 1
    _settled(cluster, ClusterInput(COMMIT, topic=topic), ClusterInput(START, broker=killed))
    assert unsettled(cluster.recover()[-1]) == []
    assert unsettled(cluster.clean()[-1]) == []


@needs_broker("kafka:4.1")
def test_the_offset_of_a_topic_stays_if_the_topic_is_deleted_while_no_broker_coordinates(
    cluster: RealCluster,
) -> None:
    """The topic ends before another broker leads the partition of the group, and loads it.

    docs/found-in-clusters.md describes it.
    """
    cluster.begin()
    topic = 1  # on all brokers
    create, commit, delete = (ClusterInput(name, topic=topic) for name in (CREATE, COMMIT, DELETE))
    killed = _settled(cluster, create, commit).coordinator
    cluster.do(ClusterInput(KILL, broker=killed))
    deadline = time.monotonic() + SETTLE_S
    while not cluster.is_possible(delete):  # until there is a controller
        assert time.monotonic() < deadline
        time.sleep(POLL_S)
    assert cluster.do(delete) == ""
    view = cluster.settle()[-1]
    assert view.coordinator not in {0, killed}
    stays = f"topic {topic} is deleted, and its committed offset 1 is not"
    assert unsettled(view) == [Violation("offsets", stays)]
    assert cluster.do(create) == ""
    again = cluster.settle()[-1]
    assert again.group is not None
    assert again.group.offsets[topic] == 1
    cluster.recover()
    cluster.clean()


@needs_broker("kafka:4.1")
def test_a_reassignment_ends_with_its_target_and_without_the_log_of_the_others(
    cluster: RealCluster,
) -> None:
    cluster.begin()
    inputs = (ClusterInput(name, topic=0) for name in (CREATE, COMMIT, REASSIGN))
    topic = (view := _settled(cluster, *inputs)).topics[0]
    assert topic is not None
    assert (set(topic.replicas), topic.adding, topic.removing) == ({2, 3}, (), ())
    assert [bool(answers and answers.folders) for answers in view.answers] == [False, True, True]
    assert unsettled(cluster.clean()[-1]) == []


@needs_broker("kafka:4.1")
def test_a_paused_controller_is_replaced_and_goes_on_as_a_follower(cluster: RealCluster) -> None:
    first = cluster.begin()
    view = _settled(cluster, ClusterInput(PAUSE, broker=1))
    assert view.controller in {2, 3}
    assert view.controller_epoch > first.controller_epoch
    again = _settled(cluster, ClusterInput(RESUME, broker=1))
    assert again.registered == (1, 1, 1)
    assert unsettled(cluster.clean()[-1]) == []


@needs_broker("kafka:4.1")
def test_a_cluster_without_zookeeper_keeps_its_promises_in_random_sequences(
    cluster: RealCluster,
) -> None:
    random = Random(2)
    chosen = (random_sequence(random, zookeeper=False) for _ in range(SEQUENCES))
    limits = Limits(SEQUENCES, TIME_S, minimise_s=0, disk_s=0)
    since = time.monotonic()
    result = verify_sequences(cluster, chosen, limits, lambda _: None)
    assert (result.findings, result.failures) == ({}, [])
    assert result.sequences > 0
    assert time.monotonic() - since < 3 * TIME_S
