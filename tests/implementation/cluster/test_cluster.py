"""A cluster of several partitions, with all metadata, on the embedded store."""

from __future__ import annotations

import json

import pytest

from groupcheck.implementation.cluster import events, nodes
from groupcheck.implementation.cluster.access import Access
from groupcheck.implementation.cluster.batch import Metadata
from groupcheck.implementation.cluster.broker import Broker, Options
from groupcheck.implementation.cluster.cluster import Cluster, ImpossibleError, PlannedTopic
from groupcheck.implementation.cluster.embedded import EmbeddedStore
from groupcheck.implementation.cluster.events import AlterIsrResults
from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.partition_machine import UNCLEAN
from groupcheck.implementation.cluster.replicas import Replicas
from groupcheck.implementation.cluster.requests import PartitionState
from groupcheck.implementation.cluster.store import NodeExistsError, NoNodeError, create, delete
from groupcheck.implementation.cluster.view import view
from groupcheck.model.brokers import (
    CLAIM,
    CREATE,
    DELETE,
    DELIVER,
    EXPIRE,
    HANDLE,
    KILL,
    MOVE,
    NO_LEADER,
    RENEW,
    START,
    ClusterInput,
)

WIDE = PlannedTopic("wide", ((1, 2), (2, 3), (3, 1)))
ONLY_THIRD = PlannedTopic("third", ((3,),))
OFFSETS = PlannedTopic("__consumer_offsets", ((1, 2), (2, 1)))


def started(*topics: PlannedTopic, brokers: int = 3) -> Cluster:
    cluster = Cluster(EmbeddedStore(), brokers, topics)
    for number in range(1, brokers + 1):
        cluster.apply(ClusterInput(START, number))
    cluster.go_on()
    for number in range(len(topics)):
        cluster.apply(ClusterInput(CREATE, topic=number))
    cluster.go_on()
    return cluster


def leaders(cluster: Cluster, topic: PlannedTopic) -> list[int | None]:
    states = [
        cluster.admin.state(TopicPartition(topic.name, number))
        for number in range(len(topic.replicas))
    ]
    return [None if state is None else state.leader for state in states]


def end(cluster: Cluster, broker: int) -> None:
    cluster.apply(ClusterInput(KILL, broker))
    cluster.apply(ClusterInput(EXPIRE, broker))
    cluster.go_on()


def test_each_partition_gets_its_first_replica_as_leader_and_all_brokers_know_it() -> None:
    cluster = started(WIDE)
    assert leaders(cluster, WIDE) == [1, 2, 3]
    for number in (1, 2, 3):
        broker = cluster.running(number)
        assert list(broker.leaders.values()) == [1, 2, 3]
        assert set(broker.live) == {1, 2, 3}


def test_a_broker_that_ends_loses_its_partitions_and_gets_none_back_by_itself() -> None:
    cluster = started(WIDE)
    end(cluster, 3)
    assert leaders(cluster, WIDE) == [1, 2, 1]
    assert cluster.running(1).leaders == dict(
        zip([TopicPartition("wide", number) for number in range(3)], (1, 2, 1), strict=True)
    )
    cluster.apply(ClusterInput(START, 3))
    cluster.go_on()
    assert leaders(cluster, WIDE) == [1, 2, 1]
    assert cluster.running(3).replicas.hosted[TopicPartition("wide", 2)].leader == 1


def test_the_end_of_the_controller_elects_another_one_with_the_next_epoch() -> None:
    cluster = started(WIDE)
    end(cluster, 1)
    assert cluster.controller().number == 2
    assert cluster.admin.read_controller_epoch() == (2, 2)
    assert leaders(cluster, WIDE) == [2, 2, 3]


def test_partitions_of_the_offsets_topic_are_loaded_by_their_leaders_and_unloaded_by_others() -> (
    None
):
    cluster = started(OFFSETS)
    assert [cluster.running(number).coordinator.owned for number in (1, 2)] == [{0}, {1}]
    end(cluster, 1)
    assert cluster.running(2).coordinator.owned == {0, 1}
    cluster.apply(ClusterInput(START, 1))
    cluster.go_on()
    assert cluster.running(1).coordinator.owned == set()


def test_a_deleted_topic_leaves_neither_nodes_nor_logs() -> None:
    cluster = started(WIDE)
    cluster.apply(ClusterInput(DELETE, topic=0))
    cluster.go_on()
    assert cluster.admin.topics() == []
    assert cluster.admin.deletions() == []
    assert all(not machine.logs for machine in cluster.machines.values())
    assert cluster.running(2).leaders == {}


