"""Articles 000 and 003: which requests keep a member alive, and what starts a rebalance.

The articles give no timeouts, so this module chooses them: sessions of 10 s. The rules are those of
Kafka 0.10.2; the articles' AwaitingSync is called CompletingRebalance here.
"""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode
from support.consumers import Consumers

NAMES = ("C1", "C2")


def _joined() -> Consumers:
    """Two members that joined at 0 s; C1 leads; the assignments have not arrived."""
    group = Consumers("0.10.2")
    for name in (*NAMES, "C1"):
        group.join(name)
    return group


def _stable() -> Consumers:
    group = _joined()
    group.sync("C1", {"C1": b"0"})
    group.sync("C2")
    assert group.broker.state == "Stable"
    return group


def test_a_heartbeat_at_4_s_keeps_a_member_of_a_stable_group_alive_until_14_s() -> None:
    group = _stable()
    group.at(4)
    assert group.heartbeat("C2") is ErrorCode.NONE
    assert [group.deadline_s(name) for name in NAMES] == [10, 14]


def test_a_heartbeat_during_the_join_phase_counts_though_it_returns_an_error() -> None:
    group = _stable()
    group.at(4)
    group.join("C1")
    assert group.broker.state == "PreparingRebalance"
    assert group.heartbeat("C2") is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.deadline_s("C2") == 14


def test_a_heartbeat_before_the_assignments_fails_and_does_not_count() -> None:
    group = _joined()
    group.at(4)
    assert group.heartbeat("C2") is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.deadline_s("C2") == 10


def test_a_commit_at_4_s_carries_a_heartbeat() -> None:
    group = _stable()
    group.at(4)
    assert group.commit("C2", generation_id=2) is ErrorCode.NONE
    assert group.deadline_s("C2") == 14


def test_a_sync_at_4_s_carries_a_heartbeat() -> None:
    group = _stable()
    group.at(4)
    assert group.sync("C2").answered
    assert group.deadline_s("C2") == 14


def test_a_join_that_is_answered_at_once_carries_no_heartbeat() -> None:
    # The articles name JoinGroup too. In Kafka it keeps its member alive while it is parked, and
    # the end of the join phase counts; a follower that rejoins a stable group restarts no timer.
    group = _stable()
    group.at(4)
    assert group.join("C2").answered
    assert group.deadline_s("C2") == 10


def test_a_leader_that_rejoins_unchanged_starts_a_rebalance_and_a_follower_does_not() -> None:
    # The articles have no rebalance if the metadata is unchanged or the member is no leader;
    # in Kafka both conditions are necessary (GroupCoordinator.scala:197).
    group = _stable()
    assert group.join("C2").answered
    assert group.broker.state == "Stable"
    assert not group.join("C1").answered
    assert group.broker.state == "PreparingRebalance"


def test_the_sync_of_a_follower_waits_for_the_sync_of_the_leader() -> None:
    # The articles say that only the leader's is handled then.
    group = _joined()
    follower = group.sync("C2")
    assert not follower.answered
    group.sync("C1", {"C1": b"0", "C2": b"1"})
    assert follower.answer.assignment == b"1"


def test_a_member_without_a_partition_gets_an_empty_assignment() -> None:
    group = _stable()
    assert [group.received(name) for name in NAMES] == [[b"0"], [b""]]


@pytest.mark.parametrize("left", ["at once", "by silence"])
def test_a_group_that_lost_its_last_member_is_empty_in_the_next_generation(left: str) -> None:
    group = Consumers("0.10.2")
    group.join("C1")
    group.sync("C1")
    if left == "at once":
        group.leave("C1")
    else:
        group.at(9.999)
        assert group.broker.state == "Stable"
        group.at(10)
    assert group.broker.trail[-3:] == ("Stable", "PreparingRebalance", "Empty")
    assert group.broker.generation_id == 2
