"""What differs between 2.7 and 4.1: for each a sequence that the two profiles tell apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupcheck.model.instances.environment import GROUP_ID, NOBODY, OTHER_PROTOCOLS, commit, fetch
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, Group, Member
from groupcheck.model.step import Profile
from groupcheck.model.transition import successors
from groupcheck.model.vocabulary import (
    Assignment,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ErrorCode,
    GroupState,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequestTopic,
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
    leave,
    partition_error,
    run,
    sync,
)

OLD, NEW = PROFILES["2.7"], PROFILES["4.1"]
DESCRIBE = DescribeGroupsRequest((GROUP_ID,))
STABLE = GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE

# Two members; the second makes it generation 2, which the first, #1, leads.
TWO = (join(), DELAY, join(), join("#1"))


def give_id(**changed: Any) -> Request:
    """A JoinGroup of the version from which an id is given first."""
    return Request(0, 4, join(**changed))


def group_after(profile: Profile, *inputs: RequestBody | Request | Advance) -> Group:
    group = run(profile, *inputs)[0].group
    assert group is not None
    return group


def member_after(
    profile: Profile, member_id: str, *inputs: RequestBody | Request | Advance
) -> Member:
    member = group_after(profile, *inputs).member(member_id)
    assert member is not None
    return member


@differ("timeouts of a member that joins again")
def test_a_member_that_joins_again_has_its_new_timeouts_in_the_newer_alone() -> None:
    again = join("#1", session_timeout_ms=20_000, rebalance_timeout_ms=8_000)
    steps = (join(), DELAY, sync("#1", 1), again)
    old, new = (member_after(profile, "#1", *steps) for profile in (OLD, NEW))
    assert (old.session_timeout_ms, old.rebalance_timeout_ms) == (SESSION_MS, REBALANCE_MS)
    assert (new.session_timeout_ms, new.rebalance_timeout_ms) == (20_000, 8_000)


@differ("initial delay")
def test_who_joins_prolongs_the_initial_delay_of_any_generation_in_the_newer_alone() -> None:
    # Everybody leaves generation 1; in the next delay a second member comes.
    steps = (join(), DELAY, leave("#1"), join(), join(), DELAY)
    assert group_state(run(OLD, *steps)[0]) is COMPLETING
    assert group_state(run(NEW, *steps)[0]) is PREPARING
    assert group_state(run(NEW, *steps, DELAY)[0]) is COMPLETING


def test_an_id_that_expires_during_the_initial_delay_ends_it_in_the_newer_alone() -> None:
    long = (give_id(session_timeout_ms=6_000), Advance(4_000), join(), Advance(2_000))
    assert group_state(run(OLD, *long)[0]) is PREPARING
    state, answers = run(NEW, *long)
    assert group_state(state) is COMPLETING
    assert answers[3].generation_id == 1


def test_a_new_member_that_expires_during_the_initial_delay_ends_it_in_the_newer_alone() -> None:
    config = NEW.config._replace(group_initial_rebalance_delay_ms=400_000)
    for profile, expected in (OLD, PREPARING), (NEW, GroupState.EMPTY):
        slow = profile._replace(config=config)
        state, answers = run(slow, join(rebalance_timeout_ms=500_000), Advance(300_000))
        assert answers[1].error_code is ErrorCode.UNKNOWN_MEMBER_ID
        assert group_state(state) is expected


def test_who_leaves_during_the_initial_delay_does_not_end_it_in_either() -> None:
    for profile in (OLD, NEW):
        assert group_state(run(profile, give_id(), join(), leave("#1"))[0]) is PREPARING


@differ("time to sync")
def test_a_member_that_has_not_synced_in_the_rebalance_timeout_is_removed_by_the_newer() -> None:
    steps = (join(), DELAY, Advance(REBALANCE_MS - 1), heartbeat("#1", 1))
    for profile in (OLD, NEW):
        assert group_state(run(profile, *steps)[0]) is COMPLETING
    assert group_state(run(OLD, *steps, Advance(1))[0]) is COMPLETING
    assert group_state(run(NEW, *steps, Advance(1))[0]) is GroupState.EMPTY


def test_a_follower_that_has_not_synced_is_removed_from_a_stable_group_by_the_newer() -> None:
    steps = (*TWO, sync("#1", 2), Advance(REBALANCE_MS))
    assert group_state(run(OLD, *steps)[0]) is STABLE
    group = group_after(NEW, *steps)
    assert group.state is PREPARING
    assert [m.member_id for m in group.members] == ["#1"]


def test_no_member_is_removed_when_all_have_synced_in_time() -> None:
    assert len(TWO) == 4
    group = group_after(NEW, *TWO, sync("#1", 2), sync("#3", 2), Advance(REBALANCE_MS))
    assert (group.state, len(group.members), group.sync_left_ms) == (STABLE, 2, None)


def test_leader_that_did_not_sync_is_removed_and_parked_syncs_have_to_rejoin() -> None:
    state, answers = run(NEW, *TWO, sync("#3", 2), Advance(REBALANCE_MS))
    assert answers[5].error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert state.group is not None
    assert (state.group.state, state.group.leader) == (PREPARING, "#3")


def test_the_time_to_sync_is_off_when_a_rebalance_begins() -> None:
    group = group_after(NEW, *TWO, join("#1", protocols=OTHER_PROTOCOLS))
    assert (group.state, group.sync_left_ms) == (PREPARING, None)
    assert not any(m.unsynced for m in group.members)


@differ("sync in Stable")
def test_sync_in_stable_restarts_the_session_only_in_2_7() -> None:
    steps = (join(), DELAY, sync("#1", 1), Advance(1_000), sync("#1", 1))
    assert member_after(OLD, "#1", *steps).session_left_ms == SESSION_MS
    assert member_after(NEW, "#1", *steps).session_left_ms == SESSION_MS - 1_000


def test_a_sync_of_a_group_without_members_is_refused_in_both() -> None:
    for profile, rule in (OLD, "sync/unknown-member"), (NEW, "sync/empty-group"):
        assert rule in profile.rules
        assert run(profile, give_id(), sync("#1", 0))[1][2].error_code == 25


def test_before_a_protocol_is_chosen_the_newer_has_nothing_against_any() -> None:
    steps = (give_id(), join("#1"), sync("#1", 0))
    assert run(OLD, *steps)[1][3].error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert run(NEW, *steps)[1][3].error_code is ErrorCode.REBALANCE_IN_PROGRESS


@differ("batch leave")
def test_a_batch_leaves_one_by_one_in_the_older_and_together_in_the_newer() -> None:
    # The SyncGroup of #3 is parked: the older tells it of the rebalance that #1 leaves behind.
    steps = (*TWO, sync("#3", 2), leave("#1", "#3"))
    old, new = run(OLD, *steps), run(NEW, *steps)
    assert old[1][5].error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert 5 not in new[1]
    for state, answers in (old, new):
        assert group_state(state) is GroupState.EMPTY
        assert {m.error_code for m in answers[6].members} == {ErrorCode.NONE}


def test_a_pending_id_that_leaves_starts_a_rebalance_in_the_newer_alone() -> None:
    for ending, before in ((), COMPLETING), ((sync("#1", 1),), STABLE):
        steps = (join(), DELAY, *ending, give_id(), leave(f"#{3 + len(ending)}"))
        assert group_state(run(OLD, *steps)[0]) is before
        assert group_state(run(NEW, *steps)[0]) is PREPARING


def test_unknown_member_that_leaves_begins_no_rebalance() -> None:
    steps = (join(), DELAY, sync("#1", 1), leave(NOBODY))
    for profile in (OLD, NEW):
        state, answers = run(profile, *steps)
        assert group_state(state) is STABLE
        assert answers[4].members[0].error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_id_that_leaves_an_empty_group_leaves_it_empty() -> None:
    for profile in (OLD, NEW):
        assert group_state(run(profile, give_id(), leave("#1"))[0]) is GroupState.EMPTY


@differ("commit to no group")
@pytest.mark.parametrize(
    ("version", "expected"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_commit_of_a_generation_says_that_there_is_no_group_from_version_9_on(
    version: int, expected: ErrorCode
) -> None:
    assert OLD.max_versions["OffsetCommit"] == 8
    answers = run(NEW, Request(0, version, commit(1, NOBODY)))[1]
    assert partition_error(answers[1]) is expected
    assert partition_error(run(OLD, commit(1, NOBODY))[1][1]) is ErrorCode.ILLEGAL_GENERATION


def test_a_commit_without_member_and_generation_is_refused_while_there_are_members() -> None:
    for profile in (OLD, NEW):
        answers = run(profile, join(), DELAY, sync("#1", 1), commit(-1, ""))[1]
        assert partition_error(answers[4]) is ErrorCode.UNKNOWN_MEMBER_ID
    assert "commit/simple-in-use" in NEW.rules.keys() - OLD.rules.keys()


@differ("stable offsets", "metadata too long")
def test_a_partition_refused_beside_a_stored_one_stays_unstable_in_the_older_alone() -> None:
    partitions = (
        OffsetCommitRequestPartition(0, 5, committed_metadata="x" * 5_000),
        OffsetCommitRequestPartition(1, 5),
    )
    both = commit(-1, "")._replace(topics=(OffsetCommitRequestTopic("topic", partitions),))

    def fetched(profile: Profile) -> ErrorCode:
        return partition_error(run(profile, both, fetch(require_stable=True))[1][2])

    assert fetched(OLD) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert fetched(NEW) is ErrorCode.NONE


def test_a_partition_named_twice_is_committed_twice_by_the_newer_alone() -> None:
    twice = (
        OffsetCommitRequestPartition(0, 7),
        OffsetCommitRequestPartition(0, 8, committed_metadata="x" * 5_000),
    )
    both = commit(-1, "")._replace(topics=(OffsetCommitRequestTopic("topic", twice),))
    large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    for profile, errors, offset in (OLD, [large], -1), (NEW, [ErrorCode.NONE, large], 7):
        answers = run(profile, both, fetch(require_stable=False))[1]
        assert [p.error_code for p in answers[1].topics[0].partitions] == errors
        assert answers[2].topics[0].partitions[0].committed_offset == offset


def test_a_fetch_is_answered_topic_by_topic_as_it_was_asked_by_the_newer_alone() -> None:
    asked = (
        OffsetFetchRequestTopic("topic", (1, 0, 1)),
        OffsetFetchRequestTopic("none", ()),
        OffsetFetchRequestTopic("topic", (0,)),
    )
    named = fetch(require_stable=False)._replace(topics=asked)

    def returned(profile: Profile) -> list[tuple[str, list[int]]]:
        topics = run(profile, commit(-1, ""), named)[1][2].topics
        return [(topic.name, [p.partition_index for p in topic.partitions]) for topic in topics]

    assert returned(OLD) == [("topic", [0, 1])]
    assert returned(NEW) == [("topic", [1, 0, 1]), ("none", []), ("topic", [0])]


@differ("describe")
@pytest.mark.parametrize(
    ("version", "expected"), [(5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_to_describe_a_group_that_is_not_there_is_an_error_from_version_6_on(
    version: int, expected: ErrorCode
) -> None:
    assert OLD.max_versions["DescribeGroups"] == 5
    (described,) = run(NEW, Request(0, version, DESCRIBE))[1][1].groups
    assert (described.error_code, described.group_state) == (expected, "Dead")


def test_a_group_that_came_with_a_refused_commit_may_not_show_in_the_newer() -> None:
    refused = commit(-1, "", metadata="x" * 5_000)
    created, answers = run(NEW, refused)
    assert partition_error(answers[1]) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    shown = {
        (outcome.responses[0].body.groups[0].group_state, outcome.coordinator.group.unwritten)
        for outcome in successors(created, Request(2, 6, DESCRIBE), NEW, NEW.config)
        if isinstance(outcome.responses[0].body, DescribeGroupsResponse)
        and outcome.coordinator.group is not None
    }
    assert shown == {("Dead", True), ("Empty", False)}
    assert run(OLD, refused, DESCRIBE)[1][2].groups[0].group_state == "Empty"


def test_a_group_shows_once_anything_of_it_was_written() -> None:
    refused = commit(-1, "", metadata="x" * 5_000)
    for writes in (commit(-1, ""),), (join(), DELAY, sync("#2", 1)), (join(), leave("#2"), DELAY):
        assert not group_after(NEW, refused, *writes).unwritten
    assert group_after(NEW, refused, join(), DELAY).unwritten


@differ("describe")
def test_outside_stable_only_the_newer_shows_what_members_were_assigned() -> None:
    steps = (join(), DELAY, sync("#1", 1), join(), DESCRIBE)
    for profile, expected in (OLD, b""), (NEW, b"part"):
        (described,) = run(profile, *steps)[1][5].groups
        assert described.group_state == "PreparingRebalance"
        shown = {m.member_id: (m.member_metadata, m.member_assignment) for m in described.members}
        assert shown == {"#1": (b"", expected), "#4": (b"", b"")}


def test_what_was_assigned_shows_until_the_next_generation_fails_before_its_own() -> None:
    after = (join(), DELAY, sync("#1", 1), join("#1"), DESCRIBE, join(), DESCRIBE)
    answers = run(NEW, *after)[1]
    assert answers[5].groups[0].group_state == "CompletingRebalance"
    assert answers[5].groups[0].members[0].member_assignment == b"part"
    assert answers[7].groups[0].group_state == "PreparingRebalance"
    assert {m.member_assignment for m in answers[7].groups[0].members} == {b""}


def test_versions_begin_where_4_0_left_the_older_ones_behind() -> None:
    def oldest(profile: Profile) -> Callable[[str], int]:
        return lambda api: profile.min_versions.get(api, 0)

    assert oldest(NEW)("OffsetCommit") == 2
    assert oldest(NEW)("OffsetFetch") == 1
    assert oldest(OLD)("OffsetCommit") == 1
    assert oldest(NEW)("JoinGroup") == 0


def test_assignment_of_an_unknown_member_is_ignored_and_a_missing_one_is_empty() -> None:
    given = sync("#1", 2)._replace(assignments=(Assignment(NOBODY, b"lost"),))
    for profile in (OLD, NEW):
        answers = run(profile, *TWO, sync("#3", 2), given)[1]
        assert [answers[n].assignment for n in (5, 6)] == [b"", b""]