def test_a_topic_of_a_dead_broker_is_deleted_when_that_starts_again() -> None:
    cluster = started(WIDE)
    end(cluster, 3)
    cluster.apply(ClusterInput(DELETE, topic=0))
    cluster.go_on()
    assert cluster.admin.topics() == ["wide"]
    cluster.apply(ClusterInput(START, 3))
    cluster.go_on()
    assert cluster.admin.topics() == []


@pytest.mark.parametrize("unclean", [False, True])
def test_the_configuration_of_a_topic_allows_a_leader_that_is_not_in_sync(*, unclean: bool) -> None:
    pair = PlannedTopic("pair", ((1, 2),))
    cluster = started(pair)
    create(
        cluster.admin.session,
        nodes.topic_config_path("pair"),
        nodes.topic_config_data({UNCLEAN: str(unclean).lower()}),
    )
    end(cluster, 2)
    end(cluster, 1)
    cluster.apply(ClusterInput(START, 2))
    cluster.go_on()
    assert leaders(cluster, pair) == [2 if unclean else NO_LEADER]


def test_a_broker_whose_id_is_registered_does_not_start() -> None:
    cluster = started(brokers=1)
    cluster.apply(ClusterInput(KILL, 1))
    with pytest.raises(NodeExistsError):
        cluster.apply(ClusterInput(START, 1))
    cluster.apply(ClusterInput(EXPIRE, 1))
    cluster.apply(ClusterInput(START, 1))
    cluster.go_on()
    assert view(cluster).brokers[0].epoch == 2


def test_what_cannot_happen_raises() -> None:
    cluster = Cluster(EmbeddedStore(), 2, (WIDE,))
    for given in (
        ClusterInput(KILL, 1),
        ClusterInput(EXPIRE, 1),
        ClusterInput(DELIVER, 1, sender=2),
    ):
        with pytest.raises(ImpossibleError):
            cluster.apply(given)
    with pytest.raises(NoNodeError):
        cluster.apply(ClusterInput(MOVE))
    cluster.apply(ClusterInput(START, 1))
    with pytest.raises(ImpossibleError):
        cluster.apply(ClusterInput(START, 1))


def test_a_controller_that_is_fenced_while_it_takes_a_replica_offline_is_stuck_from_then_on() -> (
    None
):
    """Requests are left in the batch of its replica state machine, and nothing clears them."""
    alone = PlannedTopic("alone", ((2,),))
    cluster = started(alone, brokers=2)
    first = cluster.running(1).controller
    cluster.apply(ClusterInput(EXPIRE, 2))
    cluster.apply(ClusterInput(MOVE))
    cluster.apply(ClusterInput(RENEW, 2))
    for given in (HANDLE, HANDLE, CLAIM):
        cluster.apply(ClusterInput(given, 2))
    assert first.active
    cluster.apply(ClusterInput(HANDLE, 1))  # BrokerChange: broker 2 has another session
    assert not first.active
    assert first.replica_machine.stuck
    cluster.go_on()
    end(cluster, 2)
    assert first.active
    cluster.apply(ClusterInput(START, 2))
    cluster.go_on()
    phases = first.context.replica_phases
    assert [phase.value for phase in phases.values()] == ["ReplicaDeletionIneligible"]


def test_brokers_learn_of_a_dead_broker_that_has_led_nothing() -> None:
    cluster = started(PlannedTopic("pair", ((1, 3),)))
    end(cluster, 3)
    assert set(cluster.running(2).live) == {1, 2}


KNOWN = TopicPartition("wide", 0)
UNKNOWN = TopicPartition("unknown", 0)


