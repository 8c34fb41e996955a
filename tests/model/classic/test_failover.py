"""Appends that fail, and groups that are lost and loaded again."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import (
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
from groupcheck.model.classic.instances.instance import feature_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import (
    Advance,
    Cleanup,
    Crash,
    FailAppends,
    Group,
    GroupRecord,
    HoldAppends,
    Load,
    Loading,
    Log,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.storing.records import LATE_ERRORS, possible_errors
from groupcheck.model.vocabulary import ErrorCode, Protocol, Request
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from support.marked_tests import differ
from support.model_port import ModelPort
from support.requests import (
    REBALANCE_MS,
    SESSION_MS,
    commit_of,
    heartbeat,
    join,
    leave,
    offset_of,
    partition_error,
    sync,
)
from support.scenario import DELAY, Broker, answers_of, end, ends, group_of

V0_10_0, V0_10_2, V2_7, V4_1 = PROFILES.values()
EVERY = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
NONE, NOT_COORDINATOR = ErrorCode.NONE, ErrorCode.NOT_COORDINATOR
UNAVAILABLE, UNKNOWN = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.UNKNOWN_SERVER_ERROR
FAILING = FailAppends(1, ErrorCode.NOT_ENOUGH_REPLICAS)
TOO_LONG = "x" * 5_000
REJECTED = commit(-1, "", metadata=TOO_LONG)
READ = fetch(require_stable=False)


def completing(profile: Profile) -> Broker:
    """A group whose leader, #1, has not assigned anything yet."""
    broker = Broker(profile)
    broker.do(join(), DELAY)
    assert broker.state == "CompletingRebalance"
    return broker


def stable(profile: Profile) -> Broker:
    """A stable group of #1."""
    broker = completing(profile)
    assert broker.do(sync("#1")).error_code is NONE
    return broker


# The error of an append, and what 2.7 returns to SyncGroup and OffsetCommit, and 4.1 to every API.
ERRORS = [
    (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNAVAILABLE, UNAVAILABLE, UNAVAILABLE),
    (ErrorCode.NOT_ENOUGH_REPLICAS, UNAVAILABLE, UNAVAILABLE, UNAVAILABLE),
    (
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        UNAVAILABLE,
        UNAVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ),
    (
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        UNAVAILABLE,
    ),
    *(
        (error, NOT_COORDINATOR, NOT_COORDINATOR, NOT_COORDINATOR)
        for error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR)
    ),
    *(
        (error, UNKNOWN, ErrorCode.INVALID_COMMIT_OFFSET_SIZE, UNKNOWN)
        for error in (
            ErrorCode.MESSAGE_TOO_LARGE,
            ErrorCode.RECORD_LIST_TOO_LARGE,
            ErrorCode.INVALID_FETCH_SIZE,
        )
    ),
    (ErrorCode.INVALID_REQUEST,) * 4,
]
EACH_ERROR = pytest.mark.parametrize(("error", "of_sync", "of_commit", "of_4_1"), ERRORS)


@EACH_ERROR
def test_request_whose_append_fails_in_2_7_returns_an_error_and_has_no_effect_in_memory(
    error: ErrorCode, of_sync: ErrorCode, of_commit: ErrorCode, of_4_1: ErrorCode
) -> None:
    assert of_4_1
    fails = FailAppends(1, error)
    broker = completing(V2_7)
    assert broker.do(fails, sync("#1")).error_code is of_sync
    assert broker.state == "PreparingRebalance"
    assert (broker.coordinator.log == Log()) is (error not in LATE_ERRORS)
    assert broker.do(heartbeat()).error_code is ErrorCode.REBALANCE_IN_PROGRESS
    broker = stable(V2_7)
    assert partition_error(broker.do(fails, commit(1, "#1"))) is of_commit
    assert offset_of(broker.do(READ)) == -1
    assert broker.group.unstable == ()
    assert partition_error(broker.do(commit(1, "#1"))) is NONE
    assert offset_of(broker.do(READ)) == 5


@EACH_ERROR
def test_every_request_whose_append_fails_in_4_1_returns_the_same_error(
    error: ErrorCode, of_sync: ErrorCode, of_commit: ErrorCode, of_4_1: ErrorCode
) -> None:
    assert of_sync
    assert of_commit
    fails = FailAppends(1, error)
    assert Broker(V4_1).do(fails, join()).error_code is of_4_1
    assert completing(V4_1).do(fails, sync("#1")).error_code is of_4_1
    assert completing(V4_1).do(fails, leave("#1")).error_code is of_4_1
    assert partition_error(Broker(V4_1).do(fails, commit(-1, ""))) is of_4_1
    before = end(V4_1, commit(-1, "")).coordinator
    for body, reason in (
        (kafka.DeleteGroupsRequest((GROUP_ID,)), "delete/not-stored"),
        (offset_delete(TOPIC), "offset-delete/not-stored"),
    ):
        outcome = end(V4_1, commit(-1, ""), fails, body)
        response = answers_of(outcome)[3]
        (error_code,) = {each.error_code for each in getattr(response, "results", (response,))}
        assert (error_code, getattr(response, "topics", ())) == (of_4_1, ())
        assert (outcome.reasons, outcome.coordinator) == ((reason,), before)


