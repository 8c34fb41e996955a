"""Groups that are listed, and groups and offsets that are deleted."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.environment import SUBSCRIBED_PROTOCOLS
from groupcheck.model.vocabulary import ErrorCode, OffsetDeleteResponse
from support.kafka_tests import holds
from support.offsets import delete_group, delete_offsets, errors, listed, readable
from support.play import PARTITION, Play

SUBSCRIBED = ("other", 0)  # to what SUBSCRIBED_PROTOCOLS say


@holds("testDeleteNonEmptyGroup")
def test_a_group_is_not_deleted_while_it_has_members() -> None:
    play = Play()
    play.first_member()
    assert delete_group(play) is ErrorCode.NON_EMPTY_GROUP


@holds("testDeleteEmptyGroup")
def test_a_group_whose_members_have_left_is_deleted() -> None:
    play = Play()
    member = play.first_member()
    play.leave(member.member_id)
    assert delete_group(play) is ErrorCode.NONE
    assert play.describe().group_state == "Dead"


@holds("testDeleteEmptyGroupWithStoredOffsets")
def test_an_empty_groups_offsets_are_deleted_with_it() -> None:
    play = Play()
    member = play.stable_member()
    assert play.commit(member.member_id, 1) is ErrorCode.NONE
    assert play.describe().group_state == "Stable"
    play.leave(member.member_id)
    assert delete_group(play) is ErrorCode.NONE
    assert play.describe().group_state == "Dead"
    assert readable(play) == -1


@holds("testDeleteOffsetOfNonExistingGroup", "testDeleteOffsetOfDeadConsumerGroup")
def test_of_a_group_that_is_not_there_or_no_more_no_offset_is_deleted() -> None:
    play = Play()
    not_found = OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND)
    assert delete_offsets(play, PARTITION) == not_found
    play.commit()
    assert delete_group(play) is ErrorCode.NONE
    assert delete_offsets(play, PARTITION) == not_found


@holds("testDeleteOffsetOfNonEmptyNonConsumerGroup")
def test_a_group_with_members_that_are_no_consumers_keeps_its_offsets() -> None:
    play = Play()
    play.stable_member(protocol_type="connect")
    assert delete_offsets(play, PARTITION) == OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP)


@holds("testDeleteOffsetOfEmptyNonConsumerGroup", "testDeleteOffsetOfEmptyConsumerGroup")
@pytest.mark.parametrize("protocol_type", ["connect", "consumer"])
def test_of_an_empty_group_the_offset_that_is_named_is_deleted(protocol_type: str) -> None:
    play = Play()
    member = play.stable_member(protocol_type=protocol_type)
    play.commit(member.member_id, 1, {PARTITION: 37, SUBSCRIBED: 38})
    play.leave(member.member_id)
    assert errors(delete_offsets(play, PARTITION)) == {PARTITION: ErrorCode.NONE}
    assert readable(play) == -1
    assert readable(play, SUBSCRIBED) == 38


@holds("testDeleteOffsetOfConsumerGroupWithUnparsableProtocol")
def test_where_subscriptions_cannot_be_read_every_topic_counts_as_subscribed_to() -> None:
    play = Play()
    member = play.stable_member()
    play.commit(member.member_id, 1)
    answer = delete_offsets(play, PARTITION)
    assert errors(answer) == {PARTITION: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


@holds("testDeleteOffsetOfStableConsumerGroup")
def test_of_a_stable_group_only_offsets_of_topics_not_subscribed_to_are_deleted() -> None:
    play = Play()
    member = play.stable_member(protocols=SUBSCRIBED_PROTOCOLS)
    play.commit(member.member_id, 1, {PARTITION: 37, SUBSCRIBED: 38})
    assert errors(delete_offsets(play, PARTITION, SUBSCRIBED)) == {
        PARTITION: ErrorCode.NONE,
        SUBSCRIBED: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }
    assert readable(play) == -1
    assert readable(play, SUBSCRIBED) == 38


@holds("testListGroupsIncludesStableGroups", "testListGroupsIncludesRebalancingGroups")
def test_a_group_is_listed_with_its_type_whether_it_is_stable_or_not() -> None:
    play = Play()
    member = play.first_member()
    assert [group.protocol_type for group in listed(play)] == ["consumer"]
    play.sync(member.member_id, 1, {})
    assert [group.protocol_type for group in listed(play)] == ["consumer"]


@holds("testListGroupsWithStates")
def test_a_group_is_listed_in_the_state_that_it_is_in() -> None:
    play = Play()
    member = play.first_member()
    states = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")

    def seen() -> list[str]:
        return [state for state in states if listed(play, state)]

    assert seen() == ["CompletingRebalance"]
    play.sync(member.member_id, 1, {})
    assert seen() == ["Stable"]
    play.join()
    assert seen() == ["PreparingRebalance"]
    play.leave(*play.member_ids)
    assert seen() == ["Empty"]


@holds("testCommitAndFetchOffsetsWithEmptyGroup")
def test_a_group_without_a_name_is_one_more_group_that_can_be_deleted() -> None:
    play = Play()
    assert play.commit(group_id="") is ErrorCode.NONE
    assert play.fetch(PARTITION, group_id="")[PARTITION].committed_offset == 42
    assert play.describe("").group_state == "Empty"
    assert delete_group(play, "") is ErrorCode.NONE
    assert play.fetch(PARTITION, group_id="")[PARTITION].committed_offset == -1
