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

from crc32c import crc32c

from groupcheck.implementation.server.messages import (
    CORRUPT_MESSAGE,
    INVALID_TOPIC_EXCEPTION,
    AbortedTransaction,
)
from groupcheck.implementation.server.settings import Limits
from groupcheck.model.vocabulary import ErrorCode

NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)  # Topic.java
MAX_PARTITIONS: Final = 1_000  # of a topic

LATEST: Final = -1
EARLIEST: Final = -2

# The header of a record batch of magic 2 (DefaultRecordBatch.java): base offset, length of what
# follows, leader epoch, magic, CRC; then attributes, last offset delta, first and last timestamp,
# producer id and epoch, base sequence, number of records.
BASE: Final = struct.Struct(">qiibI")
REST: Final = struct.Struct(">hiqqqhii")
HEADER_BYTES: Final = BASE.size + REST.size
BEFORE_LENGTH_COUNTS: Final = 12
BEFORE_EPOCH: Final = 16
MAGIC: Final = 2
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20


class BadTopicError(ValueError):
    """A topic cannot be created; the message is one line."""

    def __init__(self, message: str, error_code: ErrorCode = INVALID_TOPIC_EXCEPTION) -> None:
        super().__init__(message)
        self.error_code = error_code


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
    attributes: int

    @property
    def transactional(self) -> bool:
        """Whether it is in a transaction, and not a marker."""
        return bool(self.attributes & TRANSACTIONAL) and not self.attributes & CONTROL


def batches(data: bytes) -> Iterator[Batch]:
    """The record batches that a producer sent.

    Raises:
        BadRecordsError: they are corrupt or incomplete.
    """
    at = 0
    while at < len(data):
        if len(data) - at < HEADER_BYTES:
            raise BadRecordsError(CORRUPT_MESSAGE)
        _, length, _, magic, crc = BASE.unpack_from(data, at)
        rest = REST.unpack_from(data, at + BASE.size)
        attributes, last_delta, _, max_timestamp, producer_id, _, _, records = rest
        end = at + BEFORE_LENGTH_COUNTS + length
        whole = end - at >= HEADER_BYTES and end <= len(data)
        if not whole or magic != MAGIC or not 0 <= last_delta == records - 1:
            raise BadRecordsError(CORRUPT_MESSAGE)
        if crc32c(data[at + BASE.size : end]) != crc:
            raise BadRecordsError(CORRUPT_MESSAGE)
        yield Batch(data[at:end], records, max_timestamp, producer_id, attributes)
        at = end


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
        waiting, self.appended = self.appended, set()
        for call in waiting:
            call()
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
        gone = 0
        while self._bytes > self._retention_bytes and gone < len(self._batches) - 1:
            self._bytes -= len(self._batches[gone].data)
            gone += 1
        if gone:
            del self._batches[:gone], self._offsets[:gone]
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
        if not NAME.fullmatch(name) or name in {".", ".."}:
            msg = f"no topic can have the name {name[:80]!r}"
            raise BadTopicError(msg)
        if not 1 <= partitions <= MAX_PARTITIONS:
            msg = f"a topic has 1 to {MAX_PARTITIONS} partitions, not {partitions}"
            raise BadTopicError(msg)
        if len(self._topics) >= self._limits.max_topics:
            msg = f"there are {len(self._topics)} topics already"
            raise BadTopicError(msg, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        retention_bytes = self._limits.log_retention_bytes
        made = [Partition(retention_bytes) for _ in range(partitions)]
        self._topics[name] = made
        return made

    def partitions(self, name: str) -> list[Partition]:
        """The partitions of a topic; empty if there is no such topic."""
        return self._topics.get(name, [])

    def partition(self, name: str, index: int) -> Partition | None:
        """A partition, or None."""
        partitions = self._topics.get(name, ())
        return partitions[index] if 0 <= index < len(partitions) else None
