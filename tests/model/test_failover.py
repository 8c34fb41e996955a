"""Failing appends, and groups that are lost and loaded again: the answers and the group."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.inputs import commit, fetch
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import (
    Advance,
    Crash,
    FailAppends,
    HoldAppends,
    Load,
    Loading,
    Log,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
)
from support.scenario import (
    DELAY,
    REBALANCE_MS,
    SESSION_MS,
    Broker,
    heartbeat,
    join,
    leave,
    offset_of,
    partition_error,
    sync,
)

OLDEST, OLD, NEW = PROFILES["0.10.0"], PROFILES["0.10.2"], PROFILES["2.7"]
EVERY = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)


def completing(profile: Profile) -> Broker:
    """A group whose leader, #1, has still to bring the assignments."""
    broker = Broker(profile)
    broker.do(join(), DELAY)
    assert broker.group.state is GroupState.COMPLETING_REBALANCE
    return broker


def stable(profile: Profile) -> Broker:
    """A stable group of #1."""
    broker = completing(profile)
    assert broker.do(sync("#1", 1)).error_code is ErrorCode.NONE
    return broker


GROUP_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_REQUEST: ErrorCode.INVALID_REQUEST,
}


@pytest.mark.parametrize(("error", "returned"), GROUP_ERRORS.items())
def test_leader_whose_assignments_fail_to_append_gets_an_error_and_has_to_rejoin(
    error: ErrorCode, returned: ErrorCode
) -> None:
    broker = completing(NEW)
    assert broker.do(FailAppends(1, error), sync("#1", 1)).error_code is returned
    assert broker.group.state is GroupState.PREPARING_REBALANCE
    assert broker.state.log == Log()
    assert broker.do(heartbeat("#1")).error_code is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(("error", "returned"), GROUP_ERRORS.items())
def test_commit_whose_append_fails_returns_an_error_and_cannot_be_fetched(
    error: ErrorCode, returned: ErrorCode
) -> None:
    if returned is ErrorCode.UNKNOWN_SERVER_ERROR:
        returned = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    if error is ErrorCode.REQUEST_TIMED_OUT:
        returned = error
    broker = stable(NEW)
    assert partition_error(broker.do(FailAppends(1, error), commit(1, "#1"))) is returned
    assert offset_of(broker.do(fetch(require_stable=False))) == -1
    assert broker.group.unstable == ()
    assert partition_error(broker.do(commit(1, "#1"))) is ErrorCode.NONE
    assert offset_of(broker.do(fetch(require_stable=False))) == 5


@EVERY
def test_all_parked_syncs_get_the_error_of_the_failed_append(
    profile: Profile,
) -> None:
    broker = stable(profile)
    broker.do(join(), join("#1"))
    broker.do(sync("#3", 2)._replace(assignments=()))
    assert 5 not in broker.answers
    broker.do(FailAppends(1, ErrorCode.NOT_LEADER_OR_FOLLOWER), sync("#1", 2))
    assert broker.answers[5].error_code is ErrorCode.NOT_COORDINATOR
    assert broker.answers[6].error_code is ErrorCode.NOT_COORDINATOR
    assert broker.group.state is GroupState.PREPARING_REBALANCE


def test_an_append_that_is_held_fails_at_the_release() -> None:
    broker = completing(NEW)
    broker.do(FailAppends(1, ErrorCode.NOT_LEADER_OR_FOLLOWER), HoldAppends(), sync("#1", 1))
    assert broker.group.state is GroupState.COMPLETING_REBALANCE
    assert broker.do(ReleaseAppends()).error_code is ErrorCode.NOT_COORDINATOR
    assert broker.state.log == Log()


def test_given_number_of_appends_fail() -> None:
    broker = Broker(NEW)
    broker.do(FailAppends(2, ErrorCode.REQUEST_TIMED_OUT))
    codes = [partition_error(broker.do(commit(-1, ""))) for _ in range(3)]
    assert codes == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]
    broker.do(FailAppends(2, ErrorCode.REQUEST_TIMED_OUT), FailAppends(0, ErrorCode.NONE))
    assert partition_error(broker.do(commit(-1, ""))) is ErrorCode.NONE


@EVERY
def test_after_a_crash_the_group_is_as_it_was_last_recorded(profile: Profile) -> None:
    broker = stable(profile)
    broker.do(commit(1, "#1"), Advance(SESSION_MS - 1), join(), Crash())
    group = broker.group
    assert (group.state, group.generation_id) == (GroupState.STABLE, 1)
    assert (group.protocol_type, group.protocol_name, group.leader) == ("consumer", "range", "#1")
    (member,) = group.members
    assert (member.member_id, member.assignment) == ("#1", b"part")
    assert member.session_left_ms == SESSION_MS  # its session restarts
    assert offset_of(broker.do(fetch(require_stable=False))) == 5
    assert broker.do(heartbeat("#1")).error_code is ErrorCode.NONE
    assert 4 not in broker.answers  # the JoinGroup that was parked


@EVERY
@pytest.mark.parametrize("lost", [Unload(), Loading()])
def test_parked_joins_return_not_coordinator_when_the_partition_is_unloaded(
    profile: Profile, lost: Unload | Loading
) -> None:
    broker = stable(profile)
    broker.do(join(), lost)
    answer = broker.answers[3]
    assert (answer.error_code, answer.member_id) == (ErrorCode.NOT_COORDINATOR, "#3")
    assert broker.state.group is None


@EVERY
def test_after_a_shutdown_no_timer_fires_and_nothing_moves_until_a_crash(profile: Profile) -> None:
    broker = stable(profile)
    broker.do(Shutdown())
    before = broker.state
    broker.do(Advance(10 * SESSION_MS), Unload(), Loading(), Load())
    assert broker.state == before
    assert broker.do(heartbeat("#1")).error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.do(Crash())
    assert broker.do(heartbeat("#1")).error_code is ErrorCode.NONE


def test_loaded_member_survives_the_rebalance_timeout_only_in_2_7() -> None:
    silent = (Crash(), join(), Advance(REBALANCE_MS))
    for profile, stays in ((OLD, False), (NEW, True)):
        broker = stable(profile)
        broker.do(*silent)
        assert (broker.group.member("#1") is not None) == stays
        assert broker.group.leader == "#3"  # of those that have joined
        assert broker.group.generation_id == 2


def test_a_loaded_member_that_alone_does_not_join_again_keeps_the_rebalance_going() -> None:
    broker = stable(NEW)
    broker.do(Crash(), heartbeat("#1"), join(), leave("#4"))
    timer = broker.group.join_timer
    assert timer is not None
    assert timer.left_ms == REBALANCE_MS
    broker.do(Advance(REBALANCE_MS))
    assert broker.state_name == "PreparingRebalance"
    assert broker.group.generation_id == 1
    broker.do(Advance(SESSION_MS))
    assert broker.state_name == "Empty"
