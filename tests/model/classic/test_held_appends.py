"""Held appends in 4.1: the group changes at once, and the responses wait."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import (
    GROUP_ID,
    INSTANCE,
    PRODUCER_ID,
    commit,
    fetch,
    offset_delete,
    txn_commit,
)
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import (
    Cleanup,
    Crash,
    FailAppends,
    HoldAppends,
    Loading,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import successors
from groupcheck.model.vocabulary import ErrorCode, Request
from support.marked_tests import differ
from support.requests import heartbeat, join, leave, offset_of, partition_error, sync
from support.scenario import DELAY, Broker

OLD, NEW = PROFILES["2.7"], PROFILES["4.1"]
NONE = ErrorCode.NONE
HOLD, RELEASE = HoldAppends(), ReleaseAppends()
SIMPLE = commit(-1, "")
READ, STABLY = fetch(require_stable=False), fetch(require_stable=True)
DESCRIBE, LIST = kafka.DescribeGroupsRequest((GROUP_ID,)), kafka.ListGroupsRequest()
DELETE = kafka.DeleteGroupsRequest((GROUP_ID,))
COMMIT_MARKER = kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True)


def described(broker: Broker) -> str:
    (group,) = broker.do(DESCRIBE).groups
    state: str = group.group_state
    return state


def read(broker: Broker) -> int:
    return offset_of(broker.do(READ))


def static(version: int) -> Request:
    return Request(0, version, join()._replace(group_instance_id=INSTANCE))


def completing(profile: Profile = NEW) -> Broker:
    """A group whose leader, #1, has not assigned anything yet."""
    broker = Broker(profile)
    broker.do(join(), DELAY)
    return broker


def stable(profile: Profile = NEW) -> Broker:
    """A stable group of #1, of which two requests are answered."""
    broker = completing(profile)
    assert broker.do(sync("#1")).error_code is NONE
    return broker


def writing() -> Broker:
    """The same, with a commit of the third request that is written and not committed."""
    broker = stable()
    assert broker.do(HOLD, commit(1, "#1")) is None
    return broker


@differ("held appends")
def test_held_append_takes_effect_at_once_in_4_1_and_at_the_release_in_2_7() -> None:
    for profile, offsets in ((OLD, 0), (NEW, 1)):
        broker = stable(profile)
        assert broker.do(HOLD, commit(1, "#1")) is None
        assert len(broker.group.offsets) == offsets
        assert (broker.do(heartbeat()) is None) == (profile is NEW)
        broker.do(RELEASE)
        assert partition_error(broker.answers[3]) is NONE
        assert broker.answers[4].error_code is NONE
        assert read(broker) == 5


@pytest.mark.parametrize(
    "asked",
    [
        heartbeat(),
        leave("nobody"),
        commit(1, "#1"),
        commit(1, "#1", metadata="x" * 5_000),
        txn_commit(-1, ""),
        COMMIT_MARKER,
        STABLY,
        DELETE,
        offset_delete("topic"),
    ],
    ids=lambda asked: type(asked).__name__,
)
def test_response_waits_for_the_append_before_it(asked: Any) -> None:
    held, plain = writing(), writing()
    assert held.do(asked) is None
    held.do(RELEASE)
    assert held.do() == plain.do(RELEASE, asked)
    assert held.do(heartbeat()).error_code is NONE


@pytest.mark.parametrize(
    "asked",
    [
        heartbeat("nobody"),
        heartbeat("#1", 0),
        commit(0, "#1"),
        commit(1, "nobody"),
        sync("#1"),
        sync("#1", 0),
        Request(0, 4, join()),
        join("nobody"),
        DESCRIBE,
        LIST,
        READ,
    ],
    ids=str,
)
def test_thrown_errors_joins_syncs_and_reads_do_not_wait(asked: Any) -> None:
    assert writing().do(asked) is not None


def test_responses_are_released_in_the_order_of_the_log() -> None:
    broker = writing()
    broker.do(heartbeat(), leave("nobody"))
    (outcome,) = successors(broker.coordinator, RELEASE, NEW, NEW.config)
    assert [response.request_id for response in outcome.responses] == [3, 4, 5]
    broker.do(RELEASE)
    assert partition_error(broker.do(commit(1, "#1"))) is NONE


def test_a_group_is_not_visible_before_its_append_is_committed() -> None:
    broker = Broker(NEW)
    broker.do(HOLD, join())
    assert described(broker) == "Dead"
    assert broker.do(LIST).groups == ()
    broker.do(RELEASE)
    assert described(broker) == "PreparingRebalance"


