"""A real cluster: sequences that it keeps its promises in, and what is done to it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from groupcheck.model.brokers import (
    COMMIT,
    CREATE,
    DELETE,
    ELECT,
    EXPIRE,
    KILL,
    MOVE,
    START,
    ClusterInput,
)
from groupcheck.properties.cluster.real.actions import PAUSE, RESUME, Action, random_sequence
from groupcheck.properties.cluster.real.driver import RealCluster
from groupcheck.properties.cluster.real.promises import unsettled
from groupcheck.properties.cluster.real.verify import Limits, trace_of, verify_sequences
from groupcheck.properties.cluster.real.views import ClusterView
from support.needs import needs_broker
from support.real_clusters import real_cluster

pytestmark = needs_broker("kafka:2.7")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    """One cluster for all tests."""
    with real_cluster("kafka-cluster:2.7") as running:
        yield running


def _settled(cluster: RealCluster, *inputs: ClusterInput) -> ClusterView:
    """The view after these inputs, each of which the cluster settles after."""
    for given in inputs:
        assert cluster.is_possible(given), given
        assert cluster.do(given) == ""
        view = cluster.settle()[-1]
        assert unsettled(view) == []
    return view


def _of(name: str, *brokers: int) -> list[ClusterInput]:
    return [ClusterInput(name, broker=broker) for broker in brokers]


def _topic(name: str, *topics: int) -> list[ClusterInput]:
    return [ClusterInput(name, topic=topic) for topic in topics]


@pytest.fixture(autouse=True)
def sequence(cluster: RealCluster) -> Iterator[None]:
    """Each test is a sequence of its own."""
    assert unsettled(cluster.begin()) == []
    yield
    assert unsettled(cluster.recover()[-1]) == []
    assert unsettled(cluster.clean()[-1]) == []


def test_the_controller_moves_when_its_session_ends_and_it_registers_again(
    cluster: RealCluster,
) -> None:
    before = _settled(cluster, *_topic(CREATE, 0))
    view = _settled(cluster, *_of(EXPIRE, 1))
    assert (before.controller, before.controller_epoch) == (1, 1)
    assert view.controller_epoch == 2
    assert view.registered[0] > before.registered[0]
    topic = view.topics[0]
    assert topic is not None
    assert topic.partition is not None
    assert topic.partition.leader == 2
    assert set(topic.partition.isr) == {1, 2}


def test_a_topic_is_deleted_with_its_offset_when_its_killed_replica_runs_again(
    cluster: RealCluster,
) -> None:
    view = _settled(cluster, *_topic(CREATE, 0), *_topic(COMMIT, 0))
    assert view.group is not None
    assert view.group.offsets == (1, -1, -1)
    view = _settled(cluster, *_of(KILL, 2), *_of(EXPIRE, 2), *_topic(DELETE, 0))
    assert view.deletions == (True, False, False)
    view = _settled(cluster, *_of(START, 2))
    assert (view.topics[0], view.deletions) == (None, (False, False, False))
    assert view.group is not None
    assert view.group.offsets == (-1, -1, -1)


def test_a_paused_controller_that_has_lost_its_session_resigns_when_it_goes_on(
    cluster: RealCluster,
) -> None:
    view = _settled(cluster, *_topic(CREATE, 1), *_of(PAUSE, 1), *_of(EXPIRE, 1))
    assert view.controller in {2, 3}
    assert view.controller_epoch == 2
    view = _settled(cluster, *_of(RESUME, 1))
    assert view.controller != 1
    assert all(answers.controller == view.controller for answers in view.answers if answers)


def test_the_preferred_leader_is_elected_after_a_failover(cluster: RealCluster) -> None:
    view = _settled(cluster, *_topic(CREATE, 1), *_of(KILL, 3), *_of(EXPIRE, 3), *_of(START, 3))
    assert view.topics[1] is not None
    assert view.topics[1].partition is not None
    assert view.topics[1].partition.leader == 1
    view = _settled(cluster, *_topic(ELECT, 1))
    assert view.topics[1] is not None
    assert view.topics[1].partition is not None
    assert view.topics[1].partition.leader == 3


def test_the_deletion_of_an_unknown_topic_ends(cluster: RealCluster) -> None:
    assert _settled(cluster, *_topic(DELETE, 2)).deletions == (False, False, False)


def test_a_cluster_keeps_its_promises_in_a_random_sequence(cluster: RealCluster) -> None:
    random = Random(4)
    # docs/real-clusters.md says what a deletion may show while a broker has no session.
    actions = tuple(
        Action(given) for given, _ in random_sequence(random) if given.name not in {DELETE, PAUSE}
    )
    limits = Limits(sequences=1, time_s=20, minimise_s=0, disk_s=0)
    result = verify_sequences(cluster, iter([actions]), limits, lambda _: None)
    assert (result.findings, result.failures) == ({}, [])


def test_the_views_of_a_sequence_that_follows_at_once_are_not_taken(cluster: RealCluster) -> None:
    actions = [
        Action(ClusterInput(CREATE, topic=0), at_once=True),
        Action(ClusterInput(MOVE)),
    ]
    first, second, *_ = trace_of(cluster, actions, None).steps
    assert first.view is None
    assert second.view is not None
