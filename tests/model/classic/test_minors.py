"""The differences of Kafka's minor versions from the profiles."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID, INSTANCE, commit, txn_commit
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.profiles.minors import CHANGES, EVERY_PROFILE, MINORS, changes_of
from groupcheck.model.classic.sources import link
from groupcheck.model.classic.state import Advance
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity, Protocol, Request
from groupcheck.properties.brokers.apache import RELEASES
from support.requests import REBALANCE_MS, SESSION_MS, heartbeat, join, partition_error, sync
from support.scenario import DELAY, Broker, run

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID
STABLE = (join(), DELAY, sync("#1"))
STATIC = Request(1, 5, join(instance=INSTANCE))


def _last(name: str, *inputs: Any) -> Any:
    """The answer to the last input in a version, None without one."""
    return run(EVERY_PROFILE[name], *inputs).answers.get(len(inputs))


def _members(name: str, *inputs: Any) -> int:
    group = run(EVERY_PROFILE[name], *inputs).coordinator.group
    return len(group.members) if group else 0


def test_each_minor_profile_differs_from_2_7_and_describes_a_release() -> None:
    assert all(changes_of(name) for name in MINORS)
    assert {each.profile for each in RELEASES} == {*MINORS, "0.10.2", "2.7", "4.1"}
    assert {name for change in CHANGES for name in change.profiles} == MINORS.keys()


def test_a_source_of_a_minor_version_links_to_its_tag() -> None:
    rule = MINORS["3.9"].rules["heartbeat/unknown-instance"]
    assert link("3.9", rule.source).endswith(
        "/blob/3.0.2/core/src/main/scala/kafka/coordinator/group/GroupCoordinator.scala#L341"
    )
    kept = MINORS["3.9"].rules["heartbeat/alive"]
    assert link("3.9", kept.source) == link("2.7", kept.source)


def test_no_answer_of_a_minor_version_waits_as_in_4_1() -> None:
    assert not any(profile.deferred for profile in MINORS.values())


@pytest.mark.parametrize(("name", "error"), [("2.7", NONE), ("2.8", NONE), ("3.2", UNKNOWN)])
def test_unknown_group_instance_id_is_refused_from_3_0_on(name: str, error: ErrorCode) -> None:
    for asked in (heartbeat("#1"), sync("#1")):
        static = asked._replace(group_instance_id=INSTANCE)
        assert _last(name, *STABLE, static).error_code is error
    committed = commit(1, "#1")._replace(group_instance_id=INSTANCE)
    assert partition_error(_last(name, *STABLE, committed)) is error


@pytest.mark.parametrize("name", ["2.8", "3.9"])
def test_pending_id_leaves_with_a_group_instance_id_from_3_0_on(name: str) -> None:
    gone = kafka.LeaveGroupRequest(GROUP_ID, (MemberIdentity("#1", INSTANCE),))
    answer = _last(name, Request(1, 4, join()), gone)
    assert answer.error_code is (NONE if name == "3.9" else ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [member.error_code for member in answer.members or ()] == ([NONE] * (name == "3.9"))


@pytest.mark.parametrize(
    ("name", "error"), [("2.7", UNKNOWN), ("2.8", NONE), ("3.2", NONE), ("3.9", NONE)]
)
def test_a_full_group_keeps_a_static_member_whose_instance_id_is_rejected_from_2_8_on(
    name: str, error: ErrorCode
) -> None:
    broker = Broker(EVERY_PROFILE[name], group_max_size=1)
    broker.do(Request(1, 5, join(instance=INSTANCE)), DELAY)
    full = broker.do(Request(2, 5, join(instance=INSTANCE)))
    assert full.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    again = broker.do(Request(3, 5, join("#1", instance=INSTANCE)))
    assert again.error_code is error


@pytest.mark.parametrize(
    ("name", "without_generation", "with_generation"),
    [("2.8", UNKNOWN, NONE), ("3.2", UNKNOWN, UNKNOWN), ("3.6", NONE, UNKNOWN)],
)
def test_commits_of_transactions_name_current_members_unless_the_group_is_empty(
    name: str, without_generation: ErrorCode, with_generation: ErrorCode
) -> None:
    assert partition_error(_last(name, txn_commit(-1, "nobody"))) is without_generation
    assert partition_error(_last(name, txn_commit(0, ""))) is with_generation


@pytest.mark.parametrize("created", [(), (commit(-1, ""),)])
@pytest.mark.parametrize(("name", "error"), [("2.8", NONE), ("3.2", UNKNOWN), ("3.6", NONE)])
def test_commit_to_a_group_without_members_names_none_in_3_0_to_3_2(
    name: str, error: ErrorCode, created: tuple[Any, ...]
) -> None:
    assert partition_error(_last(name, *created, commit(-1, "nobody"))) is error
    assert partition_error(_last(name, *created, commit(-1, ""))) is NONE


@pytest.mark.parametrize(("name", "left"), [("2.7", 2), ("2.8", 1), ("3.9", 1)])
def test_members_that_do_not_sync_are_removed_from_2_8_on(name: str, left: int) -> None:
    two = (join(), DELAY, join(), join("#1"), sync("#1", 2))
    alive = (heartbeat("#3", 2), heartbeat("#1", 2), Advance(REBALANCE_MS))
    assert SESSION_MS > REBALANCE_MS
    assert _members(name, *two, *alive) == left


@pytest.mark.parametrize("name", ["3.2", "3.6"])
def test_member_takes_over_new_timeouts_from_3_3_on(name: str) -> None:
    again = join("#1", session_ms=2 * SESSION_MS)
    expired = (*STABLE, again, sync("#1", 2), Advance(SESSION_MS + 1))
    assert _members(name, *expired) == (name == "3.6")


@pytest.mark.parametrize(("name", "pending"), [("3.6", 1), ("3.7", 0)])
def test_refused_partition_of_a_commit_is_not_pending_from_3_7_on(name: str, pending: int) -> None:
    (topic,) = commit(-1, "").topics
    (partition,) = topic.partitions
    refused = partition._replace(partition_index=1, committed_metadata="x" * 9_000)
    topics = (topic._replace(partitions=(partition, refused)),)
    group = run(EVERY_PROFILE[name], commit(-1, "")._replace(topics=topics)).coordinator.group
    assert group is not None
    assert (len(group.offsets), len(group.unstable)) == (1, pending)


@pytest.mark.parametrize(("name", "found"), [("3.7", 0), ("3.9", 1)])
def test_states_are_listed_in_any_case_from_3_8_on(name: str, found: int) -> None:
    answer = _last(name, *STABLE, Request(4, 4, kafka.ListGroupsRequest(("stable",))))
    assert len(answer.groups) == found


@pytest.mark.parametrize("name", ["2.5", "2.7"])
def test_heartbeat_before_the_assignments_says_rebalance_before_2_6(name: str) -> None:
    error = _last(name, join(), DELAY, heartbeat("#1")).error_code
    assert error is (NONE if name == "2.7" else ErrorCode.REBALANCE_IN_PROGRESS)


@pytest.mark.parametrize(("name", "generation"), [("2.5", 1), ("2.7", 2)])
def test_returning_static_member_with_other_protocols_keeps_the_generation_before_2_6(
    name: str, generation: int
) -> None:
    old, new = Protocol("range", b"old"), Protocol("roundrobin", b"new")
    first, again = (
        Request(number, 5, join(instance=INSTANCE, protocols=protocols))
        for number, protocols in ((1, (old,)), (4, (new, old)))
    )
    assert _last(name, first, *STABLE[1:], again).generation_id == generation


@pytest.mark.parametrize(("name", "generation"), [("2.4", 1), ("2.5", 2)])
def test_static_member_that_returns_before_the_assignments_starts_no_rebalance_before_2_5(
    name: str, generation: int
) -> None:
    assert _last(name, STATIC, DELAY, STATIC._replace(request_id=3)).generation_id == generation


@pytest.mark.parametrize(("name", "left"), [("2.4", 1), ("2.5", 0)])
def test_silent_new_member_outlives_its_session_in_2_4(name: str, left: int) -> None:
    assert _members(name, join(), DELAY, Advance(SESSION_MS)) == left
    assert _members(name, join(), DELAY, sync("#1"), Advance(SESSION_MS)) == 0
    assert PROFILES["2.7"].config.new_member_join_timeout_ms > SESSION_MS
