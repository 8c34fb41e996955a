"""Offsets and groups: commits, fetches, transactions, deletions, lists and descriptions."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.inputs import SUBSCRIBED_PROTOCOLS
from groupcheck.model.vocabulary import (
    NO_OFFSET,
    ErrorCode,
    OffsetCommitRequestPartition,
    OffsetDeleteResponse,
    OffsetFetchResponsePartition,
)
from support.marked_tests import holds
from support.offsets import (
    delete_group,
    delete_offsets,
    end_txn,
    errors,
    listed,
    readable,
    txn_commit,
)
from support.play import COOPERATIVE, PARTITION, Play

NONE = ErrorCode.NONE
OTHER = ("refunds", 0)
SUBSCRIBED = ("other", 0)  # to what SUBSCRIBED_PROTOCOLS say


@holds("testCommitOffsetWithDefaultGeneration", "testCommitOffsetsAfterGroupIsEmpty")
def test_a_simple_consumer_commits_while_the_group_has_no_members() -> None:
    play = Play()
    assert play.commit(offsets={PARTITION: 41}) is NONE
    assert readable(play) == 41
    member = play.stable_member()
    assert play.commit() is ErrorCode.UNKNOWN_MEMBER_ID
    assert play.leave(member.member_id) == [NONE]
    assert play.commit(offsets={PARTITION: 42}) is NONE
    assert readable(play) == 42


@holds("testFetchOffsets")
def test_an_offset_is_fetched_with_its_epoch_and_metadata() -> None:
    play = Play()
    index = PARTITION[1]
    committed = OffsetCommitRequestPartition(index, 1_234, 5, "by hand")
    assert play.commit(offsets={PARTITION: committed}) is NONE
    expected = OffsetFetchResponsePartition(index, 1_234, 5, "by hand")
    assert play.fetch(PARTITION) == {PARTITION: expected}


@holds("testFetchOffsetForUnknownPartition")
def test_partition_without_a_commit_has_no_offset_and_no_error() -> None:
    play = Play()
    assert play.fetch(PARTITION) == {PARTITION: OffsetFetchResponsePartition(PARTITION[1])}
    assert readable(play) == NO_OFFSET
    assert not play.exists


@holds("testFetchAllOffsets")
def test_a_fetch_that_names_no_partition_returns_all_committed_offsets() -> None:
    play = Play()
    assert play.fetch() == {}
    committed = {("payments", 0): 3, ("payments", 1): 5, ("refunds", 0): 8}
    assert play.commit(offsets=committed) is NONE
    found = play.fetch()
    assert {partition: p.committed_offset for partition, p in found.items()} == committed
    assert {p.error_code for p in found.values()} == {NONE}


@holds(
    "testCommitOffsetInCompletingRebalance",
    "testCommitOffsetInCompletingRebalanceFromUnknownMemberId",
    "testCommitOffsetInCompletingRebalanceFromIllegalGeneration",
)
def test_commits_in_completing_rebalance_fail_with_the_first_error() -> None:
    play = Play()
    member = play.first_member()
    assert play.state == "CompletingRebalance"
    assert play.commit(member.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert play.commit("", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert play.commit(member.member_id, 2) is ErrorCode.ILLEGAL_GENERATION
    assert play.fetch() == {}


@holds(
    "testBasicFetchTxnOffsets",
    "testFetchTxnOffsetsWithAbort",
    "testFetchPendingTxnOffsetsWithAbort",
    "testFetchPendingTxnOffsetsWithCommit",
    "testFetchTxnOffsetsIgnoreSpuriousCommit",
)
@pytest.mark.parametrize(("committed", "offset"), [(True, 25), (False, -1)])
def test_an_offset_of_a_transaction_is_read_after_its_commit_marker_alone(
    *, committed: bool, offset: int
) -> None:
    play = Play()
    assert txn_commit(play, 25) is NONE
    assert readable(play) == -1
    assert readable(play, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert readable(play, OTHER, stable=True) == -1
    end_txn(play, committed=committed)
    assert readable(play) == readable(play, stable=True) == offset
    end_txn(play, committed=True)  # a second marker changes nothing
    assert readable(play) == offset


@holds("testFetchTxnOffsetsMultipleProducersOneGroup")
def test_the_marker_of_each_producer_commits_its_own_offsets() -> None:
    play = Play()
    txn_commit(play, 10, producer=1_000)
    txn_commit(play, 15, producer=1_005, partition=OTHER)
    end_txn(play, committed=True, producer=1_000)
    assert (readable(play, PARTITION), readable(play, OTHER)) == (10, -1)
    end_txn(play, committed=True, producer=1_005)
    assert (readable(play, PARTITION), readable(play, OTHER)) == (10, 15)


@holds("testFetchTxnOffsetsOneProducerMultipleGroups")
def test_a_marker_commits_the_offsets_of_the_group_to_whose_partition_it_is_written() -> None:
    first, second = Play(), Play()  # two groups, and one producer

    def read() -> list[int | ErrorCode]:
        return [readable(play, each) for play in (first, second) for each in (PARTITION, OTHER)]

    assert txn_commit(first, 10, partition=PARTITION) is NONE
    assert txn_commit(second, 15, partition=OTHER) is NONE
    end_txn(first, committed=True)
    assert read() == [10, -1, -1, -1]
    end_txn(second, committed=True)
    assert read() == [10, -1, -1, 15]


@holds(
    "testTxnCommitOffsetWithKnownMemberId",
    "testTxnCommitOffsetWithIllegalGeneration",
    "testTxnCommitOffsetWithLegalGeneration",
)
def test_a_transactional_commit_names_no_generation_or_the_current_one() -> None:
    play = Play()
    member_id = play.first_member().member_id
    assert txn_commit(play, member_id=member_id) is NONE
    assert txn_commit(play, member_id=member_id, generation_id=6) is ErrorCode.ILLEGAL_GENERATION
    assert txn_commit(play, member_id=member_id, generation_id=1) is NONE


@holds("testDeleteNonEmptyGroup", "testDeleteEmptyGroup", "testDeleteEmptyGroupWithStoredOffsets")
def test_an_empty_group_is_deleted_with_its_offsets_and_no_other() -> None:
    play = Play()
    member = play.stable_member()
    assert play.commit(member.member_id, 1) is NONE
    assert delete_group(play) is ErrorCode.NON_EMPTY_GROUP
    assert play.describe().group_state == "Stable"
    play.leave(member.member_id)
    assert delete_group(play) is NONE
    assert play.describe().group_state == "Dead"
    assert readable(play) == -1


@holds("testDeleteOffsetOfNonExistingGroup", "testDeleteOffsetOfDeadConsumerGroup")
def test_a_group_that_does_not_exist_or_is_deleted_has_no_offset_to_delete() -> None:
    play = Play()
    not_found = OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND)
    assert delete_offsets(play, PARTITION) == not_found
    play.commit()
    assert delete_group(play) is NONE
    assert delete_offsets(play, PARTITION) == not_found


@holds("testDeleteOffsetOfNonEmptyNonConsumerGroup")
def test_offsets_of_a_group_with_members_of_another_protocol_type_are_kept() -> None:
    play = Play()
    play.stable_member(protocol_type="connect")
    assert delete_offsets(play, PARTITION) == OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP)


@holds("testDeleteOffsetOfEmptyNonConsumerGroup", "testDeleteOffsetOfEmptyConsumerGroup")
@pytest.mark.parametrize("protocol_type", ["connect", "consumer"])
def test_the_named_offset_of_an_empty_group_is_deleted(protocol_type: str) -> None:
    play = Play()
    member = play.stable_member(protocol_type=protocol_type)
    play.commit(member.member_id, 1, {PARTITION: 37, SUBSCRIBED: 38})
    play.leave(member.member_id)
    assert errors(delete_offsets(play, PARTITION)) == {PARTITION: NONE}
    assert (readable(play), readable(play, SUBSCRIBED)) == (-1, 38)


@holds(
    "testDeleteOffsetOfStableConsumerGroup", "testDeleteOffsetOfConsumerGroupWithUnparsableProtocol"
)
@pytest.mark.parametrize("is_readable", [True, False])
def test_offsets_of_subscribed_topics_are_kept_and_so_are_all_if_these_are_unknown(
    *, is_readable: bool
) -> None:
    play = Play()
    member = play.stable_member(protocols=SUBSCRIBED_PROTOCOLS if is_readable else COOPERATIVE)
    play.commit(member.member_id, 1, {PARTITION: 37, SUBSCRIBED: 38})
    assert errors(delete_offsets(play, PARTITION, SUBSCRIBED)) == {
        PARTITION: NONE if is_readable else ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        SUBSCRIBED: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }
    assert (readable(play), readable(play, SUBSCRIBED)) == (-1 if is_readable else 37, 38)


@holds("testCommitAndFetchOffsetsWithEmptyGroup")
def test_the_group_with_the_empty_id_stores_offsets_and_can_be_deleted() -> None:
    play = Play()
    assert play.commit(group_id="") is NONE
    assert play.fetch(PARTITION, group_id="")[PARTITION].committed_offset == 42
    assert play.describe("").group_state == "Empty"
    assert delete_group(play, "") is NONE
    assert play.fetch(PARTITION, group_id="")[PARTITION].committed_offset == -1


@holds(
    "testListGroupsIncludesStableGroups",
    "testListGroupsIncludesRebalancingGroups",
    "testListGroupsWithStates",
)
def test_a_group_is_listed_with_its_type_in_its_state_alone() -> None:
    play = Play()
    states = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")

    def seen() -> list[str]:
        assert [group.protocol_type for group in listed(play)] == ["consumer"]
        return [state for state in states if listed(play, state)]

    member = play.first_member()
    assert seen() == ["CompletingRebalance"]
    play.sync(member.member_id, 1, {})
    assert seen() == ["Stable"]
    play.join()
    assert seen() == ["PreparingRebalance"]
    play.leave(*play.member_ids)
    assert seen() == ["Empty"]


@holds("testDescribeGroupStableForDynamicMember", "testDescribeGroupRebalancing")
def test_only_a_stable_group_is_described_with_protocol_and_assignments() -> None:
    play = Play()
    member = play.first_member()
    for state, protocol, metadata, assignment in (
        ("CompletingRebalance", "", b"", b""),
        ("Stable", COOPERATIVE[0].name, COOPERATIVE[0].metadata, b"all"),
    ):
        shown = play.describe()
        assert (shown.error_code, shown.group_state) == (NONE, state)
        assert (shown.protocol_type, shown.protocol_data) == ("consumer", protocol)
        (one,) = shown.members
        assert (one.member_id, one.member_metadata) == (member.member_id, metadata)
        assert one.member_assignment == assignment
        play.sync(member.member_id, 1, {member.member_id: b"all"})
