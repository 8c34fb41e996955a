"""Differences between 2.7 and 4.1 when appends fail and partitions are unloaded."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.instances.inputs import (
    GROUP_ID,
    INSTANCE,
    PRODUCER_ID,
    PROTOCOLS,
    TOPIC,
    commit,
    offset_delete,
    txn_commit,
)
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import (
    Advance,
    Cleanup,
    Crash,
    FailAppends,
    Group,
    GroupRecord,
    Log,
)
from groupcheck.model.step import Outcome
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Protocol,
    Request,
)
from support.differences import differ
from support.scenario import (
    DELAY,
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


def test_a_cleanup_that_cannot_be_stored_may_take_a_group_of_which_nothing_is_written() -> None:
    found = ends(NEW, REFUSED, FAILING, Cleanup())
    assert [outcome.coordinator.group for outcome in found] == [None, Group()]
