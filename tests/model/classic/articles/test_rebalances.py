"""Article 002: three consumers in one, two and three rebalances, and the number of callbacks.

The states are those of Kafka 0.10.0, where a group begins in Stable; the article's AwaitingSync is
called CompletingRebalance here. A consumer's onPartitionsAssigned is called with each assignment
that it receives.
"""

from __future__ import annotations

from groupcheck.model.vocabulary import ErrorCode
from support.consumers import Consumers

Trail = tuple[str, ...]

BEGINNING: Trail = ("Stable",)
ROUND: Trail = ("PreparingRebalance", "CompletingRebalance", "Stable")
THREE = {"C1": b"0", "C2": b"1", "C3": b"2"}


def _all_leave(group: Consumers, *names: str) -> None:
    # In Kafka a rebalance begins when the first member leaves, and the group is dead when the
    # last has left.
    trail = group.broker.trail
    for name in names:
        group.leave(name)
    assert group.broker.trail == (*trail, "PreparingRebalance", "Dead")


def test_three_members_that_join_at_once_rebalance_twice_and_are_called_back_once() -> None:
    group = Consumers("0.10.0")
    # The third request is handled first, and a single member need not wait.
    assert group.join("C3").answer.generation_id == 1
    assert group.broker.state == "CompletingRebalance"
    second, first = group.join("C2"), group.join("C1")
    assert group.broker.state == "PreparingRebalance"
    assert group.sync("C3", {"C3": b"012"}).answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert [call.answered for call in (first, second)] == [False, False]
    third = group.join("C3")
    assert [call.answer.generation_id for call in (first, second, third)] == [2, 2, 2]
    followers = [group.sync(name) for name in ("C1", "C2")]
    assert not any(call.answered for call in followers)
    group.sync("C3", THREE)
    # The article counts one rebalance, for its assignments are handed out once; in Kafka the join
    # phase of the third alone was a generation too.
    assert group.broker.generation_id == 2
    assert group.broker.trail == (*BEGINNING, *ROUND[:2], *ROUND)
    assert group.joins_sent == {"C1": 1, "C2": 1, "C3": 2}
    assert [group.received(name) for name in THREE] == [[b"0"], [b"1"], [b"2"]]
    _all_leave(group, "C1", "C2", "C3")


def test_two_members_that_join_a_stable_group_start_its_second_rebalance() -> None:
    group = Consumers("0.10.0")
    group.join("C1")
    group.sync("C1", {"C1": b"012"})
    assert group.broker.trail == (*BEGINNING, *ROUND)
    group.at(5)
    assert group.heartbeat("C1") is ErrorCode.NONE
    second, third = group.join("C2"), group.join("C3")
    # From now on the first member cannot use its assignment: it has to rejoin.
    assert group.heartbeat("C1") is ErrorCode.REBALANCE_IN_PROGRESS
    assert [call.answered for call in (second, third)] == [False, False]
    first = group.join("C1")
    assert first.answer.leader == first.answer.member_id
    assert len(first.answer.members) == 3
    assert second.answer.members == third.answer.members == ()
    group.sync("C1", THREE)
    group.sync("C2")
    group.sync("C3")
    assert group.broker.generation_id == 2
    assert group.broker.trail == (*BEGINNING, *ROUND, *ROUND)
    assert group.joins_sent == {"C1": 2, "C2": 1, "C3": 1}
    assert [group.received(name) for name in THREE] == [[b"012", b"0"], [b"1"], [b"2"]]
    _all_leave(group, "C1", "C2", "C3")


def test_three_members_that_join_in_turn_are_called_back_three_times_twice_and_once() -> None:
    group = Consumers("0.10.0")
    group.join("C1")
    group.sync("C1", {"C1": b"012"})
    group.at(2)
    group.join("C2")
    group.join("C1")
    group.sync("C1", {"C1": b"01", "C2": b"2"})
    group.sync("C2")
    assert group.broker.trail == (*BEGINNING, *ROUND, *ROUND)
    group.at(4)
    third = group.join("C3")
    group.join("C1")
    assert not third.answered
    group.join("C2")
    assert third.answered
    for name in THREE:
        group.sync(name, THREE if name == "C1" else {})
    assert group.broker.generation_id == 3
    assert group.broker.trail == (*BEGINNING, *ROUND, *ROUND, *ROUND)
    assert group.joins_sent == {"C1": 3, "C2": 2, "C3": 1}
    assert group.received("C1") == [b"012", b"01", b"0"]
    assert group.received("C2") == [b"2", b"1"]
    assert group.received("C3") == [b"2"]
    _all_leave(group, "C1", "C2", "C3")
