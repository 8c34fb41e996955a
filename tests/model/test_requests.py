"""Details of single requests that no model instance reaches."""

from __future__ import annotations

import struct

import pytest

from groupcheck.model.instances.inputs import GROUP_ID, SUBSCRIBED_PROTOCOLS
from groupcheck.model.profiles import PROFILES
from groupcheck.model.rules.subscription import topics_of
from groupcheck.model.state import HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Protocol,
)
from support.offsets import delete_offsets, end_txn, errors, readable, txn_commit
from support.play import DELAY_MS, PARTITION, Partition, Play

NONE, TOO_LARGE = ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE
OTHER = (PARTITION[0], 3)


@pytest.fixture
def play() -> Play:
    """Kafka 2.7, where a held append has no effect yet."""
    return Play()


def commit(play: Play, offsets: dict[Partition, int], metadata: str) -> dict[Partition, ErrorCode]:
    """A commit of a simple consumer, with metadata for the last partition."""
    partitions = [OffsetCommitRequestPartition(index, n) for (_, index), n in offsets.items()]
    partitions[-1] = partitions[-1]._replace(committed_metadata=metadata)
    topics = (OffsetCommitRequestTopic(PARTITION[0], tuple(partitions)),)
    return errors(play.send(8, OffsetCommitRequest(GROUP_ID, topics=topics)).answer)


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_initial_delay_of_zero_completes_the_join_at_once(profile: str) -> None:
    play = Play(PROFILES[profile], group_initial_rebalance_delay_ms=0)
    assert play.join().answer.generation_id == 1


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_new_member_flag_that_was_not_used_extends_the_next_initial_delay(profile: str) -> None:
    play = Play(PROFILES[profile])
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


def test_a_negative_rebalance_timeout_counts_as_zero(play: Play) -> None:
    first = play.first_member(rebalance_ms=-5)
    second = play.join(rebalance_ms=-5)
    # The first member has no time to rejoin, so the second is alone.
    assert play.state == "CompletingRebalance"
    assert play.member_ids == {second.answer.member_id} != {first.member_id}


def test_leader_that_repeats_its_sync_gets_its_first_assignment(play: Play) -> None:
    member_id = play.first_member().member_id
    play.do(HoldAppends())
    one, two = (play.sync(member_id, 1, {member_id: part}) for part in (b"one", b"two"))
    play.do(ReleaseAppends())
    assert not one.answered
    assert two.answer.assignment == b"one"


@pytest.mark.parametrize("offsets", [(1, 2), (1, 2, 1)], ids=["others", "equal"])
def test_held_commits_of_one_instant_complete_in_order(
    play: Play, offsets: tuple[int, ...]
) -> None:
    play.do(HoldAppends())
    for offset in offsets:
        topics = (
            OffsetCommitRequestTopic(
                PARTITION[0], (OffsetCommitRequestPartition(PARTITION[1], offset),)
            ),
        )
        play.send(8, OffsetCommitRequest(GROUP_ID, topics=topics))
    play.do(ReleaseAppends())
    assert readable(play, stable=True) == offsets[-1]


def test_rejected_partition_of_a_commit_stays_pending_until_it_is_committed() -> None:
    play = Play(offset_metadata_max_bytes=4)
    both = {PARTITION: 1, OTHER: 2}
    assert commit(play, both, "12345") == {PARTITION: NONE, OTHER: TOO_LARGE}
    assert readable(play, stable=True) == 1
    assert readable(play, OTHER, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert commit(play, both, "1234") == {PARTITION: NONE, OTHER: NONE}
    assert readable(play, OTHER, stable=True) == 2


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("𝄞" * 2048, NONE),
        ("𝄞" * 2048 + "x", TOO_LARGE),
        ("é" * 4096, NONE),
        ("\ud800" * 4097, TOO_LARGE),
    ],
    ids=["largest", "larger", "bytes", "surrogates"],
)
def test_metadata_length_is_measured_in_utf_16_units(
    play: Play, metadata: str, error: ErrorCode
) -> None:
    assert commit(play, {PARTITION: 1}, metadata) == {PARTITION: error}


@pytest.mark.parametrize(("first", "second"), [(2, 1), (1, 2)])
def test_the_offset_of_the_transaction_that_committed_last_stands(
    play: Play, first: int, second: int
) -> None:
    txn_commit(play, 7, producer=1)
    txn_commit(play, 8, producer=2)
    end_txn(play, committed=True, producer=first)
    assert readable(play) == 6 + first
    end_txn(play, committed=True, producer=second)
    assert readable(play) == 8


def test_a_subscription_counts_from_the_generation_that_it_began(play: Play) -> None:
    play.join(protocols=SUBSCRIBED_PROTOCOLS)
    subscribed = {PARTITION: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    assert errors(delete_offsets(play, PARTITION)) == subscribed  # not known yet
    play.wait(DELAY_MS)
    assert errors(delete_offsets(play, PARTITION)) == {PARTITION: NONE}


def subscription(*topics: str, version: int = 0, rest: bytes = b"\0\0\0\0") -> bytes:
    """The metadata of a consumer that has subscribed to these topics."""
    names = b"".join(struct.pack(">h", len(t.encode())) + t.encode() for t in topics)
    return struct.pack(">hi", version, len(topics)) + names + rest


@pytest.mark.parametrize(
    ("metadata", "topics"),
    [
        (subscription("a", "b"), ("a", "b")),
        (subscription(), ()),
        (subscription("a", version=9, rest=b"\xff\xff\xff\xffand more"), ("a",)),
        (b"", None),
        (b"\0\0", None),
        (subscription("a", rest=b""), None),
        (subscription("a", "b")[:9], None),
        (subscription("a", rest=b"\0\0\0\7user"), None),
        (struct.pack(">hi", 0, -1), None),
        (struct.pack(">hih", 0, 1, -1), None),
    ],
)
def test_topics_are_read_from_the_metadata_of_a_consumer(
    metadata: bytes, topics: tuple[str, ...] | None
) -> None:
    assert topics_of(metadata) == topics


def test_one_member_whose_metadata_cannot_be_read_makes_the_subscriptions_unknown(
    play: Play,
) -> None:
    known = (Protocol("range", subscription("a")),)
    first = play.stable_member(protocols=known)
    assert play.group.subscribed == ("a",)
    play.join(protocols=(Protocol("range", b"?"),))
    play.join(first.member_id, protocols=known)
    assert play.group.subscribed is None
