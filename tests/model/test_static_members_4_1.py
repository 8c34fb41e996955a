"""Static members and full groups in 2.7 and 4.1: sequences that the two profiles tell apart."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.instances.inputs import GROUP_ID, INSTANCE, NO_INSTANCE, commit
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


@differ("timeouts of a member that joins again")
def test_a_static_member_that_is_back_has_its_new_timeouts_in_the_newer_after_its_session() -> None:
    back = static(session_timeout_ms=20_000, rebalance_timeout_ms=8_000)
    for profile, expected in (OLD, (SESSION_MS, REBALANCE_MS)), (NEW, (20_000, 8_000)):
        (member,) = group_after(profile, *LEADER, back).members
        assert (member.session_timeout_ms, member.rebalance_timeout_ms) == expected
        assert member.session_left_ms == SESSION_MS


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


def test_rejected_member_may_complete_the_join_phase_only_in_2_7() -> None:
    for profile, expected in (OLD, COMPLETING), (NEW, PREPARING):
        full = limited(profile, 2)
        state, answers = run(full, *PAIR, *REJECTED)
        assert answers[9].error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert group_state(state) is expected
        ended = group_after(full, *PAIR, *REJECTED, Advance(REBALANCE_MS - 1))
        assert ended.state is expected
    assert group_state(run(full, *PAIR, *REJECTED, Advance(REBALANCE_MS))[0]) is COMPLETING


@differ("maximum size")
def test_a_static_member_back_in_a_full_group_loses_its_name_in_the_older_alone() -> None:
    for profile, expected in (OLD, None), (NEW, "#1"):
        state, answers = run(limited(profile, 1), *LEADER, static())
        assert answers[4].error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert state.group is not None
        assert [m.member_id for m in state.group.members] == ["#1"]
        assert state.group.static(INSTANCE) == expected
