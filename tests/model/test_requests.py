"""Details of single requests: which check comes first, which request is answered, what is kept."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.inputs import GROUP_ID
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from support.play import DELAY_MS, Call, Partition, Play

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


def test_leader_that_repeats_its_sync_gets_its_first_assignment(old: Play) -> None:
    member_id = old.first_member().member_id
    old.do(HoldAppends())
    one, two = (old.sync(member_id, 1, {member_id: part}) for part in (b"one", b"two"))
    old.do(ReleaseAppends())
    assert not one.answered
    assert two.answer.assignment == b"one"


@pytest.mark.parametrize("offsets", [(1, 2), (1, 2, 1)], ids=["others", "equal"])
def test_held_commits_of_one_instant_complete_in_order(old: Play, offsets: tuple[int, ...]) -> None:
    old.do(HoldAppends())
    for offset in offsets:
        commit(old, {ZERO: offset})
    old.do(ReleaseAppends())
    assert fetched(old) == (offsets[-1], NONE)


def test_rejected_partition_of_a_commit_stays_pending_until_it_is_committed() -> None:
    play = Play(PROFILES["2.7"], offset_metadata_max_bytes=4)
    assert errors(commit(play, {ZERO: 1, ONE: 2}, "12345")) == [NONE, TOO_LARGE]
    assert fetched(play, ZERO) == (1, NONE)
    assert fetched(play, ONE) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    commit(play, {ZERO: 1, ONE: 2}, "1234")
    assert fetched(play, ONE) == (2, NONE)
