"""What administrators ask: lists of groups, and deletions."""

from __future__ import annotations

import struct

import pytest

from groupcheck.model.instances.inputs import GROUP_ID, SUBSCRIBED_PROTOCOLS
from groupcheck.model.rules.subscription import topics_of
from groupcheck.model.state import HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Protocol,
)
from support import play as stage
from support.offsets import (
    delete_group,
    delete_offsets,
    errors,
)
from support.play import PARTITION, Play

SUBSCRIBED = ("other", 0)  # to what SUBSCRIBED_PROTOCOLS say


@pytest.fixture
def play() -> Play:
    return Play()


def subscription(*topics: str, version: int = 0, rest: bytes = b"\0\0\0\0") -> bytes:
    names = b"".join(struct.pack(">h", len(t.encode())) + t.encode() for t in topics)
    return struct.pack(">hi", version, len(topics)) + names + rest


def held_commit(play: Play) -> stage.Call[object]:
    partition = OffsetCommitRequestPartition(PARTITION[1], 5)
    topics = (OffsetCommitRequestTopic(PARTITION[0], (partition,)),)
    return play.send(8, OffsetCommitRequest(GROUP_ID, topics=topics))


def test_assignments_on_their_way_do_not_reach_a_group_that_was_made_after_the_deletion(
    play: Play,
) -> None:
    member = play.first_member()
    play.do(HoldAppends())
    play.sync(member.member_id, 1, {member.member_id: b"all"})
    play.leave(member.member_id)
    assert delete_group(play) is ErrorCode.NONE
    play.do(ReleaseAppends())
    assert not play.exists


def test_a_subscription_counts_from_the_generation_that_it_began(play: Play) -> None:
    play.join(protocols=SUBSCRIBED_PROTOCOLS)
    # The next subscription is not known yet.
    assert errors(delete_offsets(play, PARTITION)) == {
        PARTITION: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    }
    play.wait(3_000)
    assert errors(delete_offsets(play, PARTITION)) == {PARTITION: ErrorCode.NONE}


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
def test_topics_are_read_from_a_consumers_metadata(
    metadata: bytes, topics: tuple[str, ...] | None
) -> None:
    assert topics_of(metadata) == topics


def test_one_member_whose_metadata_cannot_be_read_makes_the_subscriptions_unknown() -> None:
    play = Play()
    readable_metadata = (Protocol("range", subscription("a")),)
    first = play.stable_member(protocols=readable_metadata)
    assert play.group.subscribed == ("a",)
    play.join(protocols=(Protocol("range", b"?"),))
    play.join(first.member_id, protocols=readable_metadata)
    assert play.group.subscribed is None
