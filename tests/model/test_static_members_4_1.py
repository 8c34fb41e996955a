"""Static members and full groups in 2.7 and 4.1: sequences that the two profiles tell apart."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.instances.environment import GROUP_ID, INSTANCE, NO_INSTANCE, commit
from groupcheck.model.instances.instance import spaces
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, Group
from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    LeaveGroupRequest,
    MemberIdentity,
    Request,
    RequestBody,
)
from support.differences import differ
from support.scenario import (
    DELAY,
    REBALANCE_MS,
    SESSION_MS,
    group_state,
    heartbeat,
    join,
    run,
    sync,
)

OLD, NEW = PROFILES["2.7"], PROFILES["4.1"]
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
NONE, UNKNOWN, FENCED = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
)
Given = RequestBody | Request | Advance


def static(version: int = 7, **changed: Any) -> Request:
    """The program with the group.instance.id joins without a member id."""
    return Request(0, version, join(group_instance_id=INSTANCE, **changed))


def give_id() -> Request:
    """A JoinGroup of the version from which an id is given first."""
    return Request(0, 4, join())


def leave(member_id: str, instance_id: str | None) -> LeaveGroupRequest:
    return LeaveGroupRequest(GROUP_ID, (MemberIdentity(member_id, instance_id),))


def group_after(profile: Profile, *inputs: Given) -> Group:
    group = run(profile, *inputs)[0].group
    assert group is not None
    return group


def limited(profile: Profile, most: int) -> Profile:
    return profile._replace(config=profile.config._replace(group_max_size=most))


# A static member, #1, that leads a Stable group alone.
LEADER: tuple[Given, ...] = (static(), DELAY, sync("#1", 1))

# A dynamic member, #4, took over in generation 2, which the static one, #1, did not join.
ABSENT: tuple[Given, ...] = (*LEADER, join(), Advance(REBALANCE_MS), sync("#4", 2))

# Generation 2 of #1, which leads, and #3, which is dynamic or static; it is Stable.
PAIR: tuple[Given, ...] = (join(), DELAY, join(), join("#1"), sync("#1", 2), sync("#3", 2))
STATIC_PAIR: tuple[Given, ...] = (*PAIR[:2], static(), *PAIR[3:])

# Then #1 joins again and #8 is new, and #3 is one too many.
REJECTED: tuple[Given, ...] = (join("#1"), join(), join("#3"))


@differ("static members")
def test_replaced_leader_gets_the_members_and_skip_assignment_from_version_9_on() -> None:
    assert OLD.max_versions["JoinGroup"] < 9
    for profile, version in (OLD, 7), (NEW, 7), (NEW, 8):
        answer = run(profile, *LEADER, static(version))[1][4]
        assert (answer.leader, answer.member_id, answer.members) == ("#1", "#4", ())
        assert not answer.skip_assignment
    answer = run(NEW, *LEADER, static(9))[1][4]
    assert (answer.error_code, answer.generation_id) == (NONE, 1)
    assert (answer.leader, answer.member_id) == ("#4", "#4")
    assert [(m.member_id, m.metadata) for m in answer.members] == [("#4", b"one")]
    assert answer.skip_assignment


def test_replaced_follower_does_not_get_skip_assignment() -> None:
    answer = run(NEW, *STATIC_PAIR, static(9))[1][7]
    assert (answer.leader, answer.member_id, answer.members) == ("#1", "#7", ())
    assert not answer.skip_assignment


def test_in_neither_a_member_that_is_back_before_the_assignments_skips_anything() -> None:
    for profile, version in (OLD, 7), (NEW, 9):
        state, answers = run(profile, static(), DELAY, static(version))
        assert group_state(state) is COMPLETING
        assert (answers[3].generation_id, answers[3].skip_assignment) == (2, False)


@differ("unregistered instance id")
@pytest.mark.parametrize(
    "asked",
    [
        heartbeat("#1", 1)._replace(group_instance_id=NO_INSTANCE),
        sync("#1", 1)._replace(group_instance_id=NO_INSTANCE),
    ],
    ids=lambda body: type(body).__name__,
)
def test_unknown_instance_id_is_ignored_only_in_2_7(
    asked: RequestBody,
) -> None:
    for profile, expected in (OLD, NONE), (NEW, UNKNOWN):
        assert run(profile, join(), DELAY, sync("#1", 1), asked)[1][4].error_code is expected


@differ("unregistered instance id")
def test_commit_with_an_unknown_instance_id_fails_only_in_4_1() -> None:
    asked = commit(1, "#1")._replace(group_instance_id=NO_INSTANCE)
    for profile, expected in (OLD, NONE), (NEW, UNKNOWN):
        answer = run(profile, join(), DELAY, sync("#1", 1), asked)[1][4]
        assert answer.topics[0].partitions[0].error_code is expected


def test_a_group_without_members_stores_offsets_under_any_group_instance_id_in_both() -> None:
    asked = commit(-1, "")._replace(group_instance_id=NO_INSTANCE)
    for profile in (OLD, NEW):
        answer = run(profile, give_id(), asked)[1][2]
        assert answer.topics[0].partitions[0].error_code is NONE


def test_member_that_leaves_with_an_unknown_instance_id_stays_only_in_4_1() -> None:
    for profile, expected, after in (OLD, NONE, EMPTY), (NEW, UNKNOWN, STABLE):
        steps = (join(), DELAY, sync("#1", 1), leave("#1", NO_INSTANCE))
        state, answers = run(profile, *steps)
        assert [m.error_code for m in answers[4].members] == [expected]
        assert group_state(state) is after


def test_a_static_member_leaves_by_its_group_instance_id_alone_in_both() -> None:
    for profile in (OLD, NEW):
        state, answers = run(profile, *LEADER, leave("", INSTANCE), leave("", INSTANCE))
        assert answers[4].members[0].error_code is NONE
        assert answers[5].members[0].error_code is UNKNOWN
        assert group_state(state) is EMPTY


def test_pending_id_that_leaves_with_an_instance_id_is_dropped_by_4_1() -> None:
    old, new = (run(profile, give_id(), leave("#1", NO_INSTANCE)) for profile in (OLD, NEW))
    assert old[1][2].error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert new[1][2].members[0].error_code is NONE
    assert [state.group and state.group.is_pending("#1") for state, _ in (old, new)] == [
        True,
        False,
    ]


def test_an_id_given_out_that_leaves_as_another_member_is_fenced_by_the_older_alone() -> None:
    for profile, expected in (OLD, FENCED), (NEW, NONE):
        answers = run(profile, *LEADER, give_id(), leave("#4", INSTANCE))[1]
        assert answers[5].members[0].error_code is expected


@differ("timeouts of a member that joins again")
def test_a_static_member_that_is_back_has_its_new_timeouts_in_the_newer_after_its_session() -> None:
    back = static(session_timeout_ms=20_000, rebalance_timeout_ms=8_000)
    for profile, expected in (OLD, (SESSION_MS, REBALANCE_MS)), (NEW, (20_000, 8_000)):
        (member,) = group_after(profile, *LEADER, back).members
        assert (member.session_timeout_ms, member.rebalance_timeout_ms) == expected
        assert member.session_left_ms == SESSION_MS


def test_a_new_static_member_that_is_back_at_once_is_no_longer_new_in_the_newer_alone() -> None:
    steps = (static(), static(), Advance(SESSION_MS))
    for profile, expected in (OLD, []), (NEW, ["#2"]):
        slow = profile.config._replace(group_initial_rebalance_delay_ms=2 * SESSION_MS)
        state, answers = run(profile._replace(config=slow), *steps)
        assert answers[1].error_code is FENCED
        assert state.group is not None
        assert [m.member_id for m in state.group.members] == expected


@differ("static member that does not join again")
def test_absent_static_member_stays_in_both_until_the_sync_timeout_of_4_1() -> None:
    for profile in (OLD, NEW):
        group = group_after(profile, *ABSENT)
        assert (group.state, group.leader) == (STABLE, "#4")
        assert [m.member_id for m in group.members] == ["#1", "#4"]
    old, new = (group_after(profile, *ABSENT, Advance(REBALANCE_MS)) for profile in (OLD, NEW))
    assert (old.state, old.static(INSTANCE)) == (STABLE, "#1")
    assert (new.state, new.static(INSTANCE)) == (PREPARING, None)
    assert [m.member_id for m in new.members] == ["#4"]


def test_the_newer_waits_for_the_sync_of_the_id_that_a_static_member_had_before() -> None:
    steps = (*ABSENT, static(), sync("#7", 2))
    for profile, expected in (OLD, STABLE), (NEW, PREPARING):
        answers = run(profile, *steps)[1]
        assert (answers[7].error_code, answers[8].error_code) == (NONE, NONE)
        group = group_after(profile, *steps, Advance(REBALANCE_MS))
        assert group.state is expected
        assert [m.member_id for m in group.members] == ["#4", "#7"]


def test_a_rebalance_ends_the_wait_for_an_id_that_a_static_member_had_before() -> None:
    waiting = group_after(NEW, *ABSENT, static())
    assert (waiting.lost_sync, waiting.sync_left_ms) == (True, REBALANCE_MS)
    steps = (*ABSENT, static(), join("#4"), join("#7"), sync("#4", 3), sync("#7", 3))
    group = group_after(NEW, *steps, Advance(REBALANCE_MS))
    assert (group.state, group.lost_sync, group.sync_left_ms) == (STABLE, False, None)


def test_an_id_given_out_that_is_one_too_many_is_forgotten_by_the_newer_alone() -> None:
    steps = (give_id(), join(), join("#1"))
    for profile, expected in (OLD, True), (NEW, False):
        state, answers = run(limited(profile, 1), *steps)
        assert answers[3].error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert state.group is not None
        assert state.group.is_pending("#1") is expected


def test_rejected_member_may_complete_the_join_phase_only_in_2_7() -> None:
    for profile, expected in (OLD, COMPLETING), (NEW, PREPARING):
        full = limited(profile, 2)
        state, answers = run(full, *PAIR, *REJECTED)
        assert answers[9].error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert group_state(state) is expected
        ended = group_after(full, *PAIR, *REJECTED, Advance(REBALANCE_MS - 1))
        assert ended.state is expected
    assert group_state(run(full, *PAIR, *REJECTED, Advance(REBALANCE_MS))[0]) is COMPLETING


def test_a_join_that_is_refused_does_not_end_the_join_phase_of_the_newer_either() -> None:
    steps = (*PAIR, *REJECTED, join("#1", protocols=()))
    for profile, expected in (OLD, COMPLETING), (NEW, PREPARING):
        state, answers = run(limited(profile, 2), *steps)
        assert answers[10].error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert group_state(state) is expected
    state, answers = run(limited(NEW, 2), *PAIR, *REJECTED, join("#1"))
    assert answers[10].error_code is NONE
    assert group_state(state) is COMPLETING


@differ("maximum size")
def test_a_static_member_back_in_a_full_group_loses_its_name_in_the_older_alone() -> None:
    for profile, expected in (OLD, None), (NEW, "#1"):
        state, answers = run(limited(profile, 1), *LEADER, static())
        assert answers[4].error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert state.group is not None
        assert [m.member_id for m in state.group.members] == ["#1"]
        assert state.group.static(INSTANCE) == expected


def test_rejected_member_loses_its_own_instance_id_only_in_4_1() -> None:
    for profile, expected in (OLD, "#3"), (NEW, None):
        group = group_after(limited(profile, 2), *STATIC_PAIR, *REJECTED)
        assert group.member("#3") is None
        assert group.static(INSTANCE) == expected


def test_every_instance_id_has_a_member_in_4_1() -> None:
    assert {"join/static-gone", "leave/static-gone"} <= OLD.rules.keys() - NEW.rules.keys()


def test_the_newer_has_the_spaces_of_static_members() -> None:
    names = {"static", "static-storing", "crowded"}
    assert names & set(spaces(OLD, 2)) == names
    assert names & set(spaces(NEW, 2)) == names