@pytest.mark.parametrize(
    ("profile", "error", "returned"),
    [
        (V0_10_0, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (V0_10_2, ErrorCode.NOT_ENOUGH_REPLICAS, UNAVAILABLE),
        (V0_10_2, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR),
        (V2_7, ErrorCode.KAFKA_STORAGE_ERROR, NOT_COORDINATOR),
    ],
)
def test_an_older_version_returns_an_error_of_the_log_that_it_does_not_know(
    profile: Profile, error: ErrorCode, returned: ErrorCode
) -> None:
    assert profile.group_errors.get(error, error) is returned
    assert profile.commit_errors.get(error, error) is returned


@pytest.mark.parametrize(
    ("error", "returned"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_marker_whose_append_fails_in_4_1_returns_an_error_and_has_no_effect(
    error: ErrorCode, returned: ErrorCode
) -> None:
    fails, marker = (
        FailAppends(1, error),
        kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True),
    )
    older = end(V2_7, txn_commit(-1, ""), fails, marker)
    assert answers_of(older)[3].error_code is NONE
    assert older.coordinator.failing == fails  # the leader of the partition appends it
    newer = end(V4_1, txn_commit(-1, ""), fails, marker)
    assert answers_of(newer)[3].error_code is returned
    assert newer.reasons == ("end-txn/not-written",)
    assert newer.coordinator == end(V4_1, txn_commit(-1, "")).coordinator


def test_commit_whose_append_fails_fails_for_its_rejected_partitions_too_in_4_1() -> None:
    both = commit_of({(TOPIC, 0): 5, (TOPIC, 1): (5, -1, TOO_LONG)})
    for profile, rejected in ((V2_7, ErrorCode.OFFSET_METADATA_TOO_LARGE), (V4_1, UNAVAILABLE)):
        (topic,) = Broker(profile).do(FAILING, both).topics
        assert [p.error_code for p in topic.partitions] == [UNAVAILABLE, rejected]


@EVERY
def test_all_parked_syncs_get_the_error_of_the_failed_append(profile: Profile) -> None:
    broker = stable(profile)
    broker.do(join(), join("#1"), sync("#3", 2)._replace(assignments=()))
    assert 5 not in broker.answers
    broker.do(FailAppends(1, ErrorCode.NOT_LEADER_OR_FOLLOWER), sync("#1", 2))
    assert {broker.answers[number].error_code for number in (5, 6)} == {NOT_COORDINATOR}
    assert broker.state == "PreparingRebalance"


LATE = pytest.mark.parametrize("late", sorted(LATE_ERRORS))
WITH_LATE = pytest.mark.parametrize("profile", [V0_10_0, V0_10_2, V2_7], ids=lambda p: p.name)


@LATE
@WITH_LATE
def test_record_is_in_the_log_if_its_error_comes_after_the_leaders_append(
    profile: Profile, late: ErrorCode
) -> None:
    broker = stable(profile)
    broker.do(FailAppends(1, late), commit(1, "#1"))
    assert offset_of(broker.do(READ)) == -1
    broker.do(Crash())
    assert offset_of(broker.do(READ)) == 5
    broker = completing(profile)
    broker.do(FailAppends(1, late), sync("#1"))
    assert broker.state == "PreparingRebalance"
    broker.do(Crash())
    assert (broker.state, broker.group.members[0].assignment) == ("Stable", b"part")


@LATE
def test_new_id_of_a_static_member_is_loaded_if_its_error_comes_after_the_leaders_append(
    late: ErrorCode,
) -> None:
    broker = Broker(V2_7)
    static = join(instance=INSTANCE)
    broker.do(Request(0, 5, static), DELAY, sync("#1"), FailAppends(1, late), Request(0, 5, static))
    assert [member.member_id for member in broker.group.members] == ["#1"]
    broker.do(Crash())
    assert [member.member_id for member in broker.group.members] == ["#3"]


@LATE
def test_transaction_ends_in_the_log_alone_if_the_error_comes_after_the_leaders_append(
    late: ErrorCode,
) -> None:
    broker = Broker(V2_7)
    broker.do(FailAppends(1, late), txn_commit(-1, ""))
    broker.do(kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True))
    assert offset_of(broker.do(READ)) == -1
    broker.do(Crash())
    assert offset_of(broker.do(READ)) == 6


def test_no_append_of_4_1_ends_with_an_error_that_comes_after_the_leaders_append() -> None:
    for profile, late in ((V2_7, LATE_ERRORS), (V4_1, frozenset[ErrorCode]())):
        instance = feature_instances(profile, 1)["failing"]
        given = instance.inputs(instance.initial)
        errors = {each.error for each in given if isinstance(each, FailAppends)}
        assert (errors | {*possible_errors(profile.version, LATE_ERRORS)}) & LATE_ERRORS == late


def test_held_append_fails_at_the_release() -> None:
    broker = completing(V2_7)
    broker.do(FailAppends(1, ErrorCode.NOT_LEADER_OR_FOLLOWER), HoldAppends(), sync("#1"))
    assert broker.state == "CompletingRebalance"
    assert broker.do(ReleaseAppends()).error_code is NOT_COORDINATOR
    assert broker.coordinator.log == Log()


def test_the_given_number_of_appends_fail() -> None:
    broker, late = Broker(V2_7), ErrorCode.REQUEST_TIMED_OUT
    broker.do(FailAppends(2, late))
    errors = [partition_error(broker.do(commit(-1, ""))) for _ in range(3)]
    assert errors == [late, late, NONE]
    broker.do(FailAppends(2, late), FailAppends(0, NONE))
    assert partition_error(broker.do(commit(-1, ""))) is NONE


@EVERY
def test_after_a_crash_the_group_is_as_it_was_last_recorded(profile: Profile) -> None:
    broker = stable(profile)
    broker.do(commit(1, "#1"), Advance(SESSION_MS - 1), join(), Crash())
    group = broker.group
    assert (group.state, group.generation_id) == ("Stable", 1)
    assert (group.protocol_type, group.protocol_name, group.leader) == ("consumer", "range", "#1")
    (member,) = group.members
    assert (member.member_id, member.assignment) == ("#1", b"part")
    assert member.session_left_ms == SESSION_MS  # its session restarts
    assert offset_of(broker.do(READ)) == 5
    assert broker.do(heartbeat()).error_code is NONE
    assert 4 not in broker.answers  # the JoinGroup that was parked


@EVERY
@pytest.mark.parametrize("lost", [Unload(), Loading()], ids=lambda lost: lost.name)
def test_parked_joins_return_not_coordinator_when_the_partition_is_unloaded(
    profile: Profile, lost: Unload | Loading
) -> None:
    broker = stable(profile)
    broker.do(join(), lost)
    answer = broker.answers[3]
    assert (answer.error_code, answer.member_id) == (NOT_COORDINATOR, "#3")
    assert broker.coordinator.group is None


@pytest.mark.parametrize("lost", [Unload(), Loading()], ids=lambda lost: lost.name)
@pytest.mark.parametrize("version", ["0.10.0", "0.10.2"])
def test_unloading_a_group_whose_only_member_has_no_protocol_answers_its_join_once_more(
    version: str, lost: Unload | Loading
) -> None:
    joins = Request(1, 1, join(protocols=()))
    (failed,) = ends(PROFILES[version], joins)
    assert answers_of(failed)[1].error_code is UNKNOWN
    (again,) = ends(PROFILES[version], joins, heartbeat(), lost)
    ((request_id, answer),) = answers_of(again).items()
    assert (request_id, answer.error_code, answer.member_id) == (1, NOT_COORDINATOR, "#1")
    assert replay(Sequence(version, {}, (joins, lost)), ModelPort()) is None


@EVERY
def test_after_a_shutdown_nothing_changes_until_a_crash(profile: Profile) -> None:
    broker = stable(profile)
    broker.do(Shutdown())
    before = broker.coordinator
    broker.do(Advance(10 * SESSION_MS))
    for move in (Unload(), Loading(), Load()):
        (outcome,) = broker.outcomes(move)
        assert outcome.applied == ("failover/not-active",)
    assert broker.coordinator == before
    assert broker.do(heartbeat()).error_code is UNAVAILABLE
    broker.do(Crash())
    assert broker.do(heartbeat()).error_code is NONE


ABORTED = (txn_commit(-1, ""), kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=False))


