"""Article 002: how long a rebalance waits, and when each session ends, in seconds.

Seconds are those after 10:00:00 where the article gives times of day. The rules are those of Kafka
0.10.0. While a request of a member is parked its session cannot end, so the model has no timer
then. In the article the timer continues without effect. So it does in Kafka during a parked
JoinGroup; during a parked SyncGroup it completes at once (GroupCoordinator.scala:686).
"""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode
from support.consumers import Consumers

JUST = 0.001  # a millisecond


def _stable(group: Consumers, *names: str) -> Consumers:
    """All have joined and have their assignments; the first member leads."""
    first, *others = names
    for name in (first, *others, first) if others else names:
        group.join(name)
    for name in names:
        group.sync(name)
    assert group.broker.state == "Stable"
    return group


def _two_of_10_and_5_s() -> Consumers:
    return Consumers("0.10.0", {"C1": 10, "C2": 5}, group_min_session_timeout_ms=5_000)


def test_first_member_does_not_wait_for_its_session_timeout() -> None:
    group = _two_of_10_and_5_s()
    assert group.join("C1").answered
    assert group.join_deadline_s() is None


@pytest.mark.parametrize("names", [("C1", "C2"), ("C2", "C1")])
def test_of_session_timeouts_of_10_and_5_s_the_longer_one_limits_the_rebalance(
    names: tuple[str, str],
) -> None:
    group = _two_of_10_and_5_s()
    there, new = names
    _stable(group, there)
    group.join(new)
    assert group.join_deadline_s() == 10


def test_a_second_member_waits_10_s_for_the_session_of_the_first() -> None:
    group = _two_of_10_and_5_s()
    _stable(group, "C1")
    second = group.join("C2")
    group.at(10 - JUST)
    # Its own session of 5 s does not run while it waits.
    assert not second.answered
    group.at(10)
    # The first member's session ends with the rebalance timeout; either one removes it.
    assert second.answer.error_code is ErrorCode.NONE
    assert group.members == ["C2"]


def test_a_first_member_that_rejoins_within_10_s_stays() -> None:
    group = _two_of_10_and_5_s()
    _stable(group, "C1")
    second = group.join("C2")
    group.at(10 - JUST)
    first = group.join("C1")
    assert [call.answer.generation_id for call in (first, second)] == [2, 2]
    assert group.members == ["C1", "C2"]


def test_the_session_of_the_missing_member_ends_before_the_rebalance_timeout() -> None:
    # In the article a new member waits for the whole timeout. But in this version no heartbeat
    # counts while a rebalance is prepared, so a session always ends first.
    group = _stable(Consumers("0.10.0", {"C1": 10, "C2": 20}), "C1")
    group.at(4)
    second = group.join("C2")
    assert group.join_deadline_s() == 24
    group.at(9)
    assert group.heartbeat("C1") is ErrorCode.REBALANCE_IN_PROGRESS
    group.at(10 - JUST)
    assert not second.answered
    group.at(10)
    assert second.answered
    assert group.members == ["C2"]


def _member_of_5_s() -> Consumers:
    """The leader of the article's 5 s example, and a member whose sync can wait for it."""
    group = Consumers("0.10.0", {"C1": 60, "C2": 5}, group_min_session_timeout_ms=5_000)
    for name in ("C1", "C2", "C1"):
        group.join(name)
    return group


def test_a_member_of_5_s_that_is_admitted_at_0_s_has_until_5_s() -> None:
    group = _member_of_5_s()
    assert group.deadline_s("C2") == 5
    group.at(5 - JUST)
    assert group.members == ["C1", "C2"]
    group.at(5)
    assert group.members == ["C1"]


def test_a_member_of_5_s_that_syncs_at_1_s_has_until_6_s() -> None:
    group = _member_of_5_s()
    group.sync("C1")
    group.at(1)
    assert group.sync("C2").answered
    assert group.deadline_s("C2") == 6
    group.at(6 - JUST)
    assert group.members == ["C1", "C2"]
    group.at(6)
    assert group.members == ["C1"]


def test_a_member_of_5_s_whose_sync_is_answered_at_3_s_has_until_8_s() -> None:
    group = _member_of_5_s()
    group.at(1)
    second = group.sync("C2")
    assert group.deadline_s("C2") is None
    group.at(3)
    group.sync("C1")
    assert second.answered
    assert group.deadline_s("C2") == 8
    group.at(8 - JUST)
    assert group.members == ["C1", "C2"]
    group.at(8)
    assert group.members == ["C1"]


