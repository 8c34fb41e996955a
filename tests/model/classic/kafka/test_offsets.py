"""Offsets and groups: commits, fetches, transactions, deletions, lists and descriptions."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.inputs import SUBSCRIBED_PROTOCOLS
from groupcheck.model.vocabulary import (
    NO_OFFSET,
    ErrorCode,
    OffsetDeleteResponse,
    OffsetFetchResponsePartition,
)
from support.marked_tests import holds
from support.requests import PARTITION, errors_of
from support.scenario import COOPERATIVE, Broker

NONE = ErrorCode.NONE
OTHER = ("refunds", 0)
SUBSCRIBED = ("other", 0)  # the topic of SUBSCRIBED_PROTOCOLS


@holds("testCommitOffsetWithDefaultGeneration", "testCommitOffsetsAfterGroupIsEmpty")
def test_a_simple_consumer_commits_while_the_group_has_no_members() -> None:
    broker = Broker()
    assert broker.commit(offsets={PARTITION: 41}) is NONE
    assert broker.readable() == 41
    member = broker.stable_member()
    assert broker.commit() is ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.leave(member.member_id) == [NONE]
    assert broker.commit(offsets={PARTITION: 42}) is NONE
    assert broker.readable() == 42


@holds("testFetchOffsets")
def test_an_offset_is_fetched_with_its_epoch_and_metadata() -> None:
    broker = Broker()
    index = PARTITION[1]
    assert broker.commit(offsets={PARTITION: (1_234, 5, "by hand")}) is NONE
    expected = OffsetFetchResponsePartition(index, 1_234, 5, "by hand")
    assert broker.fetch(PARTITION) == {PARTITION: expected}


@holds("testFetchOffsetForUnknownPartition")
def test_partition_without_a_commit_has_no_offset_and_no_error() -> None:
    broker = Broker()
    assert broker.fetch(PARTITION) == {PARTITION: OffsetFetchResponsePartition(PARTITION[1])}
    assert broker.readable() == NO_OFFSET
    assert not broker.exists


@holds("testFetchAllOffsets")
def test_a_fetch_that_names_no_partition_returns_all_committed_offsets() -> None:
    broker = Broker()
    assert broker.fetch() == {}
    committed = {("payments", 0): 3, ("payments", 1): 5, ("refunds", 0): 8}
    assert broker.commit(offsets=committed) is NONE
    found = broker.fetch()
    assert {partition: p.committed_offset for partition, p in found.items()} == committed
    assert {p.error_code for p in found.values()} == {NONE}


@holds(
    "testCommitOffsetInCompletingRebalance",
    "testCommitOffsetInCompletingRebalanceFromUnknownMemberId",
    "testCommitOffsetInCompletingRebalanceFromIllegalGeneration",
)
def test_commits_in_completing_rebalance_fail_with_the_first_error() -> None:
    broker = Broker()
    member = broker.first_member()
    assert broker.state == "CompletingRebalance"
    assert broker.commit(member.member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert broker.commit("", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.commit(member.member_id, 2) is ErrorCode.ILLEGAL_GENERATION
    assert broker.fetch() == {}


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
    broker = Broker()
    assert broker.txn_commit(25) is NONE
    assert broker.readable() == -1
    assert broker.readable(stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert broker.readable(OTHER, stable=True) == -1
    broker.end_txn(committed=committed)
    assert broker.readable() == broker.readable(stable=True) == offset
    broker.end_txn(committed=True)  # a second marker changes nothing
    assert broker.readable() == offset


@holds("testFetchTxnOffsetsMultipleProducersOneGroup")
def test_the_marker_of_each_producer_commits_its_own_offsets() -> None:
    broker = Broker()
    broker.txn_commit(10, producer=1_000)
    broker.txn_commit(15, producer=1_005, partition=OTHER)
    broker.end_txn(committed=True, producer=1_000)
    assert (broker.readable(PARTITION), broker.readable(OTHER)) == (10, -1)
    broker.end_txn(committed=True, producer=1_005)
    assert (broker.readable(PARTITION), broker.readable(OTHER)) == (10, 15)


@holds("testFetchTxnOffsetsOneProducerMultipleGroups")
def test_a_marker_commits_the_offsets_of_the_group_to_whose_partition_it_is_written() -> None:
    first, second = Broker(), Broker()  # two groups, and one producer

    def read() -> list[int | ErrorCode]:
        return [broker.readable(each) for broker in (first, second) for each in (PARTITION, OTHER)]

    assert first.txn_commit(10, partition=PARTITION) is NONE
    assert second.txn_commit(15, partition=OTHER) is NONE
    first.end_txn(committed=True)
    assert read() == [10, -1, -1, -1]
    second.end_txn(committed=True)
    assert read() == [10, -1, -1, 15]


@holds(
    "testTxnCommitOffsetWithKnownMemberId",
    "testTxnCommitOffsetWithIllegalGeneration",
    "testTxnCommitOffsetWithLegalGeneration",
)
def test_a_transactional_commit_names_no_generation_or_the_current_one() -> None:
    broker = Broker()
    member_id = broker.first_member().member_id
    assert broker.txn_commit(member_id=member_id) is NONE
    assert broker.txn_commit(member_id=member_id, generation_id=6) is ErrorCode.ILLEGAL_GENERATION
    assert broker.txn_commit(member_id=member_id, generation_id=1) is NONE


@holds("testDeleteNonEmptyGroup", "testDeleteEmptyGroup", "testDeleteEmptyGroupWithStoredOffsets")
def test_an_empty_group_is_deleted_with_its_offsets_and_no_other() -> None:
    broker = Broker()
    member = broker.stable_member()
    assert broker.commit(member.member_id, 1) is NONE
    assert broker.delete_group() is ErrorCode.NON_EMPTY_GROUP
    assert broker.describe().group_state == "Stable"
    broker.leave(member.member_id)
    assert broker.delete_group() is NONE
    assert broker.describe().group_state == "Dead"
    assert broker.readable() == -1


@holds("testDeleteOffsetOfNonExistingGroup", "testDeleteOffsetOfDeadConsumerGroup")
def test_a_group_that_does_not_exist_or_is_deleted_has_no_offset_to_delete() -> None:
    broker = Broker()
    not_found = OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND)
    assert broker.delete_offsets(PARTITION) == not_found
    broker.commit()
    assert broker.delete_group() is NONE
    assert broker.delete_offsets(PARTITION) == not_found


@holds("testDeleteOffsetOfNonEmptyNonConsumerGroup")
def test_offsets_of_a_group_with_members_of_another_protocol_type_are_kept() -> None:
    broker = Broker()
    broker.stable_member(protocol_type="connect")
    assert broker.delete_offsets(PARTITION) == OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP)


@holds("testDeleteOffsetOfEmptyNonConsumerGroup", "testDeleteOffsetOfEmptyConsumerGroup")
@pytest.mark.parametrize("protocol_type", ["connect", "consumer"])
def test_the_named_offset_of_an_empty_group_is_deleted(protocol_type: str) -> None:
    broker = Broker()
    member = broker.stable_member(protocol_type=protocol_type)
    broker.commit(member.member_id, 1, {PARTITION: 37, SUBSCRIBED: 38})
    broker.leave(member.member_id)
    assert errors_of(broker.delete_offsets(PARTITION)) == {PARTITION: NONE}
    assert (broker.readable(), broker.readable(SUBSCRIBED)) == (-1, 38)


@holds(
    "testDeleteOffsetOfStableConsumerGroup", "testDeleteOffsetOfConsumerGroupWithUnparsableProtocol"
)
@pytest.mark.parametrize("is_readable", [True, False])
def test_offsets_of_subscribed_topics_are_kept_and_so_are_all_if_these_are_unknown(
    *, is_readable: bool
) -> None:
    broker = Broker()
    member = broker.stable_member(protocols=SUBSCRIBED_PROTOCOLS if is_readable else COOPERATIVE)
    broker.commit(member.member_id, 1, {PARTITION: 37, SUBSCRIBED: 38})
    assert errors_of(broker.delete_offsets(PARTITION, SUBSCRIBED)) == {
        PARTITION: NONE if is_readable else ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        SUBSCRIBED: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }
    assert (broker.readable(), broker.readable(SUBSCRIBED)) == (-1 if is_readable else 37, 38)


@holds("testCommitAndFetchOffsetsWithEmptyGroup")
def test_the_group_with_the_empty_id_stores_offsets_and_can_be_deleted() -> None:
    broker = Broker()
    assert broker.commit(group_id="") is NONE
    assert broker.fetch(PARTITION, group_id="")[PARTITION].committed_offset == 42
    assert broker.describe("").group_state == "Empty"
    assert broker.delete_group("") is NONE
    assert broker.fetch(PARTITION, group_id="")[PARTITION].committed_offset == -1


@holds(
    "testListGroupsIncludesStableGroups",
    "testListGroupsIncludesRebalancingGroups",
    "testListGroupsWithStates",
)
def test_a_group_is_listed_with_its_type_in_its_state_alone() -> None:
    broker = Broker()
    states = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")

    def seen() -> list[str]:
        assert [group.protocol_type for group in broker.listed()] == ["consumer"]
        return [state for state in states if broker.listed(state)]

    member = broker.first_member()
    assert seen() == ["CompletingRebalance"]
    broker.sync(member.member_id, 1, {})
    assert seen() == ["Stable"]
    broker.join()
    assert seen() == ["PreparingRebalance"]
    broker.leave(*broker.member_ids)
    assert seen() == ["Empty"]


@holds("testDescribeGroupStableForDynamicMember", "testDescribeGroupRebalancing")
def test_only_a_stable_group_is_described_with_protocol_and_assignments() -> None:
    broker = Broker()
    member = broker.first_member()
    for state, protocol, metadata, assignment in (
        ("CompletingRebalance", "", b"", b""),
        ("Stable", COOPERATIVE[0].name, COOPERATIVE[0].metadata, b"all"),
    ):
        shown = broker.describe()
        assert (shown.error_code, shown.group_state) == (NONE, state)
        assert (shown.protocol_type, shown.protocol_data) == ("consumer", protocol)
        (one,) = shown.members
        assert (one.member_id, one.member_metadata) == (member.member_id, metadata)
        assert one.member_assignment == assignment
        broker.sync(member.member_id, 1, {member.member_id: b"all"})