@differ("load of a group without offsets")
@pytest.mark.parametrize(
    "emptied", [(commit(-1, ""), offset_delete(TOPIC)), ABORTED], ids=["deleted", "aborted"]
)
def test_4_1_may_load_a_group_whose_offsets_are_all_gone(emptied: tuple[Any, ...]) -> None:
    gone, found = ends(V4_1, *emptied, Crash())
    assert gone.coordinator.group is None
    assert group_of(found) == Group()
    assert ends(V4_1, *emptied, Crash(), Crash())[0].coordinator.log == Log()
    assert end(V2_7, *emptied, Crash()).coordinator.group is None


@pytest.mark.parametrize(
    "steps",
    [
        (commit(-1, ""), kafka.DeleteGroupsRequest((GROUP_ID,))),
        (commit(-1, ""), offset_delete(TOPIC), kafka.DeleteGroupsRequest((GROUP_ID,))),
        (*ABORTED, Cleanup()),
    ],
    ids=["with offsets", "without offsets", "cleaned up"],
)
def test_no_load_finds_a_group_that_was_deleted_itself(steps: tuple[Any, ...]) -> None:
    assert end(V4_1, *steps, Crash()).coordinator.group is None


def test_loaded_member_survives_the_rebalance_timeout_only_in_2_7() -> None:
    for profile, stays in ((V0_10_2, False), (V2_7, True)):
        broker = stable(profile)
        broker.do(Crash(), join(), Advance(REBALANCE_MS))
        assert (broker.group.member("#1") is not None) == stays
        assert (broker.group.leader, broker.group.generation_id) == ("#3", 2)