@pytest.mark.parametrize(
    ("of", "state", "result"),
    [
        (KNOWN, LeaderAndIsr(1, 0, (1, 2), 7, 0), LeaderAndIsr(1, 0, (1, 2), 0, 1)),
        (KNOWN, LeaderAndIsr(1, 0, (1,), 0, 0), LeaderAndIsr(1, 0, (1,), 1, 1)),
        (KNOWN, LeaderAndIsr(1, 0, (1,), 7, 0), events.INVALID_UPDATE_VERSION),
        (KNOWN, LeaderAndIsr(1, -1, (1,), 0, 0), events.FENCED_LEADER_EPOCH),
        (UNKNOWN, LeaderAndIsr(1, 0, (1,), 0, 0), events.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_alter_isr_has_a_result_for_each_partition(
    of: TopicPartition, state: LeaderAndIsr, result: LeaderAndIsr | str
) -> None:
    cluster = started(WIDE)
    assert alter_isr(cluster, 0, of, state) == (events.NONE, {of: result})
    assert cluster.running(1).controller.active


def test_alter_isr_of_an_earlier_registration_or_to_another_broker_is_refused() -> None:
    cluster = started(WIDE)
    state = LeaderAndIsr(1, 0, (1,), 0, 0)
    assert alter_isr(cluster, -1, KNOWN, state) == (events.STALE_BROKER_EPOCH, {})
    cluster.apply(ClusterInput(MOVE))
    cluster.apply(ClusterInput(HANDLE, 1))
    assert alter_isr(cluster, 0, KNOWN, state) == (events.NOT_CONTROLLER, {})


def alter_isr(
    cluster: Cluster, later: int, of: TopicPartition, state: LeaderAndIsr
) -> tuple[str, AlterIsrResults]:
    """What broker 1 answers to itself."""
    answers: list[tuple[str, AlterIsrResults]] = []
    broker = cluster.running(1)
    broker.controller.claiming = None
    broker.controller.queue.clear()
    broker.controller.put(
        events.AlterIsrReceived(
            1, broker.epoch + later, {of: state}, lambda *answer: answers.append(answer)
        )
    )
    broker.handle()
    return answers[0]


def test_a_new_session_registers_the_broker_again() -> None:
    cluster = started(WIDE)
    cluster.apply(ClusterInput(EXPIRE, 2))
    cluster.apply(ClusterInput(RENEW, 2))
    cluster.go_on()
    assert view(cluster).nodes.brokers == (1, 2, 1)
    assert leaders(cluster, WIDE) == [1, 3, 3]


def test_a_follower_waits_for_metadata_that_has_its_leader() -> None:
    of = TopicPartition("pair", 0)
    state = {of: PartitionState(LeaderAndIsr(2, 0, (2, 1), 0, 1), (2, 1))}
    replicas = Replicas(1, set())
    replicas.available = {1}
    assert replicas.become(state) == ([], [])
    assert replicas.logs == {of}
    replicas.available = {1, 2}
    assert replicas.become(state) == ([], [of])


def test_nodes_have_the_data_that_kafka_writes() -> None:
    cluster = started(WIDE)
    read = cluster.admin.session.get
    data = {
        path: json.loads(read(path)[0])
        for path in (
            "/controller",
            "/controller_epoch",
            "/brokers/ids/2",
            "/brokers/topics/wide",
            "/brokers/topics/wide/partitions/1/state",
        )
    }
    assert data["/controller"] == {"version": 1, "brokerid": 1, "timestamp": "0"}
    assert data["/controller_epoch"] == 1
    assert data["/brokers/ids/2"]["endpoints"] == ["PLAINTEXT://localhost:9092"]
    assert data["/brokers/topics/wide"]["partitions"] == {"0": [1, 2], "1": [2, 3], "2": [3, 1]}
    assert data["/brokers/topics/wide/partitions/1/state"] == {
        "controller_epoch": 1,
        "leader": 2,
        "version": 1,
        "leader_epoch": 0,
        "isr": [2, 3],
    }


def test_a_handler_is_called_for_one_change_after_a_read_and_not_for_a_deletion() -> None:
    cluster = started(ONLY_THIRD)
    access, of = Access(cluster.admin.session), TopicPartition("third", 0)
    called = []

    def write() -> None:
        state = cluster.admin.state(of)
        assert state is not None
        assert cluster.admin.write_isr(of, state) == state.version + 1

    access.handle_state(of, lambda: called.append(1))
    write()
    assert called == []  # nothing has been read
    access.state(of)
    write()
    write()
    assert called == [1]
    access.state(of)
    delete(cluster.admin.session, nodes.state_path(of))
    assert called == [1]


def test_a_watch_without_a_handler_does_nothing_until_one_is_registered_again() -> None:
    cluster = started(ONLY_THIRD)
    access, of = Access(cluster.admin.session), TopicPartition("third", 0)
    called = []
    access.handle_state(of, lambda: called.append(1))
    state = access.state(of)
    assert state is not None
    access.ignore_state(of)
    access.handle_state(of, lambda: called.append(2))
    access.write_isr(of, state)
    assert called == [2]
    access.state(of)
    access.ignore_state(of)
    access.write_isr(of, state._replace(version=state.version + 1))
    assert called == [2]


def test_without_metadata_no_update_is_sent() -> None:
    cluster = Cluster(EmbeddedStore(), 1, (ONLY_THIRD,), Options(metadata=Metadata.NONE))
    cluster.apply(ClusterInput(START, 1))
    cluster.go_on()
    broker = cluster.running(1)
    assert isinstance(broker, Broker)
    assert broker.live == {}