def test_a_member_of_5_s_does_not_expire_while_its_sync_waits() -> None:
    group = _member_of_5_s()
    group.at(1)
    second = group.sync("C2")
    group.at(50)
    assert group.members == ["C1", "C2"]
    group.sync("C1")
    assert second.answered
    assert group.deadline_s("C2") == 55


def test_a_heartbeat_restarts_the_session_only_in_stable() -> None:
    # The article says that a heartbeat is handled unconditionally.
    group = _stable(Consumers("0.10.0"), "C1")
    group.at(4)
    assert group.heartbeat("C1") is ErrorCode.NONE
    assert group.deadline_s("C1") == 14
    group.join("C2")
    group.at(8)
    assert group.heartbeat("C1") is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.deadline_s("C1") == 14
    group.join("C1")
    assert group.deadline_s("C1") == 18
    group.at(9)
    assert group.heartbeat("C1") is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.deadline_s("C1") == 18


THREE = {"C1": 10, "C2": 20, "C3": 40}


def _three_admitted() -> Consumers:
    """Members of 10, 20 and 40 s, admitted at 10:00:00; the last of them leads."""
    group = Consumers("0.10.0", THREE)
    for name in ("C3", "C2", "C1", "C3"):
        group.join(name)
    return group


def test_members_of_10_20_and_40_s_admitted_at_10_00_00_have_until_10_00_10_20_and_40() -> None:
    group = _three_admitted()
    assert [group.deadline_s(name) for name in THREE] == [10, 20, 40]
    group.at(10 - JUST)
    assert group.members == ["C1", "C2", "C3"]
    group.at(10)
    assert group.members == ["C2", "C3"]
    assert group.broker.state == "PreparingRebalance"


def test_a_sync_at_10_00_03_keeps_a_member_of_10_s_alive_beyond_10_00_13() -> None:
    group = _three_admitted()
    group.at(3)
    first = group.sync("C1")
    group.at(13)
    assert group.members == ["C1", "C2", "C3"]
    group.at(20 - JUST)
    assert group.members == ["C1", "C2", "C3"]
    assert not first.answered
    # The second has not synced: when it is removed, the first has to rejoin.
    group.at(20)
    assert group.members == ["C1", "C3"]
    assert first.answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.deadline_s("C1") == 30


def test_leaders_assignments_restart_only_the_sessions_of_members_that_wait_for_them() -> None:
    group = _three_admitted()
    group.at(1)
    group.sync("C1")
    group.at(3)
    group.sync("C3")
    assert [group.deadline_s(name) for name in THREE] == [13, 20, 43]
    group.at(4)
    group.sync("C2")
    assert [group.deadline_s(name) for name in THREE] == [13, 24, 43]


def _third_joins_two() -> Consumers:
    """C1 and C2 got their assignments at 10:00:00; C3 joins at 10:00:02, C1 again at 10:00:03."""
    group = _stable(Consumers("0.10.0", THREE), "C1", "C2")
    assert [group.deadline_s(name) for name in ("C1", "C2")] == [10, 20]
    group.at(2)
    group.join("C3")
    group.at(3)
    group.join("C1")
    assert group.broker.state == "PreparingRebalance"
    return group


def test_two_members_and_one_of_40_s_that_join_until_10_00_15_have_until_25_35_and_55() -> None:
    group = _third_joins_two()
    # Not until 10:00:13, and not even until 10:00:10: it waits, and so it is alive.
    assert group.deadline_s("C1") is None
    assert group.deadline_s("C2") == 20
    group.at(15 - JUST)
    assert group.broker.state == "PreparingRebalance"
    assert group.members == ["C1", "C2", "C3"]
    group.at(15)
    assert group.join("C2").answered
    assert [group.deadline_s(name) for name in THREE] == [25, 35, 55]
    assert [group.generation(name) for name in THREE] == [3, 3, 3]


def test_the_others_go_on_at_10_00_20_without_the_second_member() -> None:
    group = _third_joins_two()
    group.at(20 - JUST)
    assert group.members == ["C1", "C2", "C3"]
    assert group.generation("C1") == 2
    group.at(20)
    assert group.members == ["C1", "C3"]
    assert [group.generation(name) for name in THREE] == [3, 2, 3]
    assert [group.deadline_s(name) for name in ("C1", "C3")] == [30, 60]
    # It has to rejoin as a new member.
    assert group.join("C2").answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID
