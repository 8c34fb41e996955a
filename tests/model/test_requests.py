"""Details of single requests: which check comes first, which request is answered, what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.instances.environment import GROUP_ID
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    Protocol,
)
from support.offsets import readable
from support.play import DELAY_MS, REBALANCE_MS, Call, Partition, Play

NONE, TOO_LARGE = ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE
ZERO, ONE = ("topic", 0), ("topic", 1)


@pytest.fixture(params=["2.7", "4.1"])
def play(request: pytest.FixtureRequest) -> Play:
    return Play(PROFILES[request.param])


@pytest.fixture
def old() -> Play:
    """Kafka 2.7, where a held append has no effect yet."""
    return Play(PROFILES["2.7"])


def stable_pair(play: Play) -> tuple[str, str]:
    """The leader and the follower of a stable group of generation 2."""
    leader, follower = (member.member_id for member in play.pair())
    for member_id in (leader, follower):
        play.sync(member_id, 2, {leader: b"even", follower: b"odd"})
    assert play.state == "Stable"
    return leader, follower


def commit(
    play: Play, offsets: dict[Partition, int], metadata: str = ""
) -> Call[OffsetCommitResponse]:
    """A commit of a simple consumer, with metadata for the last partition."""
    partitions = [
        OffsetCommitRequestPartition(index, offset) for (_, index), offset in offsets.items()
    ]
    partitions[-1] = partitions[-1]._replace(committed_metadata=metadata)
    topics = (OffsetCommitRequestTopic("topic", tuple(partitions)),)
    return play.send(8, OffsetCommitRequest(GROUP_ID, topics=topics))


def errors(call: Call[OffsetCommitResponse]) -> list[ErrorCode]:
    return [p.error_code for topic in call.answer.topics for p in topic.partitions]


def fetched(play: Play, partition: Partition = ZERO) -> tuple[int, ErrorCode]:
    found = play.fetch(partition)[partition]
    return found.committed_offset, found.error_code


def test_inconsistent_protocols_are_checked_before_the_member_id(play: Play) -> None:
    play.stable_member()
    answer = play.join("stranger", protocol_type="connect").answer
    assert answer.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_repeated_join_replaces_the_parked_one_which_is_never_answered(play: Play) -> None:
    leader, follower = stable_pair(play)
    one, two = play.join(leader), play.join(leader)
    play.join(follower)
    assert not one.answered
    assert two.answer.generation_id == 3


def test_join_with_changed_metadata_in_completing_rebalance_begins_a_rebalance(play: Play) -> None:
    _, follower = play.pair()
    parked = play.sync(follower.member_id, 2)
    again = play.join(follower.member_id, protocols=(Protocol("cooperative", b"other"),))
    assert parked.answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert play.state == "PreparingRebalance"
    assert not again.answered


def test_sole_member_cannot_change_to_protocols_it_did_not_support(play: Play) -> None:
    member = play.stable_member()
    answer = play.join(member.member_id, protocols=(Protocol("sticky", b""),)).answer
    assert answer.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_initial_delay_of_zero_completes_the_join_at_once(profile: str) -> None:
    play = Play(PROFILES[profile], group_initial_rebalance_delay_ms=0)
    assert play.join().answer.generation_id == 1


def test_new_member_flag_that_was_not_used_extends_the_next_initial_delay(play: Play) -> None:
    calls = [play.join(rebalance_ms=DELAY_MS)]  # nothing remains after the delay
    calls.append(play.join(rebalance_ms=DELAY_MS))
    play.wait(DELAY_MS)
    play.leave(*(call.answer.member_id for call in calls))
    assert play.state == "Empty"
    play.join()
    play.wait(DELAY_MS)
    assert play.state == "PreparingRebalance"
    play.wait(DELAY_MS)
    assert play.state == "CompletingRebalance"


def test_pending_member_delays_the_join_phase_and_stays_pending_after_it(play: Play) -> None:
    member = play.stable_member()
    pending = play.join(id_required=True, session_ms=2 * REBALANCE_MS).answer.member_id
    parked = play.join(member.member_id)
    assert not parked.answered
    play.wait(REBALANCE_MS)
    assert parked.answer.generation_id == 2
    assert play.pending_ids == {pending}


def test_last_member_leaves_at_once_while_an_id_is_pending(play: Play) -> None:
    member = play.stable_member()
    pending = play.join(id_required=True).answer.member_id
    play.leave(member.member_id)  # without members the rebalance timeout is 0
    assert (play.state, play.generation_id) == ("Empty", 2)
    assert play.pending_ids == {pending}


def test_repeated_sync_replaces_the_parked_one_which_is_never_answered(play: Play) -> None:
    leader, follower = play.pair()
    one, two = (play.sync(follower.member_id, 2) for _ in range(2))
    play.sync(leader.member_id, 2)
    assert not one.answered
    assert two.answered


def test_parked_join_of_a_leaving_member_is_answered_without_a_member_id(play: Play) -> None:
    leader, _ = stable_pair(play)
    parked = play.join(leader)
    play.leave(leader)
    assert parked.answer == JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, member_id="")


def test_leader_that_repeats_its_sync_gets_its_first_assignment(old: Play) -> None:
    member_id = old.first_member().member_id
    old.do(HoldAppends())
    one, two = (old.sync(member_id, 1, {member_id: part}) for part in (b"one", b"two"))
    old.do(ReleaseAppends())
    assert not one.answered
    assert two.answer.assignment == b"one"


def test_held_commit_is_unstable_and_not_readable(old: Play) -> None:
    commit(old, {ZERO: 1})
    old.do(HoldAppends())
    held = commit(old, {ZERO: 2})
    assert not held.answered
    assert readable(old, ZERO) == 1
    assert fetched(old) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    old.do(ReleaseAppends())
    assert errors(held) == [NONE]
    assert fetched(old) == (2, NONE)


@pytest.mark.parametrize("offsets", [(1, 2), (1, 2, 1)], ids=["others", "equal"])
def test_held_commits_of_one_instant_complete_in_order(old: Play, offsets: tuple[int, ...]) -> None:
    old.do(HoldAppends())
    for offset in offsets:
        commit(old, {ZERO: offset})
    old.do(ReleaseAppends())
    assert fetched(old) == (offsets[-1], NONE)


@pytest.mark.parametrize("topics", [(), (OffsetCommitRequestTopic("topic", ()),)])
def test_commit_without_partitions_creates_no_group(play: Play, topics: tuple[Any, ...]) -> None:
    call: Call[OffsetCommitResponse] = play.send(8, OffsetCommitRequest(GROUP_ID, topics=topics))
    assert call.answer.topics == ()
    assert not play.exists


def test_members_may_commit_in_preparing_rebalance_and_not_in_completing(play: Play) -> None:
    leader, follower = stable_pair(play)
    play.join(leader)
    assert play.commit(follower, 2) is NONE
    play.join(follower)
    assert play.commit(follower, 3) is ErrorCode.REBALANCE_IN_PROGRESS


def test_rejected_partition_of_a_commit_stays_pending_until_it_is_committed() -> None:
    play = Play(PROFILES["2.7"], offset_metadata_max_bytes=4)
    assert errors(commit(play, {ZERO: 1, ONE: 2}, "12345")) == [NONE, TOO_LARGE]
    assert fetched(play, ZERO) == (1, NONE)
    assert fetched(play, ONE) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    commit(play, {ZERO: 1, ONE: 2}, "1234")
    assert fetched(play, ONE) == (2, NONE)


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_commit_with_only_oversized_metadata_fails_at_once_and_leaves_nothing(profile: str) -> None:
    play = Play(PROFILES[profile], offset_metadata_max_bytes=4)
    play.do(HoldAppends())
    assert errors(commit(play, {ZERO: 1}, "12345")) == [TOO_LARGE]
    assert fetched(play) == (-1, NONE)


def test_fetch_of_all_partitions_returns_the_committed_ones(play: Play) -> None:
    assert play.fetch() == {}
    assert fetched(play) == (-1, NONE)
    commit(play, {ZERO: 1, ONE: 2}, "meta")
    found = {name: (p.committed_offset, p.metadata) for name, p in play.fetch().items()}
    assert found == {ZERO: (1, ""), ONE: (2, "meta")}
    assert play.send(7, OffsetFetchRequest(GROUP_ID, ())).answer.topics == ()
