"""A cluster on a store whose calls fail: what it promises holds, and afterwards it settles."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.implementation.cluster.cluster import Cluster, ImpossibleError, PlannedTopic
from groupcheck.implementation.cluster.nodes import TopicPartition
from groupcheck.implementation.cluster.store import Create, Delete, SetData, StoreError
from groupcheck.model.brokers import (
    CLAIM,
    CREATE,
    DELETE,
    DELIVER,
    ELECT,
    EXPIRE,
    HANDLE,
    KILL,
    MOVE,
    RENEW,
    START,
    ClusterInput,
)
from support.faulty_store import MILD, Fault, FaultyStore

BROKERS = (1, 2, 3)
TOPICS = (
    PlannedTopic("wide", ((1, 2), (2, 3), (3, 1))),
    PlannedTopic("__consumer_offsets", ((2, 3, 1),)),
)
MOST_CALLS = 400

inputs = st.one_of(
    st.builds(ClusterInput, st.sampled_from((START, KILL, EXPIRE)), st.sampled_from(BROKERS)),
    st.builds(ClusterInput, st.just(MOVE)),
    st.builds(
        ClusterInput,
        st.sampled_from((CREATE, DELETE, ELECT)),
        topic=st.integers(0, len(TOPICS) - 1),
    ),
)
turns = st.lists(st.sampled_from(BROKERS), max_size=12)
walks = st.lists(st.tuples(inputs, turns), max_size=12)


def faults(*kinds: Fault) -> st.SearchStrategy[dict[int, Fault]]:
    return st.dictionaries(st.integers(1, MOST_CALLS), st.sampled_from(kinds), max_size=10)


def give(cluster: Cluster, given_input: ClusterInput) -> None:
    """Let something happen; a store that fails, or an impossible input, is no defect."""
    try:
        cluster.apply(given_input)
    except (ImpossibleError, StoreError):
        return
    cluster.settle()


def turn(cluster: Cluster, number: int) -> None:
    """The next of what a broker does by itself, in whatever state the others are."""
    broker = cluster.machines[number].broker
    if broker is None:
        return
    controller = broker.controller
    if not broker.renewing and not broker.access.session.alive:
        give(cluster, ClusterInput(RENEW, number))
    elif controller.claiming is not None:
        give(cluster, ClusterInput(CLAIM, number))
    elif controller.queue:
        give(cluster, ClusterInput(HANDLE, number))
    else:
        for receiver in [each for each, queue in controller.channels.queues.items() if queue]:
            give(cluster, ClusterInput(DELIVER, receiver, sender=number))


def run(store: FaultyStore, walk: list[tuple[ClusterInput, list[int]]]) -> Cluster:
    """Start the brokers and create the topics, and then walk; nothing but documented errors."""
    cluster = Cluster(store, len(BROKERS), TOPICS)
    beginning = [
        *(ClusterInput(START, number) for number in BROKERS),
        *(ClusterInput(CREATE, topic=number) for number in range(len(TOPICS))),
    ]
    for given_input in beginning:
        give(cluster, given_input)
        for _ in range(4):
            cluster.step()
            check_controllers(cluster, store)
    for given_input, brokers in walk:
        give(cluster, given_input)
        for number in brokers:
            turn(cluster, number)
            check_controllers(cluster, store)
    return cluster


def check_controllers(cluster: Cluster, store: FaultyStore) -> None:
    active = [
        machine.broker.controller.context.epoch
        for machine in cluster.machines.values()
        if machine.broker is not None and machine.broker.controller.active
    ]
    claimed = [each for each in active if each]
    assert len(set(claimed)) == len(claimed)
    assert set(claimed) <= set(store.writes.epochs)


def restart_all(cluster: Cluster) -> None:
    """Restart the brokers one by one; and once more, when all of them run."""
    for number in (*BROKERS, *BROKERS):
        for name in (KILL, EXPIRE, START):
            give(cluster, ClusterInput(name, number))
        cluster.go_on()


def settle(cluster: Cluster, store: FaultyStore) -> None:
    store.repair()
    cluster.settle()
    cluster.go_on()


def check_settled(cluster: Cluster) -> None:
    """A controller runs, each partition has a leader that runs, and no deletion is left."""
    admin = cluster.admin
    assert sorted(admin.brokers()) == list(BROKERS)
    controller = cluster.controller().controller
    assert controller.active
    epoch = admin.read_controller_epoch()
    assert epoch == (controller.context.epoch, controller.context.epoch_version)
    assert admin.deletions() == []
    leaders = {}
    for of in admin.assignments(admin.topics()):
        state = admin.state(of)
        assert state is not None
        assert state.leader in state.isr
        assert cluster.running(state.leader).replicas.leads(of)
        leaders[of] = state.leader
    for number in BROKERS:
        assert cluster.running(number).leaders == leaders
        assert cluster.running(number).live.keys() == set(BROKERS)


@pytest.mark.slow
@given(faults(*Fault), walks)
@settings(deadline=None)
def test_promises_hold_on_a_store_that_fails_and_restarted_brokers_settle(
    failing: dict[int, Fault], walk: list[tuple[ClusterInput, list[int]]]
) -> None:
    store = FaultyStore(failing)
    cluster = run(store, walk)
    settle(cluster, store)
    restart_all(cluster)
    check_settled(cluster)


def lost_creation(store: FaultyStore) -> bool:
    """Whether the answer to the creation of a partition's state was lost.

    Kafka repeats it, takes NODEEXISTS for a failure, and the partition has no leader until another
    controller reads its state (KafkaZkClient.scala:212, PartitionStateMachine.scala:315).
    """
    return any(isinstance(each, Create) and "/state" in each.path for each in store.repeated)


@given(faults(*MILD))
@settings(deadline=None)
def test_after_lost_answers_and_late_watches_a_cluster_settles_by_itself(
    failing: dict[int, Fault],
) -> None:
    store = FaultyStore(failing)
    cluster = run(store, [])
    settle(cluster, store)
    if lost_creation(store):
        give(cluster, ClusterInput(MOVE))
        cluster.go_on()
    check_settled(cluster)
    states = [cluster.admin.state(TopicPartition("wide", number)) for number in range(3)]
    assert [None if each is None else each.leader for each in states] == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("fault", Fault)
def test_a_single_fault_at_each_call_of_a_start_leaves_a_cluster_that_settles(
    fault: Fault,
) -> None:
    happened = 0
    for call in range(1, MOST_CALLS):
        store = FaultyStore({call: fault})
        cluster = run(store, [])
        settle(cluster, store)
        happened += len(store.happened)
        if fault not in MILD or lost_creation(store):
            restart_all(cluster)
        check_settled(cluster)
    assert happened > 100


def test_a_broker_without_a_session_tries_until_the_store_can_be_reached() -> None:
    store = FaultyStore({})
    cluster = run(store, [])
    cluster.go_on()
    give(cluster, ClusterInput(EXPIRE, 2))
    store.unreachable = 3
    cluster.go_on()
    assert store.unreachable == 0
    check_settled(cluster)


GARBAGE = (b"", b"{", b"null", b"[]", b"{}", b'"7"', b'{"version":9}', b"\xff\xfe", b"[" * 100_000)


@pytest.mark.parametrize("data", GARBAGE)
@pytest.mark.parametrize(
    "path",
    [
        "/controller",
        "/controller_epoch",
        "/brokers/ids/2",
        "/brokers/ids/two",
        "/brokers/topics/wide",
        "/brokers/topics/wide/partitions/0/state",
        "/config/topics/wide",
    ],
)
def test_a_node_that_cannot_be_read_ends_no_broker_and_harms_nothing_once_it_is_gone(
    path: str, data: bytes
) -> None:
    cluster = run(FaultyStore({}), [])
    cluster.go_on()
    session = cluster.admin.session
    there = session.exists(path) is not None
    before = session.get(path)[0] if there else b""
    session.multi([SetData(path, data) if there else Create(path, data)])
    for given_input in (ClusterInput(EXPIRE, 1), ClusterInput(MOVE), ClusterInput(ELECT)):
        give(cluster, given_input)
        # With a registration that cannot be read, brokers are elected and resign without an end
        # (KafkaController.scala:1493, 1467).
        for _ in range(60):
            cluster.step()
    if session.exists(path) is not None:
        session.multi([SetData(path, before) if there else Delete(path)])
    restart_all(cluster)
    check_settled(cluster)
