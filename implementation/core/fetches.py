"""OffsetFetch: what can be read, whatever the group's state, be there a group or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from groupcheck.implementation.core.gate import Gate
from groupcheck.implementation.core.offsets import GroupOffsets, Offset, TopicPartition
from groupcheck.implementation.core.refusals import by_topic, refused
from groupcheck.implementation.core.shared import Shared
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    ResponseBody,
)

_NO_OFFSETS: Final = GroupOffsets()


class FetchApi:
    """OffsetFetch."""

    __slots__ = ("_gate", "_groups", "_shared", "_traits")

    def __init__(self, shared: Shared, gate: Gate) -> None:
        self._shared = shared
        self._groups = shared.groups.by_id
        self._traits = shared.traits
        self._gate = gate

    def fetch(self, request: Request, body: OffsetFetchRequest) -> ResponseBody | None:
        """Tell the offsets of some partitions, or of all that have any."""
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._gate.unserved(body.group_id)
            if error:
                return refused(request, error)
        if body.require_stable:
            offsets = _NO_OFFSETS if group is None else group.offsets
            partition = self._shared.groups.partition_of(body.group_id)
            answer = self._found(body, offsets.committed, offsets)
            return self._shared.waiting.answer(partition, request, answer)
        readable = self._shared.committed.offsets(body.group_id, group)
        return self._found(body, readable, _NO_OFFSETS)

    def _found(
        self,
        body: OffsetFetchRequest,
        readable: Mapping[TopicPartition, Offset],
        unstable: GroupOffsets,
    ) -> OffsetFetchResponse:
        """What can be read of the partitions that are asked for, if it is stable."""
        # Without anything on its way nothing is unstable.
        unsettled = unstable if unstable.pending or unstable.transactions else None
        read = partial(_read, readable, unsettled)
        if body.topics is not None and self._traits.answers_as_asked:
            topics = tuple(
                OffsetFetchResponseTopic(name, tuple(read((name, index)) for index in indexes))
                for name, indexes in body.topics
            )
            return OffsetFetchResponse(topics=topics)
        partitions: Iterable[TopicPartition] = (
            readable
            if body.topics is None
            else dict.fromkeys((name, index) for name, indexes in body.topics for index in indexes)
        )
        found = ((partition, read(partition)) for partition in partitions)
        return OffsetFetchResponse(topics=by_topic(OffsetFetchResponseTopic, found))


def _read(
    readable: Mapping[TopicPartition, Offset],
    unsettled: GroupOffsets | None,
    partition: TopicPartition,
) -> OffsetFetchResponsePartition:
    """What can be read of a partition."""
    index = partition[1]
    if unsettled is not None and unsettled.is_unstable(partition):
        return OffsetFetchResponsePartition(index, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    offset = readable.get(partition)
    if offset is None:
        return OffsetFetchResponsePartition(index)
    return OffsetFetchResponsePartition(index, *offset[:3])
