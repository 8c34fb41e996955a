"""What differs between 2.7 and 4.1 when appends fail and groups are lost: told apart by each."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.clients import GROUP_ID, INSTANCE, PROTOCOLS, commit
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import (
    Advance,
    Coordinator,
    Crash,
    FailAppends,
    Group,
    GroupRecord,
    Log,
    Shutdown,
)
from groupcheck.model.step import Outcome, Profile
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import (
    Assignment,
    DescribeGroupsRequest,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Protocol,
    Request,
    RequestBody,
    SyncGroupRequest,
)
from support.differences import differ

OLD, NEW = PROFILES["2.7"], PROFILES["4.1"]
SESSION_MS, REBALANCE_MS = 10_000, 4_000
DELAY = Advance(3_000)
FAILING = FailAppends(1, ErrorCode.NOT_ENOUGH_REPLICAS)
UNRECORDED = GroupRecord(0, None, None, None, ())
REFUSED = commit(-1, "", metadata="x" * 5_000)
BOTH = pytest.mark.parametrize("profile", [OLD, NEW], ids=lambda profile: profile.name)


def join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(GROUP_ID, SESSION_MS, REBALANCE_MS, member_id, protocols=PROTOCOLS)


def sync(member_id: str, generation_id: int) -> SyncGroupRequest:
    given = (Assignment(member_id, b"part"),)
    return SyncGroupRequest(GROUP_ID, generation_id, member_id, None, "consumer", "range", given)


def leave(member_id: str) -> LeaveGroupRequest:
    return LeaveGroupRequest(GROUP_ID, (MemberIdentity(member_id),))


def ends(
    profile: Profile, *inputs: RequestBody | Request | Input, before: Coordinator | None = None
) -> list[Outcome]:
    """How the last of the inputs may end; requests are numbered by their places, from 1 on.

    A JoinGroup is of the version before ids were given first, a `Request` of the one it says.
    """
    state = before or Coordinator(log=Log())
    found: list[Outcome] = []
    for number, given in enumerate(inputs, 1):
        step: Any = given
        api = type(given).__name__.removesuffix("Request")
        if isinstance(given, Request):
            step = given._replace(request_id=number)
        elif api in profile.max_versions:
            version = 3 if api == "JoinGroup" else profile.max_versions[api]
            step = Request(number, version, step)
        found = successors(state, step, profile, profile.config)
        state = found[0].coordinator
    return found


def end(profile: Profile, *inputs: RequestBody | Request | Input) -> Outcome:
    (outcome,) = ends(profile, *inputs)
    return outcome


def answers(outcome: Outcome) -> dict[int, Any]:
    return {response.request_id: response.body for response in outcome.responses}


def group_of(outcome: Outcome) -> Group:
    group = outcome.coordinator.group
    assert group is not None
    return group


ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_REQUEST: ErrorCode.INVALID_REQUEST,
}


@pytest.mark.parametrize(("error", "told"), ERRORS.items())
def test_4_1_tells_the_error_of_an_append_alike_to_whoever_waits_for_it(
    error: ErrorCode, told: ErrorCode
) -> None:
    fails = FailAppends(1, error)
    of_join = answers(end(NEW, fails, join()))[2]
    of_sync = answers(end(NEW, join(), DELAY, fails, sync("#1", 1)))[4]
    of_leave = answers(end(NEW, join(), DELAY, fails, leave("#1")))[4]
    of_commit = answers(end(NEW, fails, commit(-1, "")))[2]
    (partition,) = of_commit.topics[0].partitions
    assert {of_join.error_code, of_sync.error_code, of_leave.error_code} == {told}
    assert partition.error_code is told


def test_a_commit_that_fails_fails_in_4_1_for_the_partitions_too_that_are_refused_anyway() -> None:
    partitions = (
        OffsetCommitRequestPartition(0, 5),
        OffsetCommitRequestPartition(1, 5, committed_metadata="x" * 5_000),
    )
    both = OffsetCommitRequest(GROUP_ID, topics=(OffsetCommitRequestTopic("topic", partitions),))
    unavailable, refused = (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    )
    for profile, told in ((OLD, [unavailable, refused]), (NEW, [unavailable, unavailable])):
        (topic,) = answers(end(profile, FAILING, both))[2].topics
        assert [partition.error_code for partition in topic.partitions] == told


@differ("record of a new group")
@pytest.mark.parametrize(
    "asked",
    [Request(0, 4, join()), join(), join()._replace(protocols=())],
    ids=["for-an-id", "to-join", "refused"],
)
def test_4_1_records_a_group_as_soon_as_it_is_joined_whatever_the_answer(asked: Any) -> None:
    assert end(OLD, asked, Crash()).coordinator.group is None
    loaded = end(NEW, asked, Crash())
    assert loaded.coordinator.log == Log(UNRECORDED)
    assert group_of(loaded) == Group()


def test_a_group_that_came_with_a_commit_is_not_recorded_when_it_is_joined() -> None:
    joined = end(NEW, commit(-1, ""), join())
    assert joined.coordinator.log is not None
    assert joined.coordinator.log.group is None


def test_a_join_whose_group_cannot_be_recorded_is_told_in_4_1_and_the_group_is_forgotten() -> None:
    assert group_of(end(OLD, FAILING, join())).state is GroupState.PREPARING_REBALANCE
    outcome = end(NEW, FAILING, join())
    answer = answers(outcome)[2]
    assert (answer.error_code, answer.member_id, answer.generation_id) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        "",
        -1,
    )
    assert outcome.coordinator == Coordinator(log=Log())


def test_an_id_that_was_given_in_a_group_that_cannot_be_recorded_is_nobodys() -> None:
    gives = Request(0, 4, join())
    outcome = end(NEW, FAILING, gives)
    answer = answers(outcome)[2]
    assert (answer.error_code, answer.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "#2")
    assert outcome.coordinator.group is None
    told = answers(end(NEW, FAILING, gives, join("#2")))[3].error_code
    assert told is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_whose_first_commit_fails_is_not_there_in_4_1() -> None:
    describe = DescribeGroupsRequest((GROUP_ID,))
    states = []
    for profile in (OLD, NEW):
        (described,) = answers(end(profile, FAILING, commit(-1, ""), describe))[3].groups
        states.append(described.group_state)
    assert states == ["Empty", "Dead"]


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ((commit(-1, ""),), "Empty"),
        ((join(), commit(0, "#2")), "PreparingRebalance"),
        ((join(), DELAY, sync("#2", 1)), "PreparingRebalance"),
        ((join(), DELAY, leave("#2")), "Empty"),
    ],
    ids=["simple", "waiting", "syncing", "leaving"],
)
def test_a_group_that_came_with_a_refused_commit_may_be_forgotten_when_the_next_append_fails(
    steps: tuple[Any, ...], kept: str
) -> None:
    *before, last = steps
    fails = FailAppends(1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    before[0:0] = [REFUSED]
    found = ends(NEW, *before, fails, last)
    assert [o.coordinator.group and o.coordinator.group.state.value for o in found] == [None, kept]
    assert answers(found[0]) == answers(found[1])
    assert not group_of(found[1]).unwritten  # another group has been written since
    (older,) = ends(OLD, *before, fails, last)
    assert group_of(older).state.value == kept


def test_who_waits_in_a_group_that_is_forgotten_is_never_answered() -> None:
    forgotten, _ = ends(NEW, REFUSED, join(), FAILING, commit(0, "#2"))
    assert answers(forgotten).keys() == {4}
    later = ends(NEW, Advance(10 * SESSION_MS), before=forgotten.coordinator)
    assert [outcome.responses for outcome in later] == [()]


def test_a_group_that_was_written_outlives_an_append_that_fails() -> None:
    for first in (join(), commit(-1, "")):
        outcome = end(NEW, first, FAILING, Request(0, 4, join()))
        assert outcome.coordinator.failing == FAILING  # which asking for an id does not append
        assert group_of(outcome).pending
    assert group_of(end(NEW, commit(-1, ""), FAILING, commit(-1, ""))).state is GroupState.EMPTY


def test_a_leave_that_empties_the_group_is_told_in_4_1_that_this_cannot_be_stored() -> None:
    steps = (join(), DELAY, sync("#1", 1), FAILING, leave("#1"))
    assert answers(end(OLD, *steps))[5].error_code is ErrorCode.NONE
    outcome = end(NEW, *steps)
    assert answers(outcome)[5] == LeaveGroupResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert outcome.reasons == ("leave/empty-not-stored",)
    assert group_of(outcome).state is GroupState.EMPTY  # nevertheless


def test_a_leave_that_empties_no_group_appends_nothing() -> None:
    steps = (join(), DELAY, join(), join("#1"), FAILING, leave("#3"))
    outcome = end(NEW, *steps)
    assert answers(outcome)[6].error_code is ErrorCode.NONE
    assert outcome.coordinator.failing == FAILING


def test_who_waits_is_told_when_a_4_1_coordinator_is_shut_down() -> None:
    steps = (join(), DELAY, sync("#1", 1), join(), Shutdown())
    assert end(OLD, *steps).responses == ()
    outcome = end(NEW, *steps)
    answer = answers(outcome)[4]
    assert (answer.error_code, answer.member_id) == (ErrorCode.NOT_COORDINATOR, "#4")
    assert outcome.coordinator.group is None


@BOTH
def test_what_was_served_at_a_shutdown_is_loaded_after_it(profile: Profile) -> None:
    steps = (join(), DELAY, sync("#1", 1), Shutdown(), Crash())
    loaded = group_of(end(profile, *steps))
    assert [member.member_id for member in loaded.members] == ["#1"]


def test_a_member_that_has_not_synced_is_not_waited_for_after_a_load() -> None:
    steps = (join(), DELAY, join(), join("#1"), sync("#1", 2))
    in_time = (Advance(REBALANCE_MS - 1), HeartbeatRequest(GROUP_ID, 2, "#3"), Advance(1))
    assert [m.unsynced for m in group_of(end(NEW, *steps)).members] == [False, True]
    removed = group_of(end(NEW, *steps, *in_time))
    kept = group_of(end(NEW, *steps, Crash(), *in_time))
    assert [m.member_id for m in removed.members] == ["#1"]
    assert [(m.member_id, m.unsynced) for m in kept.members] == [("#1", False), ("#3", False)]
    assert kept.state is GroupState.STABLE


STATIC = Request(0, 9, join()._replace(group_instance_id=INSTANCE))
MORE = (*PROTOCOLS, Protocol("sticky", b"one"))
RETURNED = STATIC._replace(
    body=STATIC.body._replace(protocols=MORE, session_timeout_ms=2 * SESSION_MS)  # type: ignore[call-arg]
)


@differ("static member whose new id cannot be stored")
def test_a_static_member_whose_new_id_cannot_be_stored_offers_in_4_1_what_it_did_before() -> None:
    steps = (STATIC, DELAY, sync("#1", 1))
    sticky = join()._replace(protocols=MORE[-1:])
    for profile, error in ((OLD, None), (NEW, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)):
        version = profile.max_versions["JoinGroup"]
        first, again = (given._replace(api_version=version) for given in (STATIC, RETURNED))
        inputs = (first, *steps[1:], FAILING, again)
        answer = answers(end(profile, *inputs, sticky)).get(6)
        assert (answer.error_code if answer else None) is error
    assert group_of(end(NEW, *steps, FAILING, RETURNED)) == group_of(end(NEW, *steps))


def test_a_leader_whose_new_id_cannot_be_stored_is_told_its_old_one_and_nobody_elses() -> None:
    answer = answers(end(NEW, STATIC, DELAY, sync("#1", 1), FAILING, RETURNED))[5]
    assert (answer.error_code, answer.generation_id, answer.leader, answer.member_id) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        1,
        "#1",
        "",
    )
    assert (answer.members, answer.skip_assignment) == ((), False)


def test_a_member_is_waited_for_to_sync_as_before_if_its_new_id_cannot_be_stored() -> None:
    steps = (join(), DELAY, STATIC, join("#1"), sync("#1", 2))
    lost = group_of(end(NEW, *steps, STATIC))
    assert lost.lost_sync
    undone = group_of(end(NEW, *steps, FAILING, STATIC))
    assert [member.unsynced for member in undone.members] == [False, True]
    assert not undone.lost_sync
    later = group_of(end(NEW, *steps, FAILING, STATIC, Advance(REBALANCE_MS)))
    assert [member.member_id for member in later.members] == ["#1"]
