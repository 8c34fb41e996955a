"""What administrators ask: lists of groups, and deletions."""

from __future__ import annotations

import struct

import pytest

from groupcheck.model.instances.environment import GROUP_ID, SUBSCRIBED_PROTOCOLS
from groupcheck.model.rules.subscription import topics_of
from groupcheck.model.state import HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    ListedGroup,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    Protocol,
)
from support import play as stage
from support.offsets import (
    delete_group,
    delete_offsets,
    end_txn,
    errors,
    listed,
    readable,
    sent,
    txn_commit,
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


def test_the_group_is_listed_with_its_type_and_state(play: Play) -> None:
    assert listed(play) == ()
    play.commit()
    assert listed(play) == (ListedGroup(GROUP_ID, "", "Empty"),)
    play.stable_member()
    assert listed(play) == (ListedGroup(GROUP_ID, "consumer", "Stable"),)


def test_a_filter_of_states_is_taken_letter_by_letter(play: Play) -> None:
    play.commit()
    assert listed(play, "Stable", "Empty")
    assert not listed(play, "Stable")
    assert not listed(play, "empty")


def test_empty_group_is_deleted_with_its_offsets_and_can_be_created_again(play: Play) -> None:
    member = play.stable_member()
    play.commit(member.member_id, 1)
    play.leave(member.member_id)
    assert delete_group(play) is ErrorCode.NONE
    assert not play.exists
    assert readable(play) == -1
    assert play.first_member().generation_id == 1


def test_a_group_with_members_is_not_deleted_and_one_that_is_not_there_is_not_found(
    play: Play,
) -> None:
    assert delete_group(play) is ErrorCode.GROUP_ID_NOT_FOUND
    play.stable_member()
    assert delete_group(play) is ErrorCode.NON_EMPTY_GROUP
    assert play.state == "Stable"


def test_an_id_given_out_does_not_keep_a_group_and_is_unknown_afterwards(play: Play) -> None:
    pending = play.join(id_required=True).answer.member_id
    assert delete_group(play) is ErrorCode.NONE
    assert play.join(pending, id_required=True).answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_on_its_way_is_answered_after_the_group_is_deleted_and_cannot_be_read(
    play: Play,
) -> None:
    play.do(HoldAppends())
    call = held_commit(play)
    assert delete_group(play) is ErrorCode.NONE
    play.join(id_required=True)
    play.do(ReleaseAppends())
    assert call.answered
    assert readable(play) == -1


def test_an_open_transaction_of_a_deleted_group_comes_to_nothing(play: Play) -> None:
    txn_commit(play, 7)
    assert delete_group(play) is ErrorCode.NONE
    play.commit(offsets={PARTITION: 1})
    end_txn(play, committed=True)
    assert readable(play, stable=True) == 1


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


def test_the_last_offset_of_an_empty_group_takes_the_group_with_it(play: Play) -> None:
    play.commit(offsets={PARTITION: 1, SUBSCRIBED: 2})
    assert errors(delete_offsets(play, PARTITION)) == {PARTITION: ErrorCode.NONE}
    assert readable(play) == -1
    assert play.exists
    assert errors(delete_offsets(play, SUBSCRIBED)) == {SUBSCRIBED: ErrorCode.NONE}
    assert not play.exists
    assert delete_offsets(play, PARTITION) == OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND)


def test_to_delete_no_offset_deletes_no_group(play: Play) -> None:
    play.join(id_required=True)
    assert delete_offsets(play) == OffsetDeleteResponse(ErrorCode.NONE)
    assert play.exists


def test_an_open_transaction_keeps_a_group_even_if_its_offsets_are_deleted(play: Play) -> None:
    txn_commit(play, 7)
    assert errors(delete_offsets(play, PARTITION)) == {PARTITION: ErrorCode.NONE}
    assert play.exists
    assert readable(play, stable=True) == -1
    end_txn(play, committed=True)
    assert readable(play) == -1
    delete_offsets(play, PARTITION)
    assert not play.exists


def test_a_commit_on_its_way_whose_offset_is_deleted_is_answered_and_not_stored(
    play: Play,
) -> None:
    play.commit(offsets={SUBSCRIBED: 2})
    play.do(HoldAppends())
    call = held_commit(play)
    delete_offsets(play, PARTITION)
    play.do(ReleaseAppends())
    assert call.answered
    assert readable(play) == -1


def test_offsets_of_topics_that_consumers_have_subscribed_to_are_kept(play: Play) -> None:
    play.commit(offsets={PARTITION: 1, SUBSCRIBED: 2})
    play.stable_member(protocols=SUBSCRIBED_PROTOCOLS)
    assert errors(delete_offsets(play, PARTITION, SUBSCRIBED)) == {
        PARTITION: ErrorCode.NONE,
        SUBSCRIBED: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }
    assert readable(play) == -1
    assert readable(play, SUBSCRIBED) == 2


def test_a_subscription_counts_from_the_generation_that_it_began(play: Play) -> None:
    play.join(protocols=SUBSCRIBED_PROTOCOLS)
    # The next subscription is not known yet.
    assert errors(delete_offsets(play, PARTITION)) == {
        PARTITION: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    }
    play.wait(3_000)
    assert errors(delete_offsets(play, PARTITION)) == {PARTITION: ErrorCode.NONE}


def test_topics_of_a_group_of_another_type_are_unknown(play: Play) -> None:
    play.stable_member(protocol_type="connect", protocols=SUBSCRIBED_PROTOCOLS)
    refused = OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP)
    assert delete_offsets(play, PARTITION) == refused


def test_offsets_of_a_group_without_a_name_cannot_be_deleted(play: Play) -> None:
    answer = play.send(0, OffsetDeleteRequest("")).answer
    assert answer == OffsetDeleteResponse(ErrorCode.INVALID_GROUP_ID)


def test_a_held_transaction_of_a_deleted_group_is_answered(play: Play) -> None:
    play.do(HoldAppends())
    call = sent(play, {})
    assert call.answered
    assert not play.exists


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
