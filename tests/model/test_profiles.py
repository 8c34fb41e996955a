"""What differs between the versions: for each a sequence that two profiles tell apart."""

from __future__ import annotations

import pytest

from groupcheck.model.engine.graph import check_every_rule_is_reached
from groupcheck.model.instances.inputs import (
    GROUP_ID,
    OTHER_PROTOCOLS,
    commit,
)
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, FailAppends
from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    LeaveGroupRequest,
    MemberIdentity,
    Request,
)
from support.differences import differ
from support.economy import slow_if
from support.play import Play
from support.scenario import (
    DELAY,
    SESSION_MS,
    group_state,
    heartbeat,
    join,
    run,
    sync,
)
from support.spaces import every_space

OLDEST, OLD, NEW = PROFILES["0.10.0"], PROFILES["0.10.2"], PROFILES["2.7"]


@differ("initial delay")
def test_from_empty_only_the_newer_waits_for_more_members_to_come() -> None:
    assert group_state(run(OLD, join())[0]) is GroupState.COMPLETING_REBALANCE
    assert group_state(run(NEW, join())[0]) is GroupState.PREPARING_REBALANCE


@differ("ids given out first")
def test_only_the_newer_gives_ids_out_first_and_only_from_version_4_on() -> None:
    assert OLD.max_versions["JoinGroup"] < 4 <= NEW.max_versions["JoinGroup"]
    assert run(OLD, join())[1][1].error_code is ErrorCode.NONE
    asked, answers = run(NEW, Request(1, 4, join()))
    assert answers[1].error_code is ErrorCode.MEMBER_ID_REQUIRED
    assert asked.group is not None
    assert [pending.member_id for pending in asked.group.pending] == [answers[1].member_id]


@differ("first member without protocols")
def test_a_first_member_without_protocols_is_refused_by_the_newer_and_jams_the_older() -> None:
    state, answers = run(OLD, join(protocols=()), Advance(10**9), join())
    assert answers[1].error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert answers[3].error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group_state(state) is GroupState.PREPARING_REBALANCE
    state, answers = run(NEW, join(protocols=()))
    assert answers[1].error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group_state(state) is GroupState.EMPTY


@differ("generation of a refusal")
def test_a_refused_join_says_generation_0_in_the_older_and_minus_1_in_the_newer() -> None:
    assert run(OLD, join("nobody"))[1][1].generation_id == 0
    assert run(NEW, join("nobody"))[1][1].generation_id == -1


@differ("join that is parked as its member leaves")
def test_parked_join_of_a_leaving_member_is_answered_only_in_the_newer() -> None:
    leave = LeaveGroupRequest(GROUP_ID, (MemberIdentity("#1"),))
    two_members = (join(), join(), join("#1"), DELAY, DELAY)
    changed = join("#1", protocols=OTHER_PROTOCOLS)
    _, old = run(OLD, *two_members, changed, leave)
    _, new = run(NEW, *two_members, changed, leave)
    assert 6 not in old
    assert new[6].error_code is ErrorCode.UNKNOWN_MEMBER_ID


@differ("heartbeat before the assignments")
def test_a_heartbeat_before_the_assignments_counts_in_the_newer_alone() -> None:
    _, old = run(OLD, join(), DELAY, heartbeat("#1", 1))
    _, new = run(NEW, join(), DELAY, heartbeat("#1", 1))
    assert old[3].error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert new[3].error_code is ErrorCode.NONE


@differ("generation of an early heartbeat")
def test_before_the_assignments_the_older_does_not_look_at_a_heartbeats_generation() -> None:
    assert run(OLD, join(), DELAY, heartbeat("#1", 7))[1][3].error_code == 27
    assert run(NEW, join(), DELAY, heartbeat("#1", 7))[1][3].error_code == 22


