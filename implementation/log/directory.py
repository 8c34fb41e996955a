"""A log in a directory: acknowledged appends survive a power failure.

The embedder of the coordinator drives it; it starts no thread:

- `append` encodes a batch and queues it, on the coordinator's thread; nothing is written yet.
- `flush` writes the queue, with one fsync for each partition, and returns when it is safe. It
  blocks, so call it from another thread, one call at a time.
- `complete` calls the callbacks of the appends with the results, on the coordinator's thread.

So the appends of all requests that arrive during one flush share the next:

    while log.pending:
        await loop.run_in_executor(None, log.flush)
        log.complete()
        send(coordinator.take())

Call `compact` from another thread, too; it may run concurrently with everything else.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from groupcheck.implementation.log.codec import FORMATS, Format, from_bytes, to_bytes
from groupcheck.implementation.log.errors import (
    CorruptRecordError,
    LogCorruptError,
    LogError,
    LogLockedError,
    UnwritableRecordError,
)
from groupcheck.implementation.log.partition import Partition, Written
from groupcheck.implementation.log.records import Batch, Completed
from groupcheck.implementation.log.segments import Disk
from groupcheck.model.vocabulary import ErrorCode

logger: Final = logging.getLogger(__name__)

TOPIC: Final = "__consumer_offsets"
_LOCK: Final = ".lock"

# Kafka's default is 100 MB (offsets.topic.segment.bytes). The active segment is not compacted, and
# a log of 50 partitions should load in seconds.
SEGMENT_BYTES: Final = 16 * 1024 * 1024

# Kafka's min.cleanable.dirty.ratio.
_DIRTY: Final = 0.5


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class _Append(NamedTuple):
    """A queued batch; `data` is None if it cannot be encoded."""

    partition: int
    data: bytearray | None
    completed: Completed


class DirectoryLog:
    """A log in a directory, which one process uses at a time.

    Args:
        path: The directory; it is created if needed.
        versions: The versions of the records to write: those of a profile (`FORMATS`).
        fails_at_once: Whether a batch that cannot be encoded fails before `append` returns;
            otherwise it fails in the order of the log.
        segment_bytes: A segment is closed, and may be compacted, once it has this size.
        now_ms: The timestamp of records.
        disk: How files are changed.

    Raises:
        LogLockedError: Another process uses the directory.
        LogCorruptError: The stored bytes are not valid; the message says where.
        LogError: The directory cannot be read or written.

    """

    def __init__(  # noqa: PLR0913 - by name, and each with a default
        self,
        path: Path,
        *,
        versions: Format = FORMATS["2.7"],
        fails_at_once: bool = False,
        segment_bytes: int = SEGMENT_BYTES,
        now_ms: Callable[[], int] = _now_ms,
        disk: Disk | None = None,
    ) -> None:
        self._path = path
        self._versions = versions
        self._fails_at_once = fails_at_once
        self._segment_bytes = segment_bytes
        self._now_ms = now_ms
        self._disk = disk or Disk()
        self._partitions: dict[int, Partition] = {}
        self._queued: deque[_Append] = deque()
        self._done: deque[tuple[Completed, ErrorCode]] = deque()
        # Appends that have not completed; only the coordinator's thread changes it.
        self._waiting = 0
        self._failing: set[int] = set()
        self._flushing = Lock()
        self._compacting = Lock()
        # The number of records of unknown types that were read.
        self.skipped = 0
        try:
            self._lock = _lock(path)
            try:
                for partition in _partitions(path):
                    self._open(partition)
            except BaseException:
                self.close()
                raise
        except OSError as error:
            message = f"{path} cannot be used: {error}"
            raise LogError(message) from error

    def _open(self, partition: int) -> Partition:
        folder = self._path / f"{TOPIC}-{partition}"
        opened = Partition(folder, self._disk, self._segment_bytes)
        self._partitions[partition] = opened
        return opened

    @property
    def pending(self) -> bool:
        """Whether an append has not completed yet."""
        return self._waiting > 0

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Queue a batch; after the next `flush`, `complete` reports its result."""
        data = None
        try:
            data = to_bytes(batch, self._versions, self._now_ms())
        except UnwritableRecordError as error:
            logger.warning("%s-%d: an append was rejected: %s", TOPIC, partition, error)
            if self._fails_at_once:
                completed(ErrorCode.UNKNOWN_SERVER_ERROR)
                return
        self._waiting += 1
        self._queued.append(_Append(partition, data, completed))

    def flush(self) -> None:
        """Write the queue; later appends are for the next flush."""
        with self._flushing:
            appends: dict[int, list[_Append]] = {}
            for _ in range(len(self._queued)):
                append = self._queued.popleft()
                appends.setdefault(append.partition, []).append(append)
            # Write all partitions before the first sync, so that it writes most of the data.
            written = {
                partition: self._write(partition, group) for partition, group in appends.items()
            }
            for partition, group in appends.items():
                error = self._sync(partition, written[partition])
                for _, data, completed in group:
                    result = ErrorCode.UNKNOWN_SERVER_ERROR if data is None else error
                    self._done.append((completed, result))

    def _write(self, partition: int, group: list[_Append]) -> Written | None:
        """Write batches to a partition, all or none."""
        batches = [append.data for append in group if append.data is not None]
        try:
            opened = self._partitions.get(partition) or self._open(partition)
            return opened.write(batches)
        except (OSError, LogError) as error:
            self._failed(partition, error)
            return None

    def _sync(self, partition: int, written: Written | None) -> ErrorCode:
        """Sync a partition; returns the error of the write or the sync."""
        if written is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            self._partitions[partition].sync(written)
        except OSError as error:
            self._failed(partition, error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition in self._failing:
            self._failing.remove(partition)
            logger.warning("%s-%d: appends no longer fail", TOPIC, partition)
        return ErrorCode.NONE

    def _failed(self, partition: int, error: Exception) -> None:
        """Log an error once: while a disk is full, every flush fails."""
        if partition not in self._failing:
            logger.error("%s-%d: appends fail: %s", TOPIC, partition, error)
        self._failing.add(partition)

    def complete(self) -> None:
        """Report the results of flushed appends, in the order of the log."""
        while self._done:
            completed, error = self._done.popleft()
            self._waiting -= 1
            completed(error)

    def read(self, partition: int) -> Iterator[Batch]:
        """All batches of a partition, in the order of the log; the queue is flushed first.

        Raises:
            LogCorruptError: A batch cannot be read; the message names file and position.

        """
        self.flush()
        opened = self._partitions.get(partition)
        return iter(()) if opened is None else self._read(partition, opened)

    def _read(self, partition: int, opened: Partition) -> Iterator[Batch]:
        """All batches of an open partition."""
        unknown = 0
        for path, position, found in opened.read():
            try:
                batch, skipped = from_bytes(found)
            except CorruptRecordError as error:
                message = f"{path} is corrupt at byte {position}: {error}"
                raise LogCorruptError(message) from error
            unknown += skipped
            if batch.records or batch.marker is not None:
                yield batch
        if unknown:
            self.skipped += unknown
            logger.warning("%s-%d: skipped %d records of unknown types", TOPIC, partition, unknown)

    def compact(self, dirty: float = _DIRTY) -> None:
        """Compact each partition with at least this share of closed segments not compacted yet.

        Raises:
            LogError: One could not be compacted; nothing is lost, and a retry is safe.

        """
        with self._compacting:
            for number, partition in tuple(self._partitions.items()):
                if partition.dirty_ratio() < dirty:
                    continue
                try:
                    partition.compact()
                except OSError as error:
                    message = f"{TOPIC}-{number} could not be compacted: {error}"
                    raise LogError(message) from error

    def close(self) -> None:
        """Release the directory; the queue is not written."""
        for partition in self._partitions.values():
            partition.close()
        os.close(self._lock)


def _lock(path: Path) -> int:
    """Lock a directory for this process, until the returned file is closed."""
    path.mkdir(parents=True, exist_ok=True)
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        message = f"{path} is in use by another process"
        raise LogLockedError(message) from None
    return lock


def _partitions(path: Path) -> list[int]:
    """The numbers of the partitions in a directory."""
    names = (folder.name.removeprefix(f"{TOPIC}-") for folder in path.glob(f"{TOPIC}-*"))
    return sorted(int(name) for name in names if name.isdecimal())
