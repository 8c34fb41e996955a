"""Differences between the versions in JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.classic.instances.inputs import (
    GROUP_ID,
    INSTANCE,
    NO_INSTANCE,
    OTHER_PROTOCOLS,
    commit,
)
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, FailAppends, Group
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import DescribeGroupsRequest, ErrorCode, Request, RequestBody
from support.marked_tests import differ
from support.requests import REBALANCE_MS, SESSION_MS, heartbeat, join, leave, partition_error, sync
from support.scenario import DELAY, run

V0_10_0, V0_10_2, V2_7, V4_1 = PROFILES.values()
OLD, NEW = (V0_10_2, V2_7), (V2_7, V4_1)
NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS
INCONSISTENT = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
FULL = ErrorCode.GROUP_MAX_SIZE_REACHED
Profiles = tuple[Profile, ...]
Given = RequestBody | Input


def static(version: int = 7, **changed: Any) -> Request:
    """A JoinGroup of a static member without a member id."""
    return Request(0, version, join(instance=INSTANCE, **changed))


STABLE: tuple[Given, ...] = (join(), DELAY, sync("#1"))  # the group of #1 alone
LEADER: tuple[Given, ...] = (static(), *STABLE[1:])  # the same, of a static member
# Generation 2 of #1, which leads, and #3, before the assignments.
TWO: tuple[Given, ...] = (join(), DELAY, join(), join("#1"))


def responses(profiles: Profiles, *inputs: Given) -> list[Any]:
    """The response to the last input in each version, None without one."""
    return [run(profile, *inputs).answers.get(len(inputs)) for profile in profiles]


def errors(profiles: Profiles, *inputs: Given) -> list[ErrorCode]:
    """The error of the response to the last input in each version."""
    return [
        partition_error(response) if hasattr(response, "topics") else response.error_code
        for response in responses(profiles, *inputs)
    ]


def groups(profiles: Profiles, *inputs: Given) -> list[Group]:
    """The group after the inputs in each version."""
    found = [run(profile, *inputs).coordinator.group for profile in profiles]
    return [group for group in found if group is not None]


def states(profiles: Profiles, *inputs: Given) -> list[str]:
    """The state of the group after the inputs in each version."""
    return [group.state.value for group in groups(profiles, *inputs)]


def limited(profiles: Profiles, most: int) -> Profiles:
    """The same versions with a maximum size of groups."""
    return tuple(p._replace(config=p.config._replace(group_max_size=most)) for p in profiles)


@differ("initial delay")
def test_a_new_group_waits_for_more_members_from_2_7_on() -> None:
    assert states(OLD, join()) == ["CompletingRebalance", "PreparingRebalance"]


@differ("initial delay")
def test_a_new_member_extends_the_initial_delay_of_a_later_generation_only_in_4_1() -> None:
    # All members leave generation 1; another joins in the next delay.
    steps = (join(), DELAY, leave("#1"), join(), join(), DELAY)
    assert states(NEW, *steps) == ["CompletingRebalance", "PreparingRebalance"]
    assert states((V4_1,), *steps, DELAY) == ["CompletingRebalance"]


@differ("member id before the join")
def test_a_member_gets_its_id_first_from_2_7_and_version_4_of_join_group_on() -> None:
    assert V0_10_2.max_versions["JoinGroup"] < 4 <= V2_7.max_versions["JoinGroup"]
    assert errors((V0_10_2,), join()) == [NONE]
    (response,) = responses((V2_7,), Request(1, 4, join()))
    assert response.error_code is ErrorCode.MEMBER_ID_REQUIRED
    (group,) = groups((V2_7,), Request(1, 4, join()))
    assert [pending.member_id for pending in group.pending] == [response.member_id]


@differ("first member without protocols")
def test_a_first_member_without_protocols_blocks_the_group_until_2_7_rejects_it() -> None:
    rejected = join(protocols=())
    assert errors(OLD, rejected) == [ErrorCode.UNKNOWN_SERVER_ERROR, INCONSISTENT]
    assert states(OLD, rejected) == ["PreparingRebalance", "Empty"]
    later = (rejected, Advance(10**9), join())
    assert errors((V0_10_2,), *later) == [INCONSISTENT]
    assert states((V0_10_2,), *later) == ["PreparingRebalance"]


@differ("generation of a rejected join")
def test_a_rejected_join_has_generation_0_before_2_7_and_then_minus_1() -> None:
    assert [r.generation_id for r in responses(OLD, join("nobody"))] == [0, -1]


@differ("parked join of a member that leaves")
def test_parked_join_of_a_leaving_member_is_answered_from_2_7_on() -> None:
    changed = join("#1", protocols=OTHER_PROTOCOLS)
    steps = (join(), join(), join("#1"), DELAY, DELAY, changed, leave("#1"))
    old, new = (run(profile, *steps).answers for profile in OLD)
    assert 6 not in old
    assert new[6].error_code is UNKNOWN


@differ("heartbeat before the assignments")
def test_heartbeat_before_the_assignments_is_accepted_from_2_7_on() -> None:
    assert errors(OLD, join(), DELAY, heartbeat()) == [REBALANCING, NONE]


@differ("generation of an early heartbeat")
def test_the_generation_of_an_early_heartbeat_is_checked_from_2_7_on() -> None:
    steps = (join(), DELAY, heartbeat("#1", 7))
    assert errors(OLD, *steps) == [REBALANCING, ErrorCode.ILLEGAL_GENERATION]


@differ("commit before the assignments")
def test_the_member_of_an_early_commit_is_checked_from_2_7_on() -> None:
    assert errors(OLD, join(), DELAY, commit(1, "nobody")) == [REBALANCING, UNKNOWN]


@differ("group that does not exist")
def test_commit_after_all_members_have_left_is_illegal_generation_in_0_10_0() -> None:
    found = errors((V0_10_0, *OLD), *STABLE, leave("#1"), commit(1, "#1"))
    assert found == [ErrorCode.ILLEGAL_GENERATION, UNKNOWN, UNKNOWN]


@differ("maximum size")
def test_a_full_group_rejects_members_from_2_7_on() -> None:
    every = limited(tuple(PROFILES.values()), 1)
    assert [len(group.members) for group in groups(every, join(), join())] == [2, 2, 1, 1]
    assert errors(limited(NEW, 1), join(), join()) == [FULL, FULL]


@differ("maximum size")
def test_a_static_member_that_rejoins_a_full_group_loses_its_instance_id_only_in_2_7() -> None:
    full, steps = limited(NEW, 1), (*LEADER, static())
    assert errors(full, *steps) == [FULL, FULL]
    for group, member_id in zip(groups(full, *steps), (None, "#1"), strict=True):
        assert [member.member_id for member in group.members] == ["#1"]
        assert group.static(INSTANCE) == member_id


def test_rejected_member_may_complete_the_join_phase_only_in_2_7() -> None:
    # #1 joins again and #8 is new; then #3 is one too many.
    steps = (*TWO, sync("#1", 2), sync("#3", 2), join("#1"), join(), join("#3"))
    full, expected = limited(NEW, 2), ["CompletingRebalance", "PreparingRebalance"]
    assert errors(full, *steps) == [FULL, FULL]
    assert states(full, *steps) == expected
    assert states(full, *steps, Advance(REBALANCE_MS - 1)) == expected
    assert states(full[1:], *steps, Advance(REBALANCE_MS)) == ["CompletingRebalance"]


@differ("append that times out")
def test_a_leader_whose_append_times_out_rejoins_or_finds_the_coordinator_in_4_1() -> None:
    steps = (join(), DELAY, FailAppends(1, ErrorCode.REQUEST_TIMED_OUT), sync("#1"))
    found = errors((V0_10_0, *NEW), *steps)
    assert found == [REBALANCING, REBALANCING, ErrorCode.COORDINATOR_NOT_AVAILABLE]


@differ("timeouts of a member that rejoins")
@pytest.mark.parametrize("steps", [STABLE, LEADER], ids=["dynamic", "static"])
def test_a_member_that_rejoins_has_its_new_timeouts_only_in_4_1(steps: tuple[Given, ...]) -> None:
    changed: dict[str, Any] = {"session_ms": 20_000, "rebalance_ms": 8_000}
    again = static(**changed) if steps is LEADER else join("#1", **changed)
    members = [group.members[0] for group in groups(NEW, *steps, again)]
    timeouts_ms = [(m.session_timeout_ms, m.rebalance_timeout_ms) for m in members]
    assert timeouts_ms == [(SESSION_MS, REBALANCE_MS), (20_000, 8_000)]
    if steps is LEADER:  # its session timer still has the old timeout
        assert [member.session_left_ms for member in members] == [SESSION_MS] * 2


@differ("time to sync")
def test_a_member_that_does_not_sync_in_the_rebalance_timeout_is_removed_by_4_1() -> None:
    steps = (join(), DELAY, Advance(REBALANCE_MS - 1), heartbeat())
    assert states(NEW, *steps) == ["CompletingRebalance"] * 2
    assert states(NEW, *steps, Advance(1)) == ["CompletingRebalance", "Empty"]


@differ("sync in Stable")
def test_sync_in_stable_restarts_the_session_only_in_2_7() -> None:
    found = groups(NEW, *STABLE, Advance(1_000), sync("#1"))
    assert [g.members[0].session_left_ms for g in found] == [SESSION_MS, SESSION_MS - 1_000]


@differ("batch leave")
def test_a_batch_leaves_one_by_one_in_2_7_and_together_in_4_1() -> None:
    # The SyncGroup of #3 is parked: 2.7 answers it when #1 has left.
    steps = (*TWO, sync("#3", 2), leave("#1", "#3"))
    old, new = (run(profile, *steps).answers for profile in NEW)
    assert old[5].error_code is REBALANCING
    assert 5 not in new
    assert states(NEW, *steps) == ["Empty"] * 2
    assert {m.error_code for each in (old, new) for m in each[6].members} == {NONE}


@differ("describe")
def test_assignments_outside_stable_are_described_only_in_4_1() -> None:
    steps = (*STABLE, join(), DescribeGroupsRequest((GROUP_ID,)))
    for response, assignment in zip(responses(NEW, *steps), (b"", b"part"), strict=True):
        (group,) = response.groups
        assert group.group_state == "PreparingRebalance"
        shown = {m.member_id: (m.member_metadata, m.member_assignment) for m in group.members}
        assert shown == {"#1": (b"", assignment), "#4": (b"", b"")}


@differ("static members")
@pytest.mark.parametrize(("profile", "version"), [(V2_7, 7), (V4_1, 7), (V4_1, 8), (V4_1, 9)])
def test_replaced_leader_gets_the_members_and_skip_assignment_from_version_9_on(
    profile: Profile, version: int
) -> None:
    assert V2_7.max_versions["JoinGroup"] < 9
    skips = version == 9
    (response,) = responses((profile,), *LEADER, static(version))
    assert (response.error_code, response.generation_id) == (NONE, 1)
    assert (response.member_id, response.leader) == ("#4", "#4" if skips else "#1")
    assert [(m.member_id, m.metadata) for m in response.members] == [("#4", b"one")] * skips
    assert response.skip_assignment == skips


@differ("unregistered instance id")
@pytest.mark.parametrize(
    "body", [heartbeat(), sync("#1"), commit(1, "#1")], ids=lambda body: type(body).__name__
)
def test_unknown_instance_id_is_ignored_only_in_2_7(body: Any) -> None:
    asked = body._replace(group_instance_id=NO_INSTANCE)
    assert errors(NEW, *STABLE, asked) == [NONE, UNKNOWN]


@differ("static member that does not rejoin")
def test_absent_static_member_stays_until_the_sync_timeout_of_4_1() -> None:
    # A dynamic member, #4, leads generation 2, which #1 does not join.
    steps = (*LEADER, join(), Advance(REBALANCE_MS), sync("#4", 2))
    for group in groups(NEW, *steps):
        assert (group.state, group.leader) == ("Stable", "#4")
        assert [member.member_id for member in group.members] == ["#1", "#4"]
    old, new = groups(NEW, *steps, Advance(REBALANCE_MS))
    assert (old.state, old.static(INSTANCE)) == ("Stable", "#1")
    assert (new.state, new.static(INSTANCE)) == ("PreparingRebalance", None)
    assert [member.member_id for member in new.members] == ["#4"]