@differ("commit before the assignments")
def test_before_the_assignments_the_older_refuses_a_commit_without_looking_at_its_member() -> None:
    def refused(profile: Profile) -> ErrorCode:
        _, answers = run(profile, join(), DELAY, commit(1, "nobody"))
        error: ErrorCode = answers[3].topics[0].partitions[0].error_code
        return error

    assert refused(OLD) is ErrorCode.REBALANCE_IN_PROGRESS
    assert refused(NEW) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_dropped_members_session_still_starts_a_rebalance_in_the_older_alone() -> None:
    # The first does not join again within its 4 s, though it heartbeats until then; the second
    # is then alone, and 10 s after the last heartbeat of the first the older rebalances.
    steps = (
        join(),
        DELAY,
        sync("#1", 1),
        join(session_timeout_ms=30_000),
        Advance(3_999),
        heartbeat("#1", 1),
        Advance(1),
        sync("#4", 2),
    )
    for profile in (OLD, NEW):
        state, _ = run(profile, *steps)
        assert group_state(state) is GroupState.STABLE
        later, _ = run(profile, *steps, Advance(SESSION_MS - 1))
        expected = GroupState.PREPARING_REBALANCE if profile is OLD else GroupState.STABLE
        assert group_state(later) is expected


LEAVE = LeaveGroupRequest(GROUP_ID, (MemberIdentity("#1"),))


@differ("group that is not there")
def test_commit_after_all_members_have_left_is_illegal_generation_in_0_10_0() -> None:
    for profile, error in (
        (OLDEST, ErrorCode.ILLEGAL_GENERATION),
        (OLD, ErrorCode.UNKNOWN_MEMBER_ID),
        (NEW, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        _, answers = run(profile, join(), DELAY, sync("#1", 1), LEAVE, commit(1, "#1"))
        assert answers[5].topics[0].partitions[0].error_code is error


@differ("maximum size")
def test_only_the_newer_turns_members_away_from_a_full_group() -> None:
    for profile, size in ((OLDEST, 2), (OLD, 2), (NEW, 1), (PROFILES["4.1"], 1)):
        play = Play(profile, group_max_size=1)
        play.join()
        last = play.join()
        assert len(play.member_ids) == size
        full = last.answered and last.answer.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
        assert full == (size == 1)


@differ("append that times out")
def test_a_leader_whose_append_times_out_joins_again_or_in_4_1_looks_for_the_coordinator() -> None:
    for name, error in (
        ("0.10.0", ErrorCode.REBALANCE_IN_PROGRESS),
        ("2.7", ErrorCode.REBALANCE_IN_PROGRESS),
        ("4.1", ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ):
        play = Play(PROFILES[name])
        leader = play.first_member().member_id
        play.do(FailAppends(1, ErrorCode.REQUEST_TIMED_OUT))
        assert play.sync(leader, 1, {leader: b"all"}).answer.error_code is error


def test_replicas_that_are_missing_are_no_matter_of_the_coordinator_in_the_oldest() -> None:
    lacking = ErrorCode.NOT_ENOUGH_REPLICAS
    for profile, returned in ((OLDEST, lacking), (OLD, ErrorCode.COORDINATOR_NOT_AVAILABLE)):
        assert profile.group_errors.get(lacking, lacking) is returned
        assert profile.commit_errors.get(lacking, lacking) is returned


def test_a_log_that_fails_on_its_disk_is_another_coordinators_in_the_newer_alone() -> None:
    broken = ErrorCode.KAFKA_STORAGE_ERROR
    for profile, returned in ((OLD, broken), (NEW, ErrorCode.NOT_COORDINATOR)):
        assert profile.group_errors.get(broken, broken) is returned
        assert profile.commit_errors.get(broken, broken) is returned


@pytest.mark.parametrize(
    "profile",
    slow_if(lambda profile: profile.name in {"2.7", "4.1"}, PROFILES.values()),
    ids=lambda profile: profile.name,
)
@pytest.mark.untraced
def test_every_rule_a_profile_declares_is_applied_in_its_spaces(profile: Profile) -> None:
    check_every_rule_is_reached(profile, every_space(profile.name).values())
