"""A log in a directory: appends are acknowledged when they would survive a power failure.

Whoever embeds the coordinator drives it; it starts no thread of its own:

- `append` encodes a batch and queues it, on the coordinator's thread; nothing is written yet.
- `flush` writes all that is queued, with one fsync a partition, and returns when it is safe. It
  blocks, so it is for another thread, one call at a time.
- `complete` tells those who appended how it went, on the coordinator's thread.

So the appends of all requests that came while one flush was under way share the next:

    while log.pending:
        await loop.run_in_executor(None, log.flush)
        log.complete()
        send(coordinator.take())

`compact` is for another thread too, now and then, and may run beside all others.
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

from groupcheck.implementation.log.codec import FORMATS, Format
from groupcheck.implementation.log.disk import Disk
from groupcheck.implementation.log.errors import (
    CorruptRecordError,
    LogCorruptError,
    LogError,
    LogLockedError,
    UnwritableRecordError,
)
from groupcheck.implementation.log.log import Completed
from groupcheck.implementation.log.partition import Partition, Written
from groupcheck.implementation.log.records import Batch
from groupcheck.implementation.log.stored import from_bytes, to_bytes
from groupcheck.model.vocabulary import ErrorCode

logger: Final = logging.getLogger(__name__)

TOPIC: Final = "__consumer_offsets"
_LOCK: Final = ".lock"

# Kafka's is 100 MB (offsets.topic.segment.bytes). The active segment is not compacted, and a
# log of 50 partitions ought to be read in seconds.
SEGMENT_BYTES: Final = 16 * 1024 * 1024

# Kafka's min.cleanable.dirty.ratio.
_DIRTY: Final = 0.5


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class _Append(NamedTuple):
    """A batch on its way to the disk; without data it cannot be written."""

    partition: int
    data: bytearray | None
    completed: Completed


class DirectoryLog:
    """The log in a directory, which is this process's alone.

    Args:
        path: The directory; it is made if it is not there.
        written: Which versions of the records are written: those of a profile (`FORMATS`).
        refuses_at_once: Whether a batch that cannot be written is refused before `append` returns,
            though others are on their way; else when its turn comes.
        segment_bytes: A segment file is closed, and may be compacted, once it has this many bytes.
        now_ms: The time that records are stamped with.
        disk: How files are changed.

    Raises:
        LogLockedError: Another process uses the directory.
        LogCorruptError: What is stored is not what was written; the text says where.
        LogError: The directory cannot be used: it cannot be read, or not be written to.

    """

    def __init__(  # noqa: PLR0913 - by name, and each with a default
        self,
        path: Path,
        *,
        written: Format = FORMATS["2.7"],
        refuses_at_once: bool = False,
        segment_bytes: int = SEGMENT_BYTES,
        now_ms: Callable[[], int] = _now_ms,
        disk: Disk | None = None,
    ) -> None:
        self._path = path
        self._written = written
        self._refuses_at_once = refuses_at_once
        self._segment_bytes = segment_bytes
        self._now_ms = now_ms
        self._disk = disk or Disk()
        self._partitions: dict[int, Partition] = {}
        self._queued: deque[_Append] = deque()
        self._done: deque[tuple[Completed, ErrorCode]] = deque()
        # Appends that have not completed; only the coordinator's thread counts them.
        self._waiting = 0
        self._failing: set[int] = set()
        self._flushing = Lock()
        self._compacting = Lock()
        # Records of types that are not known, among those that were read.
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
        """Whether something that was appended has not completed yet."""
        return self._waiting > 0

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Queue a batch; after the next `flush`, `complete` says how it went."""
        data = None
        try:
            data = to_bytes(batch, self._written, self._now_ms())
        except UnwritableRecordError as error:
            logger.warning("%s-%d: an append was refused: %s", TOPIC, partition, error)
            if self._refuses_at_once:
                completed(ErrorCode.UNKNOWN_SERVER_ERROR)
                return
        self._waiting += 1
        self._queued.append(_Append(partition, data, completed))

    def flush(self) -> None:
        """Write all that is queued; what comes meanwhile is for the next time."""
        with self._flushing:
            appends: dict[int, list[_Append]] = {}
            for _ in range(len(self._queued)):
                append = self._queued.popleft()
                appends.setdefault(append.partition, []).append(append)
            # All is written first: where the kernel syncs one file it does most for the others.
            written = {
                partition: self._write(partition, group) for partition, group in appends.items()
            }
            for partition, group in appends.items():
                error = self._sync(partition, written[partition])
                for _, data, completed in group:
                    refused = data is None
                    self._done.append(
                        (completed, ErrorCode.UNKNOWN_SERVER_ERROR if refused else error)
                    )

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
        """Make safe what was written to a partition, and tell how that and the writing went."""
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
        """Say that appends fail, once: while a disk is full, every flush does."""
        if partition not in self._failing:
            logger.error("%s-%d: appends fail: %s", TOPIC, partition, error)
        self._failing.add(partition)

    def complete(self) -> None:
        """Tell those whose batches were flushed how it went, in the order of the log."""
        while self._done:
            completed, error = self._done.popleft()
            self._waiting -= 1
            completed(error)

    def read(self, partition: int) -> Iterator[Batch]:
        """Every batch of a partition, in the order of the log; what is queued is flushed first.

        Raises:
            LogCorruptError: A batch cannot be read; the text names file and position.

        """
        self.flush()
        opened = self._partitions.get(partition)
        return iter(()) if opened is None else self._read(partition, opened)

    def _read(self, partition: int, opened: Partition) -> Iterator[Batch]:
        """Every batch of a partition that has been opened."""
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
            logger.warning(
                "%s-%d: passed over %d records of unknown types", TOPIC, partition, unknown
            )

    def compact(self, dirty: float = _DIRTY) -> None:
        """Compact each partition of whose closed segments this part has not been compacted yet.

        Raises:
            LogError: One could not be compacted; nothing is lost, and it can be tried again.

        """
        with self._compacting:
            for number, partition in tuple(self._partitions.items()):
                if partition.dirt() < dirty:
                    continue
                try:
                    partition.compact()
                except OSError as error:
                    message = f"{TOPIC}-{number} could not be compacted: {error}"
                    raise LogError(message) from error

    def close(self) -> None:
        """Let go of the directory; what is still queued is not written."""
        for partition in self._partitions.values():
            partition.close()
        os.close(self._lock)


def _lock(path: Path) -> int:
    """Make a directory this process's own, as long as the file that is returned is open."""
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
    """The numbers of the partitions that a directory has."""
    names = (folder.name.removeprefix(f"{TOPIC}-") for folder in path.glob(f"{TOPIC}-*"))
    return sorted(int(name) for name in names if name.isdecimal())