def test_a_loaded_member_that_alone_does_not_rejoin_extends_the_rebalance() -> None:
    broker = stable(V2_7)
    broker.do(Crash(), heartbeat(), join(), leave("#4"))
    timer = broker.group.join_timer
    assert timer is not None
    assert timer.left_ms == REBALANCE_MS
    broker.do(Advance(REBALANCE_MS))
    assert (broker.state, broker.group.generation_id) == ("PreparingRebalance", 1)
    broker.do(Advance(SESSION_MS))
    assert broker.state == "Empty"


@differ("record of a new group")
@pytest.mark.parametrize(
    "asked",
    [Request(0, 4, join()), join(), join()._replace(protocols=())],
    ids=["pending", "joined", "rejected"],
)
def test_4_1_records_a_new_group_with_any_join(asked: Any) -> None:
    assert end(V2_7, asked, Crash()).coordinator.group is None
    loaded = end(V4_1, asked, Crash())
    assert loaded.coordinator.log == Log(GroupRecord(0, None, None, None, ()))
    assert group_of(loaded) == Group()


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ((commit(-1, ""),), "Empty"),
        ((join(), commit(0, "#2")), "PreparingRebalance"),
        ((join(), DELAY, sync("#2", 1)), "PreparingRebalance"),
        ((join(), DELAY, leave("#2")), "Empty"),
        ((Cleanup(),), None),
    ],
    ids=["simple", "waiting", "syncing", "leaving", "cleanup"],
)
def test_4_1_may_forget_the_group_of_a_rejected_commit_when_the_next_append_fails(
    steps: tuple[Any, ...], kept: str | None
) -> None:
    *before, last = steps
    found = ends(V4_1, REJECTED, *before, FAILING, last)
    assert [o.coordinator.group and o.coordinator.group.state.value for o in found] == [
        None,
        kept or "Empty",
    ]
    assert answers_of(found[0]) == answers_of(found[1])
    assert not group_of(found[1]).not_persisted  # another group has been written since
    (older,) = ends(V2_7, REJECTED, *before, FAILING, last)
    assert (older.coordinator.group and older.coordinator.group.state.value) == kept


def test_members_of_a_forgotten_group_are_never_answered() -> None:
    steps = (REJECTED, join(), FAILING, commit(0, "#2"))
    forgotten, _ = ends(V4_1, *steps)
    assert answers_of(forgotten).keys() == {4}
    later, _ = ends(V4_1, *steps, Advance(10 * SESSION_MS))
    assert later.responses == ()


@differ("static member whose new id cannot be stored")
def test_a_static_member_keeps_its_protocols_in_4_1_if_its_new_id_fails_to_append() -> None:
    more = (*PROTOCOLS, Protocol("sticky", b"one"))
    static = join(instance=INSTANCE)
    changed = static._replace(protocols=more, session_timeout_ms=2 * SESSION_MS)
    for profile, error in ((V2_7, None), (V4_1, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)):
        version = profile.max_versions["JoinGroup"]
        first = (Request(0, version, static), DELAY, sync("#1"))
        failed = (*first, FAILING, Request(0, version, changed))
        answer = answers_of(end(profile, *failed, join(protocols=more[-1:]))).get(6)
        assert (answer.error_code if answer else None) is error
    assert group_of(end(V4_1, *failed)) == group_of(end(V4_1, *first))
