"""Small topics in memory, so that consumers have something to read.

Batches are kept as the received bytes. A partition over its limit drops its oldest batches. There
is one replica: an appended record is readable at once. Retries of an idempotent producer are not
detected.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch

from groupcheck.implementation.log.batches import InvalidBatchError, span_at
from groupcheck.implementation.server.messages import (
    CORRUPT_MESSAGE,
    INVALID_PARTITIONS,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
    AbortedTransaction,
)
from groupcheck.implementation.server.settings import Limits
from groupcheck.model.vocabulary import ErrorCode

NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)  # Topic.java
MAX_PARTITIONS: Final = 1_000  # of a topic

LATEST: Final = -1
EARLIEST: Final = -2

NUMBER_OF_RECORDS: Final = struct.Struct(">i")
NUMBER_OF_RECORDS_AT: Final = 57  # DefaultRecordBatch.java, RECORDS_COUNT_OFFSET
BEFORE_LENGTH_COUNTS: Final = 12
BEFORE_EPOCH: Final = 16


class BadTopicError(ValueError):
    """A topic cannot be created or deleted; the message is one line."""

    def __init__(self, message: str, error_code: ErrorCode = INVALID_TOPIC_EXCEPTION) -> None:
        super().__init__(message)
        self.error_code = error_code


def already_there(name: str) -> BadTopicError:
    """The error of a topic that is created twice."""
    return BadTopicError(f"there is already a topic {name[:80]!r}", TOPIC_ALREADY_EXISTS)


class BadRecordsError(ValueError):
    """Produced records are rejected."""

    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__(error_code.name)
        self.error_code = error_code


class Batch(NamedTuple):
    """A record batch: its bytes, and some fields of its header."""

    data: bytes
    records: int
    max_timestamp: int
    producer_id: int
    transactional: bool  # whether it is in a transaction, and not a marker


def batches(data: bytes) -> Iterator[Batch]:
    """The record batches that a producer sent.

    Raises:
        BadRecordsError: they are corrupt or incomplete.
    """
    at = 0
    while at < len(data):
        try:
            span = span_at(data, at)
        except InvalidBatchError:
            raise BadRecordsError(CORRUPT_MESSAGE) from None
        found = span.batch
        if not isinstance(found, DefaultRecordBatch):
            raise BadRecordsError(CORRUPT_MESSAGE)
        (records,) = NUMBER_OF_RECORDS.unpack_from(data, at + NUMBER_OF_RECORDS_AT)
        if not 0 <= found.last_offset_delta == records - 1:
            raise BadRecordsError(CORRUPT_MESSAGE)
        in_transaction = found.is_transactional and not found.is_control_batch
        yield Batch(
            data[at : span.end], records, found.max_timestamp, found.producer_id, in_transaction
        )
        at = span.end


class Partition:
    """A partition: its batches from `start_offset` on; `end_offset` is that of the next record.

    The callbacks in `appended` are called, and removed, at the next append.
    """

    def __init__(self, retention_bytes: int) -> None:
        self.start_offset = 0
        self.end_offset = 0
        self.appended: set[Callable[[], None]] = set()
        self._retention_bytes = retention_bytes
        self._bytes = 0
        self._offsets: list[int] = []  # of the first record of each batch
        self._batches: list[Batch] = []
        self._open: dict[int, int] = {}  # the first offset of each open transaction, by producer
        self._aborted: list[tuple[AbortedTransaction, int]] = []  # and the offset of its marker

    def append(self, batch: Batch) -> int:
        """Append a batch; returns the offset of its first record."""
        offset = self.end_offset
        # The CRC covers neither offset nor epoch.
        data = struct.pack(">qii", offset, len(batch.data) - BEFORE_LENGTH_COUNTS, 0)
        self._offsets.append(offset)
        self._batches.append(batch._replace(data=data + batch.data[BEFORE_EPOCH:]))
        self._bytes += len(batch.data)
        self.end_offset += batch.records
        if batch.transactional:
            self._open.setdefault(batch.producer_id, offset)
        self._drop_oldest()
        callbacks, self.appended = self.appended, set()
        for callback in callbacks:
            callback()
        return offset

    def end_transaction(self, marker: Batch, *, committed: bool) -> None:
        """Append the marker that ends a producer's transaction."""
        began = self._open.pop(marker.producer_id, None)
        offset = self.append(marker)
        if began is not None and not committed:
            self._aborted.append((AbortedTransaction(marker.producer_id, began), offset))

    @property
    def stable_offset(self) -> int:
        """The first offset of the oldest open transaction."""
        return min(self._open.values(), default=self.end_offset)

    def read(self, offset: int, most_bytes: int, end_offset: int) -> bytes:
        """The batches with the offsets from `offset` to before `end_offset`.

        At least one, if there is one; otherwise at most `most_bytes`.
        """
        found: list[bytes] = []
        size = 0
        for i in range(max(bisect_right(self._offsets, offset) - 1, 0), len(self._offsets)):
            data = self._batches[i].data
            if self._offsets[i] >= end_offset or (found and size + len(data) > most_bytes):
                break
            found.append(data)
            size += len(data)
        return b"".join(found) if offset < end_offset else b""

    def aborted(self, offset: int, end_offset: int) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions in the range."""
        return tuple(
            transaction
            for transaction, marker in self._aborted
            if offset <= marker and transaction.first_offset < end_offset
        )

    def offset_at(self, timestamp: int) -> tuple[int, int]:
        """Timestamp and offset of the first batch that is not older; -1 and -1 if there is none."""
        pairs = zip(self._offsets, self._batches, strict=True)
        late = ((b.max_timestamp, at) for at, b in pairs if b.max_timestamp >= timestamp)
        return next(late, (-1, -1))

    def _drop_oldest(self) -> None:
        dropped = 0
        while self._bytes > self._retention_bytes and dropped < len(self._batches) - 1:
            self._bytes -= len(self._batches[dropped].data)
            dropped += 1
        if dropped:
            del self._batches[:dropped], self._offsets[:dropped]
            self.start_offset = self._offsets[0]
            self._aborted = [(a, at) for a, at in self._aborted if at >= self.start_offset]


class Topics:
    """All topics, by name, up to the limit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._topics: dict[str, list[Partition]] = {}

    def names(self) -> list[str]:
        """The names of all topics."""
        return list(self._topics)

    def create(self, name: str, partitions: int) -> list[Partition]:
        """Create a topic, or return the existing one.

        Raises:
            BadTopicError: it cannot be created.
        """
        if name in self._topics:
            return self._topics[name]
        self.check(name, partitions)
        retention_bytes = self._limits.log_retention_bytes
        made = [Partition(retention_bytes) for _ in range(partitions)]
        self._topics[name] = made
        return made

    def check(self, name: str, partitions: int) -> None:
        """Check that a topic can be created.

        Raises:
            BadTopicError: it cannot.
        """
        if not NAME.fullmatch(name) or name in {".", ".."}:
            msg = f"no topic can have the name {name[:80]!r}"
            raise BadTopicError(msg)
        if not 1 <= partitions <= MAX_PARTITIONS:
            msg = f"a topic has 1 to {MAX_PARTITIONS} partitions, not {partitions}"
            raise BadTopicError(msg, INVALID_PARTITIONS)
        if len(self._topics) >= self._limits.max_topics:
            msg = f"there are already {len(self._topics)} topics"
            raise BadTopicError(msg, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def partitions(self, name: str) -> list[Partition]:
        """The partitions of a topic; empty if there is no such topic."""
        return self._topics.get(name, [])

    def partition(self, name: str, index: int) -> Partition | None:
        """A partition, or None."""
        partitions = self._topics.get(name, ())
        return partitions[index] if 0 <= index < len(partitions) else None

    def led(self, name: str, index: int) -> Partition | ErrorCode:
        """A partition that this broker leads, or the error."""
        return self.partition(name, index) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def exists(self, name: str) -> bool:
        """Whether there is a topic."""
        return name in self._topics

    def delete(self, name: str) -> None:
        """Request the deletion of a topic.

        Raises:
            BadTopicError: it cannot be deleted: only a cluster has deletions.
        """
        msg = f"topic {name[:80]!r} cannot be deleted"
        raise BadTopicError(msg)

    def when_settled(self, then: Callable[[], None]) -> None:
        """Call a function once a change has had its effects."""
        then()

    def remove(self, name: str) -> None:
        """Remove a topic, if it is there."""
        self._topics.pop(name, None)
