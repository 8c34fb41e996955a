"""Differences between 2.7 and 4.1 when appends fail and partitions are unloaded."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.instances.environment import (
    GROUP_ID,
    INSTANCE,
    PRODUCER_ID,
    PROTOCOLS,
    TOPIC,
    commit,
    fetch,
    offset_delete,
    txn_commit,
)
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import (
    Advance,
    Cleanup,
    Coordinator,
    Crash,
    FailAppends,
    Group,
    GroupRecord,
    Load,
    Loading,
    Log,
    Shutdown,
    Unload,
)
from groupcheck.model.step import Outcome, Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Protocol,
    Request,
    RequestBody,
)
from support.differences import differ
from support.scenario import (
    DELAY,
    REBALANCE_MS,
    SESSION_MS,
    answers_of,
    end,
    ends,
    group_of,
    join,
    leave,
    sync,
)

OLD, NEW = PROFILES["2.7"], PROFILES["4.1"]
FAILING = FailAppends(1, ErrorCode.NOT_ENOUGH_REPLICAS)
UNRECORDED = GroupRecord(0, None, None, None, ())
REFUSED = commit(-1, "", metadata="x" * 5_000)
BOTH = pytest.mark.parametrize("profile", [OLD, NEW], ids=lambda profile: profile.name)


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


@pytest.mark.parametrize(("error", "returned"), ERRORS.items())
def test_4_1_returns_the_same_error_of_a_failed_append_from_every_api(
    error: ErrorCode, returned: ErrorCode
) -> None:
    fails = FailAppends(1, error)
    of_join = answers_of(end(NEW, fails, join()))[2]
    of_sync = answers_of(end(NEW, join(), DELAY, fails, sync("#1", 1)))[4]
    of_leave = answers_of(end(NEW, join(), DELAY, fails, leave("#1")))[4]
    of_commit = answers_of(end(NEW, fails, commit(-1, "")))[2]
    (partition,) = of_commit.topics[0].partitions
    assert {of_join.error_code, of_sync.error_code, of_leave.error_code} == {returned}
    assert partition.error_code is returned


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
    for profile, returned in ((OLD, [unavailable, refused]), (NEW, [unavailable, unavailable])):
        (topic,) = answers_of(end(profile, FAILING, both))[2].topics
        assert [partition.error_code for partition in topic.partitions] == returned


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


def test_join_whose_group_record_fails_returns_an_error_in_4_1_and_the_group_is_discarded() -> None:
    assert group_of(end(OLD, FAILING, join())).state is GroupState.PREPARING_REBALANCE
    outcome = end(NEW, FAILING, join())
    answer = answers_of(outcome)[2]
    assert (answer.error_code, answer.member_id, answer.generation_id) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        "",
        -1,
    )
    assert outcome.coordinator == Coordinator(log=Log())


def test_an_id_that_was_given_in_a_group_that_cannot_be_recorded_is_nobodys() -> None:
    gives = Request(0, 4, join())
    outcome = end(NEW, FAILING, gives)
    answer = answers_of(outcome)[2]
    assert (answer.error_code, answer.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "#2")
    assert outcome.coordinator.group is None
    returned = answers_of(end(NEW, FAILING, gives, join("#2")))[3].error_code
    assert returned is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_whose_first_commit_fails_is_not_there_in_4_1() -> None:
    describe = DescribeGroupsRequest((GROUP_ID,))
    states = []
    for profile in (OLD, NEW):
        (described,) = answers_of(end(profile, FAILING, commit(-1, ""), describe))[3].groups
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
    assert answers_of(found[0]) == answers_of(found[1])
    assert not group_of(found[1]).unwritten  # another group has been written since
    (older,) = ends(OLD, *before, fails, last)
    assert group_of(older).state.value == kept


def test_who_waits_in_a_group_that_is_forgotten_is_never_answered() -> None:
    steps = (REFUSED, join(), FAILING, commit(0, "#2"))
    forgotten, _ = ends(NEW, *steps)
    assert answers_of(forgotten).keys() == {4}
    later = ends(NEW, *steps, Advance(10 * SESSION_MS))
    assert [outcome.responses for outcome in later] == [()]


def test_a_group_that_was_written_outlives_an_append_that_fails() -> None:
    for first in (join(), commit(-1, "")):
        outcome = end(NEW, first, FAILING, Request(0, 4, join()))
        assert outcome.coordinator.failing == FAILING  # which asking for an id does not append
        assert group_of(outcome).pending
    assert group_of(end(NEW, commit(-1, ""), FAILING, commit(-1, ""))).state is GroupState.EMPTY


def test_leave_that_empties_the_group_returns_the_append_error_in_4_1() -> None:
    steps = (join(), DELAY, sync("#1", 1), FAILING, leave("#1"))
    assert answers_of(end(OLD, *steps))[5].error_code is ErrorCode.NONE
    outcome = end(NEW, *steps)
    assert answers_of(outcome)[5] == LeaveGroupResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert outcome.reasons == ("leave/empty-not-stored",)
    assert group_of(outcome).state is GroupState.EMPTY  # nevertheless


def test_a_leave_that_empties_no_group_appends_nothing() -> None:
    steps = (join(), DELAY, join(), join("#1"), FAILING, leave("#3"))
    outcome = end(NEW, *steps)
    assert answers_of(outcome)[6].error_code is ErrorCode.NONE
    assert outcome.coordinator.failing == FAILING


def test_parked_requests_are_answered_when_a_4_1_coordinator_is_shut_down() -> None:
    steps = (join(), DELAY, sync("#1", 1), join(), Shutdown())
    assert end(OLD, *steps).responses == ()
    outcome = end(NEW, *steps)
    answer = answers_of(outcome)[4]
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
        answer = answers_of(end(profile, *inputs, sticky)).get(6)
        assert (answer.error_code if answer else None) is error
    assert group_of(end(NEW, *steps, FAILING, RETURNED)) == group_of(end(NEW, *steps))


def test_leader_whose_new_id_fails_to_append_gets_its_old_id_as_the_leader() -> None:
    answer = answers_of(end(NEW, STATIC, DELAY, sync("#1", 1), FAILING, RETURNED))[5]
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


PENDING = txn_commit(-1, "")
MARKER = EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True)
ABORT = MARKER._replace(committed=False)
DELETION = DeleteGroupsRequest((GROUP_ID,))
OF_OFFSET = offset_delete(TOPIC)


def pending_in(outcome: Outcome) -> tuple[bool, bool]:
    """Whether a transaction has anything pending in memory, and in the log."""
    log = outcome.coordinator.log
    assert log is not None
    return bool(group_of(outcome).transactions), bool(log.transactions)


def partition_error(outcome: Outcome, request_id: int) -> ErrorCode:
    (topic,) = answers_of(outcome)[request_id].topics
    error: ErrorCode = topic.partitions[0].error_code
    return error


@BOTH
def test_transactional_commit_whose_append_fails_returns_the_error_of_a_commit(
    profile: Profile,
) -> None:
    outcome = end(profile, commit(-1, ""), FAILING, PENDING)
    assert partition_error(outcome, 3) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert outcome.reasons == ("log/transaction-failed",)
    assert pending_in(outcome) == (False, False)


def test_a_transactions_commit_that_cannot_be_stored_leaves_in_4_1_what_was_pending_before() -> (
    None
):
    steps = (PENDING, FAILING, PENDING)
    assert pending_in(end(OLD, *steps)) == (False, True)
    assert pending_in(end(NEW, *steps)) == (True, True)
    assert end(NEW, *steps).coordinator == end(NEW, PENDING).coordinator
    for profile, read in ((OLD, -1), (NEW, 6)):
        fetched = answers_of(end(profile, *steps, MARKER, fetch(require_stable=False)))[5]
        assert fetched.topics[0].partitions[0].committed_offset == read


def test_a_group_that_comes_with_a_transaction_that_cannot_be_stored_is_not_there_in_4_1() -> None:
    assert group_of(end(OLD, FAILING, PENDING)).state is GroupState.EMPTY
    outcome = end(NEW, FAILING, PENDING)
    assert outcome.coordinator == Coordinator(log=Log())
    assert outcome.fired[-2:] == ("log/transaction-failed", "log/group-forgotten")


def test_a_group_that_came_with_a_refused_commit_may_go_with_a_transactions_that_fails() -> None:
    found = ends(NEW, REFUSED, FAILING, PENDING)
    assert [outcome.coordinator.group for outcome in found] == [None, Group()]
    shown = ends(NEW, REFUSED, PENDING)
    assert [group_of(outcome).unwritten for outcome in shown] == [False]


@pytest.mark.parametrize("where", [Shutdown(), Loading(), Unload()], ids=lambda each: each.happens)
def test_a_marker_that_comes_elsewhere_is_in_the_log_but_in_4_1_where_it_is_to_come_again(
    where: Input,
) -> None:
    steps = (PENDING, where, ABORT)
    returned = ErrorCode.UNKNOWN_SERVER_ERROR if where == Shutdown() else ErrorCode.NONE
    older, newer = end(OLD, *steps), end(NEW, *steps)
    assert answers_of(older)[3].error_code is returned
    assert answers_of(newer)[3].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [bool(o.coordinator.log and o.coordinator.log.transactions) for o in (older, newer)] == [
        False,
        True,
    ]
    back = Crash() if where == Shutdown() else Load()
    loaded = end(NEW, *steps, back)
    assert pending_in(loaded) == (True, True)
    assert pending_in(end(NEW, *steps, back, ABORT)) == (False, False)


MARKER_ERRORS = {
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}


@pytest.mark.parametrize(("error", "returned"), MARKER_ERRORS.items())
def test_marker_whose_append_fails_changes_nothing_in_4_1_and_returns_an_error(
    error: ErrorCode, returned: ErrorCode
) -> None:
    fails = FailAppends(1, error)
    older = end(OLD, PENDING, fails, MARKER)
    assert answers_of(older)[3].error_code is ErrorCode.NONE
    assert older.coordinator.failing == fails  # the partition's leader appends it
    newer = end(NEW, PENDING, fails, MARKER)
    assert answers_of(newer)[3].error_code is returned
    assert newer.reasons == ("end-txn/not-written",)
    assert newer.coordinator == end(NEW, PENDING).coordinator


def test_a_marker_is_an_append_even_if_nothing_is_pending() -> None:
    outcome = end(NEW, FAILING, MARKER)
    assert answers_of(outcome)[2].error_code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert outcome.coordinator == Coordinator(log=Log())
    found = ends(NEW, REFUSED, FAILING, MARKER)
    assert [o.coordinator.group for o in found] == [None, Group()]
    assert {o.reasons for o in found} == {("end-txn/not-written",)}
    assert not group_of(end(NEW, REFUSED, MARKER)).unwritten


def test_empty_group_id_is_checked_before_the_append_of_a_marker_in_4_1() -> None:
    outcome = end(NEW, FAILING, MARKER._replace(group_id=""))
    assert answers_of(outcome)[2].error_code is ErrorCode.INVALID_GROUP_ID
    assert outcome.coordinator.failing == FAILING


@pytest.mark.parametrize(("error", "returned"), ERRORS.items())
def test_deletion_whose_append_fails_returns_an_error_and_is_rolled_back_in_4_1(
    error: ErrorCode, returned: ErrorCode
) -> None:
    before = end(NEW, commit(-1, "")).coordinator
    fails = FailAppends(1, error)
    of_group = end(NEW, commit(-1, ""), fails, DELETION)
    assert [result.error_code for result in answers_of(of_group)[3].results] == [returned]
    assert (of_group.reasons, of_group.coordinator) == (("delete/not-stored",), before)
    of_offset = end(NEW, commit(-1, ""), fails, OF_OFFSET)
    assert (answers_of(of_offset)[3].error_code, answers_of(of_offset)[3].topics) == (returned, ())
    assert (of_offset.reasons, of_offset.coordinator) == (("offset-delete/not-stored",), before)


@pytest.mark.parametrize("deletion", [DELETION, OF_OFFSET], ids=["group", "offset"])
def test_a_deletion_that_cannot_be_stored_is_done_in_2_7_until_the_group_is_loaded(
    deletion: RequestBody,
) -> None:
    steps = (commit(-1, ""), FAILING, deletion)
    assert end(OLD, *steps).coordinator.group is None
    assert group_of(end(OLD, *steps, Crash())).offsets


def test_a_group_that_came_with_a_refused_commit_may_go_though_its_deletion_fails() -> None:
    found = ends(NEW, REFUSED, FAILING, DELETION)
    assert [outcome.coordinator.group for outcome in found] == [None, Group()]
    assert {outcome.reasons for outcome in found} == {("delete/not-stored",)}


def test_a_group_that_was_never_recorded_is_removed_from_the_log_of_4_1_nevertheless() -> None:
    returned = []
    for profile in (OLD, NEW):
        outcome = end(profile, Request(0, 4, join()), FAILING, DELETION)
        returned.append(answers_of(outcome)[3].results[0].error_code)
    assert returned == [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE]


@pytest.mark.parametrize("deletion", [DELETION, OF_OFFSET], ids=["group", "offset"])
def test_what_a_transaction_has_pending_is_deleted_in_the_log_of_4_1_too(
    deletion: RequestBody,
) -> None:
    steps = (PENDING, deletion, Crash(), MARKER, fetch(require_stable=False))
    read = []
    for profile in (OLD, NEW):
        fetched = answers_of(end(profile, *steps))[5]
        read.append(fetched.topics[0].partitions[0].committed_offset)
    assert read == [6, -1]


def test_to_delete_what_only_a_transaction_has_is_an_append_in_4_1() -> None:
    steps = (PENDING, FAILING, OF_OFFSET)
    assert end(OLD, *steps).coordinator.failing == FAILING
    outcome = end(NEW, *steps)
    assert outcome.coordinator == end(NEW, PENDING).coordinator
    assert answers_of(outcome)[3].error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE


@BOTH
def test_to_delete_an_offset_that_is_not_there_appends_nothing(profile: Profile) -> None:
    steps = (commit(-1, ""), FAILING, offset_delete("nothing"))
    outcome = end(profile, *steps)
    assert answers_of(outcome)[3].error_code is ErrorCode.NONE
    assert outcome.coordinator.failing == FAILING


def test_no_marker_is_awaited_in_4_1_of_whom_all_is_deleted_so_that_the_group_can_go() -> None:
    steps = (PENDING, OF_OFFSET)
    assert group_of(end(OLD, *steps, Cleanup())).producers == (PRODUCER_ID,)
    assert not group_of(end(NEW, *steps)).producers
    assert end(NEW, *steps, Cleanup()).coordinator.group is None


def test_a_cleanup_that_cannot_be_stored_may_take_a_group_of_which_nothing_is_written() -> None:
    found = ends(NEW, REFUSED, FAILING, Cleanup())
    assert [outcome.coordinator.group for outcome in found] == [None, Group()]
