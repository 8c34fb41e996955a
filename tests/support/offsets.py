"""Short forms of requests about offsets and groups, besides commits and fetches."""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.instances.inputs import GROUP_ID, PRODUCER_ID
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    EndTxnRequest,
    EndTxnResponse,
    ErrorCode,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from support.play import PARTITION, Call, Partition, Play, by_topic


def txn_commit(  # noqa: PLR0913 - the fields of the request
    play: Play,
    offset: int = 42,
    *,
    producer: int = PRODUCER_ID,
    partition: Partition = PARTITION,
    member_id: str = "",
    generation_id: int = -1,
    instance: str | None = None,
) -> ErrorCode:
    """TxnOffsetCommit of one partition, and its answer."""
    call = sent(
        play,
        {partition: TxnOffsetCommitRequestPartition(partition[1], offset)},
        producer=producer,
        member_id=member_id,
        generation_id=generation_id,
        instance=instance,
    )
    (error,) = errors(call.answer).values()
    return error


def sent(  # noqa: PLR0913 - the fields of the request
    play: Play,
    offsets: Mapping[Partition, TxnOffsetCommitRequestPartition],
    *,
    producer: int = PRODUCER_ID,
    member_id: str = "",
    generation_id: int = -1,
    instance: str | None = None,
) -> Call[TxnOffsetCommitResponse]:
    """A TxnOffsetCommit that may be answered later."""
    topics = by_topic(
        TxnOffsetCommitRequestTopic, ((topic, offset) for (topic, _), offset in offsets.items())
    )
    return play.send(
        3,
        TxnOffsetCommitRequest(
            "transaction", GROUP_ID, producer, 0, generation_id, member_id, instance, topics
        ),
    )


def errors(answer: TxnOffsetCommitResponse | OffsetDeleteResponse) -> dict[Partition, ErrorCode]:
    """What an answer says of each partition."""
    return {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions}


def end_txn(play: Play, *, committed: bool, producer: int = PRODUCER_ID) -> None:
    """The marker of a producer, which nothing refuses."""
    call: Call[EndTxnResponse] = play.send(0, EndTxnRequest(GROUP_ID, producer, committed))
    assert call.answer.error_code is ErrorCode.NONE


def readable(
    play: Play, partition: Partition = PARTITION, *, stable: bool = False
) -> int | ErrorCode:
    """The offset of a partition that can be read, -1 if there is none, or why it cannot be."""
    topics = (OffsetFetchRequestTopic(partition[0], (partition[1],)),)
    call: Call[OffsetFetchResponse] = play.send(7, OffsetFetchRequest(GROUP_ID, topics, stable))
    ((found,),) = (topic.partitions for topic in call.answer.topics)
    return found.error_code or found.committed_offset


def delete_group(play: Play, group_id: str = GROUP_ID) -> ErrorCode:
    """DeleteGroups of one group, and its answer."""
    call: Call[DeleteGroupsResponse] = play.send(2, DeleteGroupsRequest((group_id,)))
    (result,) = call.answer.results
    assert result.group_id == group_id
    return result.error_code


def delete_offsets(play: Play, *partitions: Partition) -> OffsetDeleteResponse:
    """OffsetDelete of these partitions, and its answer."""
    topics = tuple(
        OffsetDeleteRequestTopic(topic, (OffsetDeleteRequestPartition(index),))
        for topic, index in partitions
    )
    call: Call[OffsetDeleteResponse] = play.send(0, OffsetDeleteRequest(GROUP_ID, topics))
    return call.answer


def listed(play: Play, *states: str) -> tuple[ListedGroup, ...]:
    """ListGroups of the groups in these states, or of all."""
    call: Call[ListGroupsResponse] = play.send(4, ListGroupsRequest(states))
    assert call.answer.error_code is ErrorCode.NONE
    return call.answer.groups
