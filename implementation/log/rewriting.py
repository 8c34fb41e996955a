"""Writes compacted segments next to the closed ones; `partition` replaces those."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from groupcheck.implementation.log.batches import (
    MAX_OFFSET_DELTA,
    RawBatch,
    RawRecord,
    build,
    offset_count,
    parse,
)
from groupcheck.implementation.log.compaction import BatchKeys, retained_records
from groupcheck.implementation.log.errors import CorruptRecordError, LogCorruptError
from groupcheck.implementation.log.records import NO_PRODUCER_ID
from groupcheck.implementation.log.segments import Disk, Segment, batches_of, segment_path

CLEANED: Final = ".cleaned"

# Consecutive plain records are merged into batches of this size: a batch for each record takes 61
# bytes more, and twice the time to read.
_MERGED: Final = 500

# The two versions of an offset's key identify the same offset.
_OLD_OFFSET_KEY: Final = b"\0\0"
_OFFSET_KEY: Final = b"\0\1"


def rewrite(closed: Sequence[Segment], disk: Disk, segment_bytes: int) -> list[Segment]:
    """Write the records that compaction retains into files with the suffix `.cleaned`.

    Records keep their offsets. Only their keys are read, so records of unknown types are retained
    like all others.

    Raises:
        OSError: The files could not be written.
        LogCorruptError: A batch cannot be read.

    """
    retained = retained_records([_keys_of(batch) for batch in _batches(closed)])
    writer = _Writer(closed[0].path.parent, disk, segment_bytes)
    try:
        for batch, indexes in zip(_batches(closed), retained, strict=True):
            if indexes:
                writer.add(batch._replace(records=tuple(batch.records[i] for i in indexes)))
        return writer.finish()
    finally:
        writer.close()


def _batches(closed: Sequence[Segment]) -> Iterator[RawBatch]:
    """All batches of these segments."""
    for segment in closed:
        for path, position, batch in batches_of(segment, segment.path.open("rb")):
            try:
                yield parse(batch)
            except CorruptRecordError as error:
                message = f"{path} is corrupt at byte {position}: {error}"
                raise LogCorruptError(message) from error


def _keys_of(batch: RawBatch) -> BatchKeys:
    """The keys of a batch's records; a control batch of another kind has none."""
    if batch.control:
        return BatchKeys((), batch.producer_id, batch.marker)
    records = tuple((_identity(record.key), record.value is None) for record in batch.records)
    return BatchKeys(records, batch.producer_id)


def _identity(key: bytes | None) -> bytes | None:
    """A key in the newer of its two versions."""
    if key is not None and key.startswith(_OLD_OFFSET_KEY):
        return _OFFSET_KEY + key[2:]
    return key


class _Writer:
    """Writes batches into compacted segments."""

    def __init__(self, folder: Path, disk: Disk, segment_bytes: int) -> None:
        self._folder = folder
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._plain: list[RawRecord] = []
        self._segments: list[Segment] = []
        self._file: int | None = None

    def add(self, batch: RawBatch) -> None:
        """Write a batch, or collect its records until a merged batch is full."""
        if batch.producer_id != NO_PRODUCER_ID:
            self._write_plain()
            self._write(batch)
            return
        for record in batch.records:
            if self._plain and (
                len(self._plain) == _MERGED
                or record.offset - self._plain[0].offset > MAX_OFFSET_DELTA
            ):
                self._write_plain()
            self._plain.append(record)

    def finish(self) -> list[Segment]:
        """Write the remaining records, and return the segments when they are synced."""
        self._write_plain()
        self._end_segment()
        return self._segments

    def close(self) -> None:
        """Close the current file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write_plain(self) -> None:
        """Write the collected records."""
        if self._plain:
            self._write(RawBatch(tuple(self._plain)))
            self._plain.clear()

    def _write(self, batch: RawBatch) -> None:
        """Write a batch into the last segment, or a new one if that is full."""
        data = build(batch)
        base_offset = batch.records[0].offset
        if self._file is not None:
            last = self._segments[-1]
            too_far = batch.records[-1].offset - last.base_offset > MAX_OFFSET_DELTA
            if too_far or last.size >= self._segment_bytes:
                self._end_segment()
        if self._file is None:
            path = segment_path(self._folder, base_offset)
            cleaned = path.with_name(path.name + CLEANED)
            self._disk.remove(cleaned)
            self._file = self._disk.create(cleaned)
            self._segments.append(Segment(path, base_offset, 0, base_offset))
        last = self._segments[-1]
        self._disk.write(self._file, data, last.size)
        self._segments[-1] = last._replace(
            size=last.size + len(data), next_offset=base_offset + offset_count(data)
        )

    def _end_segment(self) -> None:
        """Sync and close the last segment."""
        if self._file is not None:
            self._disk.sync(self._file)
            self.close()
