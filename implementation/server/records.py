"""Produce, Fetch and ListOffsets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from groupcheck.implementation.server import messages
from groupcheck.implementation.server.calls import Call
from groupcheck.implementation.server.settings import Limits
from groupcheck.implementation.server.topics import (
    EARLIEST,
    LATEST,
    BadRecordsError,
    Partition,
    Topics,
    batches,
)
from groupcheck.model.vocabulary import ErrorCode

READ_COMMITTED: Final = 1
LONGEST_WAIT_MS: Final = 60_000
MOST_BYTES: Final = 4 * 1024 * 1024  # in one response


class Reading:
    """The APIs with which consumers read topics."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def list_offsets(self, call: Call) -> None:
        """Answer ListOffsets."""
        body: messages.ListOffsetsRequest = call.body
        committed = body.isolation_level == READ_COMMITTED
        topics = (
            messages.ListOffsetsTopicResponse(
                topic.name,
                tuple(self._offset(topic.name, p, committed=committed) for p in topic.partitions),
            )
            for topic in body.topics
        )
        call.reply(messages.ListOffsetsResponse(tuple(topics)))

    def _offset(
        self, topic: str, requested: messages.ListOffsetsPartition, *, committed: bool
    ) -> messages.ListOffsetsPartitionResponse:
        index = requested.partition_index
        partition = self._topics.led(topic, index)
        if isinstance(partition, ErrorCode):
            return messages.ListOffsetsPartitionResponse(index, partition)
        timestamp = -1
        if requested.timestamp == LATEST:
            offset = partition.stable_offset if committed else partition.end_offset
        elif requested.timestamp == EARLIEST:
            offset = partition.start_offset
        else:
            timestamp, offset = partition.offset_at(requested.timestamp)
        return messages.ListOffsetsPartitionResponse(index, ErrorCode.NONE, timestamp, offset, 0)

    def fetch(self, call: Call) -> None:
        """Answer Fetch when enough records are available, or at the end of the wait.

        There are no fetch sessions: each request names all partitions.
        """
        body: messages.FetchRequest = call.body
        if body.session_id:
            call.reply(messages.FetchResponse(messages.FETCH_SESSION_ID_NOT_FOUND))
            return
        _Fetch(self._topics, call).try_answer()


class _Fetch:
    """A Fetch that may have to wait."""

    __slots__ = ("_body", "_call", "_timer", "_topics")

    def __init__(self, topics: Topics, call: Call) -> None:
        self._topics = topics
        self._call = call
        self._body: messages.FetchRequest = call.body
        self._timer: asyncio.TimerHandle | None = None

    def try_answer(self) -> None:
        """Answer if there are enough records; otherwise wait."""
        max_bytes = min(self._body.max_bytes, MOST_BYTES)
        topics, size, has_error = [], 0, False
        for topic in self._body.topics:
            partitions = []
            for requested in topic.partitions:
                data = self._data(topic.topic, requested, max_bytes - size)
                partitions.append(data)
                size += len(data.records or b"")
                has_error = has_error or bool(data.error_code)
            topics.append(messages.FetchableTopicResponse(topic.topic, tuple(partitions)))
        if has_error or size >= self._body.min_bytes or not self._may_wait():
            self._end(messages.FetchResponse(responses=tuple(topics)))

    def _may_wait(self) -> bool:
        """Wait for an append or for the end of the wait; False when that is over."""
        wait_ms = min(self._body.max_wait_ms, LONGEST_WAIT_MS)
        if self._timer is None:
            if wait_ms <= 0:
                return False
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(wait_ms / 1000, self.try_answer)
        elif self._timer.when() <= asyncio.get_running_loop().time():
            return False
        for partition in self._partitions():
            partition.appended.add(self.try_answer)
        return True

    def _end(self, response: messages.FetchResponse) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for partition in self._partitions():
            partition.appended.discard(self.try_answer)
        self._call.reply(response)

    def _partitions(self) -> Iterator[Partition]:
        for topic in self._body.topics:
            for requested in topic.partitions:
                partition = self._topics.partition(topic.topic, requested.partition)
                if partition is not None:
                    yield partition

    def _data(
        self, topic: str, requested: messages.FetchPartition, max_bytes: int
    ) -> messages.PartitionData:
        index, offset = requested.partition, requested.fetch_offset
        partition = self._topics.led(topic, index)
        if isinstance(partition, ErrorCode):
            return messages.PartitionData(index, partition)
        committed = self._body.isolation_level == READ_COMMITTED
        data = messages.PartitionData(
            index,
            ErrorCode.NONE,
            partition.end_offset,
            partition.stable_offset,
            partition.start_offset,
        )
        if not partition.start_offset <= offset <= partition.end_offset:
            return data._replace(error_code=messages.OFFSET_OUT_OF_RANGE)
        if max_bytes <= 0:
            return data
        end_offset = partition.stable_offset if committed else partition.end_offset
        aborted = partition.aborted(offset, end_offset) if committed else None
        records = partition.read(offset, min(requested.partition_max_bytes, max_bytes), end_offset)
        return data._replace(aborted_transactions=aborted, records=records)


class Writing:
    """The API with which producers write topics."""

    def __init__(self, topics: Topics, limits: Limits) -> None:
        self._topics = topics
        self._limits = limits

    def produce(self, call: Call) -> None:
        """Append the records, and answer unless acks=0."""
        body: messages.ProduceRequest = call.body
        responses = tuple(
            messages.TopicProduceResponse(
                topic.name, tuple(self._append(topic.name, p) for p in topic.partition_data)
            )
            for topic in body.topic_data
        )
        call.reply(messages.ProduceResponse(responses) if body.acks else None)

    def _append(
        self, topic: str, sent: messages.PartitionProduceData
    ) -> messages.PartitionProduceResponse:
        partition = self._topics.led(topic, sent.partition_index)
        if isinstance(partition, ErrorCode):
            return messages.PartitionProduceResponse(sent.partition_index, partition)
        data = sent.records or b""
        if len(data) > self._limits.message_max_bytes:
            too_large = ErrorCode.MESSAGE_TOO_LARGE
            return messages.PartitionProduceResponse(sent.partition_index, too_large)
        try:
            found = list(batches(data))
        except BadRecordsError as error:
            return messages.PartitionProduceResponse(sent.partition_index, error.error_code)
        offset = partition.end_offset
        for batch in found:
            partition.append(batch)
        return messages.PartitionProduceResponse(
            sent.partition_index, ErrorCode.NONE, offset, partition.start_offset
        )
