"""A controller whose replica state machine is stuck: a sequence with four faults, step by step."""

from __future__ import annotations

from typing import Final

from groupcheck.model.brokers import (
    CLAIM,
    DELETE,
    EXPIRE,
    HANDLE,
    KILL,
    MOVE,
    START,
    ClusterInput,
)
from groupcheck.model.cluster.specification import Brokers
from groupcheck.model.cluster.state import Cluster, Settings
from groupcheck.properties.cluster.settled import goes_on

INSTANCE: Final = Brokers(
    Settings(brokers=3, topics=((2, 3),), created=1, faults=9, requests=9, moves=True)
)


def _after(state: Cluster, *inputs: ClusterInput) -> tuple[Cluster, list[str]]:
    applied: list[str] = []
    for given in inputs:
        assert given in list(INSTANCE.inputs(state))
        (outcome,) = INSTANCE.successors(state, given)
        state = outcome.state
        applied += outcome.applied
    return state, applied


def _settled(state: Cluster) -> Cluster:
    while given := next(goes_on(INSTANCE, state), None):
        state, _ = _after(state, given)
    return state


def test_a_fenced_write_leaves_a_controller_that_never_deletes_a_topic_again() -> None:
    # Broker 1, the controller, is slow. Meanwhile broker 3 restarts, and broker 2 is elected.
    restarted = ClusterInput(KILL, 3), ClusterInput(EXPIRE, 3), ClusterInput(START, 3)
    elected = ClusterInput(MOVE), ClusterInput(HANDLE, 2), ClusterInput(CLAIM, 2)
    state, _ = _after(INSTANCE.initial, *restarted, *elected)
    state, applied = _after(state, ClusterInput(HANDLE, 1))
    assert applied[-3:] == ["write/fenced", "event/moved", "election/resign"]
    assert state.broker(1).stuck

    state, _ = _after(_settled(state), ClusterInput(MOVE), ClusterInput(HANDLE, 1))
    state, applied = _after(state, ClusterInput(CLAIM, 1))
    assert "replica/stuck" in applied
    state, _ = _after(_settled(state), ClusterInput(DELETE, topic=0))
    after = _settled(state)
    assert after.nodes.controller == 1
    assert all(broker.running for broker in after.brokers)
    assert after.nodes.deletions == (True,)
    assert after.nodes.topics == (True,)
