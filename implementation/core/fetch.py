"""OffsetFetch: the readable offsets, in any state of the group and without a group."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from groupcheck.implementation.core.error_responses import by_topic, each_once, error_response
from groupcheck.implementation.core.handler import Handler
from groupcheck.implementation.core.offsets import GroupOffsets, Offset, TopicPartition
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, Request, ResponseBody

_NO_OFFSETS: Final = GroupOffsets()


class FetchApi(Handler):
    """OffsetFetch."""

    __slots__ = ()

    def fetch(self, request: Request, body: kafka.OffsetFetchRequest) -> ResponseBody | None:
        """Return the offsets of the requested partitions, or of all partitions."""
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._preconditions.partition_error(body.group_id)
            if error:
                repeats = self._behaviour.repeats_requested_partitions
                requested = request if repeats else request._replace(body=each_once(body))
                return error_response(requested, error)
        if body.require_stable:
            offsets = _NO_OFFSETS if group is None else group.offsets
            partition = self._shared.groups.partition_of(body.group_id)
            response = self._response(body, offsets.committed, offsets)
            return self._deferred.answer(partition, request, response)
        readable = self._shared.snapshots.offsets(body.group_id, group)
        return self._response(body, readable, _NO_OFFSETS)

    def _response(
        self,
        body: kafka.OffsetFetchRequest,
        readable: Mapping[TopicPartition, Offset],
        unstable: GroupOffsets,
    ) -> kafka.OffsetFetchResponse:
        """The offsets of the requested partitions, UNSTABLE_OFFSET_COMMIT for unstable ones."""
        # Without pending offsets and transactions every partition is stable.
        read = partial(
            _read, readable, unstable if unstable.pending or unstable.transactions else None
        )
        if body.topics is None:
            found = ((partition, read(partition)) for partition in readable)
            return kafka.OffsetFetchResponse(topics=by_topic(kafka.OffsetFetchResponseTopic, found))
        repeats = self._behaviour.repeats_requested_partitions
        requested = body.topics if repeats else each_once(body).topics
        topics = tuple(
            kafka.OffsetFetchResponseTopic(name, tuple(read((name, index)) for index in indexes))
            for name, indexes in requested
        )
        return kafka.OffsetFetchResponse(topics=topics)


def _read(
    readable: Mapping[TopicPartition, Offset],
    unstable: GroupOffsets | None,
    partition: TopicPartition,
) -> kafka.OffsetFetchResponsePartition:
    """The readable offset of a partition."""
    index = partition[1]
    if unstable is not None and unstable.is_unstable(partition):
        return kafka.OffsetFetchResponsePartition(
            index, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT
        )
    offset = readable.get(partition)
    if offset is None:
        return kafka.OffsetFetchResponsePartition(index)
    return kafka.OffsetFetchResponsePartition(index, *offset[:3])
