"""Article 001: votes, generations, timeouts, and the partition of a group, with its numbers.

The rules are those of Kafka 2.7.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules.members import (
    supported_by_all,
    times_supported,
    vote_winners,
    votes,
)
from groupcheck.model.classic.state import Member
from groupcheck.model.vocabulary import ErrorCode, Protocol
from support.consumers import Consumers
from support.partition import partition_for
from support.scenario import Broker

VOTERS = (("B", "A"), ("A", "B", "C"), ("D", "B", "A"))


def _offer(*names: str) -> tuple[Protocol, ...]:
    return tuple(Protocol(name, b"topics") for name in names)


def _members(*offers: tuple[str, ...]) -> tuple[Member, ...]:
    return tuple(
        Member(
            member_id=f"member {number}",
            client_id="",
            client_host="",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            protocols=_offer(*names),
            is_new=False,
            revealed=True,
            session_left_ms=10_000,
        )
        for number, names in enumerate(offers, 1)
    )


def _chosen(*offers: tuple[str, ...]) -> str | None:
    """The protocol of the first generation of members with these offers."""
    broker = Broker()
    calls = [broker.join(protocols=_offer(*names)) for names in offers]
    broker.wait(6_000)  # the initial delay, extended once because others joined during it
    (chosen,) = {call.answer.protocol_name for call in calls}
    return chosen


def test_of_strategies_a_to_d_two_members_vote_for_b_and_one_for_a() -> None:
    members = _members(*VOTERS)
    assert [name for name in "ABCD" if supported_by_all(members, name)] == ["A", "B"]
    assert votes(members) == {"B": 2, "A": 1}
    assert vote_winners(members) == ["B"]


@pytest.mark.parametrize("offers", list(permutations(VOTERS)), ids=str)
def test_strategy_b_is_chosen_in_any_order_of_the_three_members(
    offers: tuple[tuple[str, ...], ...],
) -> None:
    assert _chosen(*offers) == "B"


def test_the_order_of_a_members_strategies_is_its_preference() -> None:
    reordered = (("A", "B"), *VOTERS[1:])
    assert votes(_members(*reordered)) == {"A": 2, "B": 1}
    assert _chosen(*reordered) == "A"


BALLOTS = (("range", "round-robin"), ("range",), ("round-robin", "sticky"))


def test_range_and_round_robin_count_twice_and_sticky_once() -> None:
    members = _members(*BALLOTS)
    counts = {name: times_supported(members, name) for name in ("range", "round-robin", "sticky")}
    assert counts == {"range": 2, "round-robin": 2, "sticky": 1}


@pytest.mark.parametrize(
    "offers", [BALLOTS, (("range",), ("range",), ("roundrobin",))], ids=["ballots", "set"]
)
def test_a_third_member_that_shares_no_strategy_with_both_others_is_rejected(
    offers: tuple[tuple[str, ...], ...],
) -> None:
    # The article counts these as the strategies of one group. In Kafka there is no such group:
    # the third offers no protocol that all members support.
    broker = Broker()
    calls = [broker.join(protocols=_offer(*names)) for names in offers]
    assert [call.answered for call in calls] == [False, False, True]
    assert calls[2].answer.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    broker.wait(6_000)
    assert {call.answer.protocol_name for call in calls[:2]} == {"range"}


def test_testgroup_is_in_partition_27_of_50() -> None:
    assert partition_for("testgroup", 50) == 27


def _stable(*names: str, **settings: int) -> Consumers:
    """At 6 s all have joined and get their assignments; the first member is the leader."""
    group = Consumers("2.7", {}, 300, **settings)
    for name in names:
        group.join(name)
    group.at(6)
    for name in names:
        group.sync(name)
    assert (group.broker.state, group.broker.generation_id) == ("Stable", 1)
    return group


def test_a_group_of_three_is_in_generation_2_after_a_leave_and_in_3_after_a_join() -> None:
    group = _stable("C1", "C2", "C3")
    assert group.members == ["C1", "C2", "C3"]
    group.leave("C2")
    for name in ("C1", "C3"):
        group.join(name)
    assert (group.broker.generation_id, group.members) == (2, ["C1", "C3"])
    for name in ("C1", "C3"):
        group.sync(name)
    for name in ("C4", "C1", "C3"):
        group.join(name)
    for name in ("C1", "C3", "C4"):
        group.sync(name)
    assert (group.broker.generation_id, group.members) == (3, ["C1", "C3", "C4"])
    # A member of an older generation cannot commit.
    assert group.commit("C1", generation_id=3) is ErrorCode.NONE
    assert group.commit("C1", generation_id=2) is ErrorCode.ILLEGAL_GENERATION


def _rebalance_without_the_follower() -> Consumers:
    """Session 10 s, max.poll.interval.ms 300 s; at 10 s the leader joins again, and C2 does not."""
    group = _stable("C1", "C2")
    group.at(10)
    for name in ("C1", "C2"):
        assert group.heartbeat(name) is ErrorCode.NONE
    assert not group.join("C1").answered
    return group


def test_a_rebalance_may_take_the_300_s_of_max_poll_interval_not_the_10_s_of_a_session() -> None:
    group = _rebalance_without_the_follower()
    for seconds in range(19, 310, 9):
        group.at(seconds)
        assert group.heartbeat("C2") is ErrorCode.REBALANCE_IN_PROGRESS
    group.at(309.999)
    assert group.broker.state == "PreparingRebalance"
    group.at(310)
    assert group.broker.state == "CompletingRebalance"
    assert group.members == ["C1"]


def test_a_member_silent_for_the_10_s_of_its_session_is_removed_and_the_rebalance_goes_on() -> None:
    group = _rebalance_without_the_follower()
    group.at(19.999)
    assert group.members == ["C1", "C2"]
    group.at(20)
    assert group.members == ["C1"]
    assert group.broker.state == "CompletingRebalance"


def test_a_silent_members_session_starts_the_rebalance_of_a_stable_group() -> None:
    group = _stable("C1", "C2")
    group.at(10)
    group.heartbeat("C1")
    group.at(15.999)
    assert group.broker.state == "Stable"
    group.at(16)
    assert group.broker.state == "PreparingRebalance"
    assert group.members == ["C1"]


# The article says 5 min, as in Kafka 0.10.2; 2.7 allows 30 (KafkaConfig.scala:168).
@pytest.mark.parametrize(("version", "longest_s"), [("2.7", 1_800), ("0.10.2", 300)])
def test_a_session_timeout_is_at_least_6_s_and_at_most_30_min_or_5(
    version: str, longest_s: int
) -> None:
    def rejected(session_ms: int) -> bool:
        call = Broker(PROFILES[version]).join(session_ms=session_ms)
        return call.answered and call.answer.error_code is ErrorCode.INVALID_SESSION_TIMEOUT

    longest_ms = longest_s * 1_000
    timeouts_ms = (5_999, 6_000, longest_ms, longest_ms + 1)
    assert [rejected(ms) for ms in timeouts_ms] == [True, False, False, True]


# Step 4 of a JoinGroup: whether the group is full depends on its state.


def test_an_empty_group_is_never_full() -> None:
    broker = Broker(group_max_size=1)
    given = [broker.join(id_required=True).answer for _ in range(2)]
    assert {answer.error_code for answer in given} == {ErrorCode.MEMBER_ID_REQUIRED}
    assert broker.state == "Empty"
    assert not broker.join(given[0].member_id, id_required=True).answered
    assert broker.state == "PreparingRebalance"
    refused = broker.join(given[1].member_id, id_required=True).answer
    assert refused.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_rebalancing_group_is_full_when_so_many_members_wait_for_it() -> None:
    group = _stable("C1", "C2", group_max_size=2)
    group.join("C1")
    # A new member is admitted: one waits so far, though there are two members.
    third = group.join("C3")
    assert not third.answered
    again = group.join("C1")
    assert not again.answered
    assert group.members == ["C1", "C2", "C3"]
    assert group.join("C4").answer.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.broker.state == "PreparingRebalance"
    # An existing member is rejected too. It is removed, and the group waits for no member.
    second = group.join("C2").answer
    assert (second.error_code, second.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert group.members == ["C1", "C3"]
    assert third.answer.error_code is again.answer.error_code is ErrorCode.NONE
    assert group.broker.state == "CompletingRebalance"


@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_any_other_group_is_full_when_it_has_so_many_members_and_admits_each_of_them(
    state: str,
) -> None:
    group = _stable("C1", "C2", group_max_size=3)
    group.join("C3")
    for name in ("C1", "C2"):
        group.join(name)
    if state == "Stable":
        group.sync("C1")
    assert group.broker.state == state
    assert group.join("C4").answer.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.join("C3").answer.error_code is ErrorCode.NONE
    assert (group.broker.state, group.members) == (state, ["C1", "C2", "C3"])
    group.leave("C3")
    assert not group.join("C4").answered
