"""Produce."""

from __future__ import annotations

from groupcheck.implementation.server.calls import Call
from groupcheck.implementation.server.messages import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from groupcheck.implementation.server.settings import Limits
from groupcheck.implementation.server.topics import BadRecordsError, Topics, batches
from groupcheck.model.vocabulary import ErrorCode


class Writing:
    """The API with which producers write topics."""

    def __init__(self, topics: Topics, limits: Limits) -> None:
        self._topics = topics
        self._limits = limits

    def produce(self, call: Call) -> None:
        """Append the records, and answer unless acks=0."""
        body: ProduceRequest = call.body
        responses = tuple(
            TopicProduceResponse(
                topic.name, tuple(self._append(topic.name, p) for p in topic.partition_data)
            )
            for topic in body.topic_data
        )
        call.reply(ProduceResponse(responses) if body.acks else None)

    def _append(self, topic: str, sent: PartitionProduceData) -> PartitionProduceResponse:
        partition = self._topics.partition(topic, sent.partition_index)
        if partition is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return PartitionProduceResponse(sent.partition_index, unknown)
        data = sent.records or b""
        if len(data) > self._limits.message_max_bytes:
            return PartitionProduceResponse(sent.partition_index, ErrorCode.MESSAGE_TOO_LARGE)
        try:
            found = list(batches(data))
        except BadRecordsError as error:
            return PartitionProduceResponse(sent.partition_index, error.error_code)
        offset = partition.end_offset
        for batch in found:
            partition.append(batch)
        return PartitionProduceResponse(
            sent.partition_index, ErrorCode.NONE, offset, partition.start_offset
        )
