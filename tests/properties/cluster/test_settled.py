"""In which nodes a cluster settles, by the specification."""

from __future__ import annotations

import pytest

from groupcheck.model.brokers import (
    CREATE,
    DELETE,
    EXPIRE,
    KILL,
    REASSIGN,
    START,
    Assignment,
    ClusterInput,
    Partition,
)
from groupcheck.model.cluster.sources import TAGS
from groupcheck.model.cluster.specification import Brokers, instances
from groupcheck.model.cluster.state import Cluster, Settings
from groupcheck.model.engine.exploration import explore
from groupcheck.properties.cluster import settled
from groupcheck.properties.cluster.real.oracle import compared

TWO = Settings(topics=((1, 2),), created=1, faults=9, requests=9, isr=True)


def _partitions(*inputs: ClusterInput) -> set[Partition | None]:
    return {nodes.partitions[0] for nodes in settled.allowed(TWO, inputs)}


def test_another_replica_leads_when_the_session_of_the_leader_has_ended() -> None:
    killed = ClusterInput(KILL, 1), ClusterInput(EXPIRE, 1)
    found = settled.allowed(TWO, killed)
    assert {(nodes.controller, nodes.controller_epoch) for nodes in found} == {(2, 2)}
    assert {(p.leader, p.isr) for p in _partitions(*killed) if p is not None} == {(2, (2,))}


def test_a_deletion_waits_for_a_dead_replica_and_ends_when_it_returns() -> None:
    waiting = ClusterInput(KILL, 2), ClusterInput(EXPIRE, 2), ClusterInput(DELETE, topic=0)
    assert {nodes.deletions for nodes in settled.allowed(TWO, waiting)} == {(True,)}
    (nodes,) = settled.allowed(TWO, (*waiting, ClusterInput(START, 2)))
    assert (nodes.topics, nodes.partitions, nodes.deletions) == ((False,), (None,), (False,))


@pytest.mark.slow
@pytest.mark.parametrize("version", TAGS)
def test_a_reassignment_of_a_new_topic_ends_as_on_a_real_broker(version: str) -> None:
    moved = TWO._replace(brokers=3, created=0, targets=((2, 3),), version=version)
    inputs = ClusterInput(CREATE, topic=0), ClusterInput(REASSIGN, topic=0)
    (nodes,) = set(map(compared, settled.allowed(moved, inputs)))
    assert nodes.assignments == (Assignment((2, 3)),)
    (state,) = nodes.partitions
    assert state is not None
    assert (state.leader, state.leader_epoch, state.isr) == (2, 3, (2, 3))


def test_an_input_that_is_not_possible_has_no_outcome() -> None:
    assert settled.allowed(TWO, [ClusterInput(START, 1)]) == set()


def test_a_cluster_that_may_be_in_too_many_states_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settled, "MOST_STATES", 3)
    with pytest.raises(settled.TooManyStatesError, match="more than 3 states"):
        settled.allowed(TWO._replace(faults=8), [ClusterInput(EXPIRE, 1)])


@pytest.mark.parametrize("name", ["leaders-3", "deletion-moves"])
def test_the_initial_state_of_an_instance_is_settled(name: str) -> None:
    instance = instances()[name]
    assert settled.allowed(instance.settings, []) == {instance.initial.nodes}


def test_a_cluster_that_starts_broker_by_broker_settles_in_the_initial_state_of_instances() -> None:
    starting = Settings(topics=((1, 2),), running=False, requests=1, kills=False, expires=False)
    space = explore(Brokers(starting._replace(faults=0)))
    initial: Cluster = Brokers(starting._replace(running=True, created=1)).initial
    expected = initial._replace(faults=0, requests=0)
    assert any(state == expected for state in space.nodes)
