"""What differs between 2.7 and 4.1: for each a sequence that the two profiles tell apart."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.instances.inputs import GROUP_ID, NOBODY, commit, fetch
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, Group, Member
from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import (
    DescribeGroupsRequest,
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


@differ("time to sync")
def test_a_member_that_has_not_synced_in_the_rebalance_timeout_is_removed_by_the_newer() -> None:
    steps = (join(), DELAY, Advance(REBALANCE_MS - 1), heartbeat("#1", 1))
    for profile in (OLD, NEW):
        assert group_state(run(profile, *steps)[0]) is COMPLETING
    assert group_state(run(OLD, *steps, Advance(1))[0]) is COMPLETING
    assert group_state(run(NEW, *steps, Advance(1))[0]) is GroupState.EMPTY


@differ("sync in Stable")
def test_sync_in_stable_restarts_the_session_only_in_2_7() -> None:
    steps = (join(), DELAY, sync("#1", 1), Advance(1_000), sync("#1", 1))
    assert member_after(OLD, "#1", *steps).session_left_ms == SESSION_MS
    assert member_after(NEW, "#1", *steps).session_left_ms == SESSION_MS - 1_000


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


@differ("describe")
def test_outside_stable_only_the_newer_shows_what_members_were_assigned() -> None:
    steps = (join(), DELAY, sync("#1", 1), join(), DESCRIBE)
    for profile, expected in (OLD, b""), (NEW, b"part"):
        (described,) = run(profile, *steps)[1][5].groups
        assert described.group_state == "PreparingRebalance"
        shown = {m.member_id: (m.member_metadata, m.member_assignment) for m in described.members}
        assert shown == {"#1": (b"", expected), "#4": (b"", b"")}