@pytest.mark.parametrize("removal", [DELETE, Cleanup()], ids=["deleted", "cleaned up"])
def test_a_removed_group_is_visible_until_its_removal_is_committed(removal: Any) -> None:
    broker = stable()
    broker.do(leave("#1"), HOLD, removal)
    assert broker.coordinator.group is None
    assert described(broker) == "Empty"
    assert [g.protocol_type for g in broker.do(LIST).groups] == ["consumer"]
    broker.do(join())
    assert described(broker) == "Empty"  # and not the new one
    broker.do(RELEASE)
    assert described(broker) == "PreparingRebalance"


def test_a_deleted_offset_is_read_until_its_deletion_is_committed() -> None:
    broker = Broker(NEW)
    broker.do(SIMPLE, HOLD)
    assert broker.do(offset_delete("topic")) is None
    assert broker.group.offsets == ()
    assert read(broker) == 5
    broker.do(RELEASE)
    assert read(broker) == -1


def test_a_marker_takes_effect_at_once_and_its_response_waits() -> None:
    broker = Broker(NEW)
    broker.do(txn_commit(-1, ""), HOLD)
    assert broker.do(COMMIT_MARKER) is None
    assert [offset.committed_offset for _, offset in broker.group.offsets] == [6]
    assert read(broker) == -1
    broker.do(RELEASE)
    assert broker.answers[2].error_code is NONE
    assert read(broker) == 6


def test_delete_groups_is_decided_on_after_everything_that_waits() -> None:
    broker = stable()
    broker.do(HOLD, leave("#1"), DELETE, DELETE, heartbeat("nobody"))
    assert broker.group.state == "Empty"
    (outcome,) = successors(broker.coordinator, RELEASE, NEW, NEW.config)
    assert [response.request_id for response in outcome.responses] == [3, 4, 5]
    broker.do(RELEASE)
    errors = [broker.answers[number].results[0].error_code for number in (4, 5)]
    assert errors == [NONE, ErrorCode.GROUP_ID_NOT_FOUND]
    assert broker.coordinator.group is None


def test_delete_groups_waits_only_if_something_is_not_committed() -> None:
    broker = stable()
    assert broker.do(HOLD, DELETE).results[0].error_code is ErrorCode.NON_EMPTY_GROUP


def test_group_that_a_member_joins_while_its_deletion_waits_is_not_deleted() -> None:
    broker = Broker(NEW)
    broker.do(HOLD, SIMPLE, DELETE, join(), RELEASE)
    assert broker.answers[2].results[0].error_code is ErrorCode.NON_EMPTY_GROUP
    assert read(broker) == 5


def test_a_deletion_that_waited_is_in_the_log_only_from_the_release_on() -> None:
    broker = Broker(NEW)
    broker.do(HOLD, SIMPLE, DELETE, Crash())
    assert read(broker) == 5
    broker.do(HOLD, SIMPLE, DELETE, FailAppends(1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), RELEASE)
    assert broker.group.offsets


@pytest.mark.parametrize("lost", [Unload(), Loading(), Shutdown()], ids=str)
def test_deferred_responses_become_errors_when_the_partition_is_lost(lost: Any) -> None:
    broker = writing()
    broker.do(heartbeat(), leave("nobody"), STABLY, txn_commit(-1, ""))
    broker.do(COMMIT_MARKER, DELETE, offset_delete("topic"), lost)
    heartbeat_, leave_, fetch_, txn, marker, deleted, offsets = (
        broker.answers[number] for number in range(4, 11)
    )
    plain = (heartbeat_, leave_, fetch_, offsets, *deleted.results)
    errors = {partition_error(broker.answers[3]), partition_error(txn)}
    assert errors | {each.error_code for each in plain} == {ErrorCode.NOT_COORDINATOR}
    assert marker.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert leave_.members == ()
    assert broker.coordinator.appends == ()


def test_deferred_deletion_fails_in_a_shutdown_although_the_group_is_deleted() -> None:
    broker = stable()
    broker.do(leave("#1"), HOLD, DELETE, Shutdown())
    assert broker.answers[4].results[0].error_code is ErrorCode.NOT_COORDINATOR


@differ("static member that rejoins twice")
def test_static_member_replaced_twice_is_answered_by_its_own_append_in_4_1() -> None:
    for profile, expected in ((OLD, "#3"), (NEW, "#4")):
        broker = Broker(profile)
        version = min(8, profile.max_versions["JoinGroup"])
        broker.do(static(version), DELAY, sync("#1"), HOLD, static(version), static(version))
        assert broker.answers[3].error_code is ErrorCode.FENCED_INSTANCE_ID
        broker.do(RELEASE)
        assert broker.answers[4].member_id == expected


def test_only_4_1_has_rules_with_deferred_responses() -> None:
    assert NEW.deferred <= NEW.rules.keys()
    assert all(not profile.deferred for name, profile in PROFILES.items() if name != "4.1")
