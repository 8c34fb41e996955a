"""One partition of the log: a folder of segment files.

The files are like Kafka's: `<base offset, 20 digits>.log`, record batches only. The last one is the
active segment, which is appended to; the others are closed, and only they are compacted.

Compaction writes new files next to the old ones (`.cleaned`), syncs them, and then writes a plan
(the file `compaction`). Once the plan is written, the compaction takes effect: after a crash it is
completed when the folder is opened again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from groupcheck.implementation.log.batches import offset_count, set_base_offset
from groupcheck.implementation.log.errors import LogCorruptError, LogError
from groupcheck.implementation.log.rewriting import CLEANED, rewrite
from groupcheck.implementation.log.segments import (
    Disk,
    Segment,
    Stored,
    batches_of,
    check_segments,
    segment_path,
)

logger: Final = logging.getLogger(__name__)

_PLAN: Final = "compaction"
_PLAN_DRAFT: Final = "compaction.draft"


class _Plan(NamedTuple):
    """The files to remove and to rename when a compaction takes effect."""

    remove: tuple[str, ...]
    rename: tuple[str, ...]


class Written(NamedTuple):
    """The active segment's file, and the segment after the next sync."""

    file: int
    segment: Segment


class Partition:
    """A folder of segments; appending, reading and compacting may each have their own thread.

    Args:
        folder: The folder; it is created if needed.
        disk: How files are changed.
        segment_bytes: The active segment is closed once it has this size.

    Raises:
        LogCorruptError: The stored bytes are not valid.
        OSError: The folder cannot be read or repaired.

    """

    def __init__(self, folder: Path, disk: Disk, segment_bytes: int) -> None:
        self._folder = folder
        self._disk = disk
        self._segment_bytes = segment_bytes
        # Held while the list of segments or their files change.
        self._lock = Lock()
        self._file: int | None = None
        self._broken: str | None = None
        # Closed segments before this offset have been compacted.
        self._compacted_to = 0
        if not folder.exists():
            disk.make_folder(folder)
        # Even if it exists: the process that created it may have crashed before this.
        disk.sync_folder(folder.parent)
        self._recover_compaction()
        self._segments = check_segments(folder)
        if self._segments:
            self._reopen(self._segments[-1])

    def _recover_compaction(self) -> None:
        """Complete a compaction with a plan, and discard one without."""
        plan = self._folder / _PLAN
        if plan.exists():
            try:
                self._apply_plan(_Plan(*map(tuple, json.loads(plan.read_text()))))
            except (ValueError, TypeError) as error:
                message = f"{plan} is corrupt: {error}"
                raise LogCorruptError(message) from error
        for path in self._folder.iterdir():
            if path.suffix == CLEANED or path.name == _PLAN_DRAFT:
                self._disk.remove(path)

    def _reopen(self, active: Segment) -> None:
        """Open the active segment, and truncate an incomplete batch."""
        file = os.open(active.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if os.fstat(file).st_size != active.size:
                self._disk.truncate(file, active.size)
                self._disk.sync(file)
        except OSError:
            os.close(file)
            raise
        self._file = file

    def write(self, batches: Sequence[bytearray]) -> Written:
        """Write batches at the end, all of them or none; they are safe after `sync`.

        Raises:
            OSError: They could not be written, and are truncated again.
            LogError: An earlier failure could not be repaired.

        """
        if self._broken is not None:
            raise LogError(self._broken)
        file, active = self._active()
        next_offset = active.next_offset
        for batch in batches:
            set_base_offset(batch, next_offset)
            next_offset += offset_count(batch)
        data = b"".join(batches)
        try:
            self._disk.write(file, data, active.size)
        except OSError:
            self._truncate(file, active)
            raise
        size = active.size + len(data)
        return Written(file, active._replace(size=size, next_offset=next_offset))

    def sync(self, written: Written) -> None:
        """Return when the last write is safe.

        Raises:
            OSError: It failed; the write is truncated again.

        """
        try:
            self._disk.sync(written.file)
        except OSError:
            self._truncate(written.file, self._segments[-1])
            raise
        with self._lock:
            self._segments[-1] = written.segment

    def _active(self) -> tuple[int, Segment]:
        """The segment to append to, a new one if the last is full."""
        if self._file is not None:
            active = self._segments[-1]
            if active.size < self._segment_bytes:
                return self._file, active
            active = Segment(
                segment_path(self._folder, active.next_offset),
                active.next_offset,
                0,
                active.next_offset,
            )
        else:
            active = Segment(segment_path(self._folder, 0), 0, 0, 0)
        file = self._create(active.path)
        if self._file is not None:
            os.close(self._file)
        self._file = file
        with self._lock:
            self._segments.append(active)
        return file, active

    def _create(self, path: Path) -> int:
        """Create an empty file whose name survives a power failure."""
        file = self._disk.create(path)
        try:
            self._disk.sync_folder(self._folder)
        except OSError:
            os.close(file)
            self._disk.remove(path)
            raise
        return file

    def _truncate(self, file: int, active: Segment) -> None:
        """Truncate a failed append; if that fails too, accept no more appends."""
        try:
            self._disk.truncate(file, active.size)
            self._disk.sync(file)
        except OSError as error:
            self._broken = f"{active.path} could not be truncated to {active.size} bytes: {error}"
            logger.exception("%s; it accepts no more appends", self._broken)

    def read(self) -> Iterator[Stored]:
        """All synced batches, in the order of the log.

        Raises:
            LogCorruptError: A file has changed since it was opened.

        """
        with contextlib.ExitStack() as files:
            with self._lock:
                # Compaction may remove the files meanwhile; open files stay readable.
                opened = [(s, files.enter_context(s.path.open("rb"))) for s in self._segments]
            for segment, file in opened:
                yield from batches_of(segment, file)

    def dirty_ratio(self) -> float:
        """The share of the closed segments' bytes that is not compacted yet, from 0 to 1."""
        with self._lock:
            closed = self._segments[:-1]
        size = sum(segment.size for segment in closed)
        dirty = sum(s.size for s in closed if s.base_offset >= self._compacted_to)
        return dirty / size if size else 0.0

    def compact(self) -> None:
        """Compact the closed segments.

        Raises:
            OSError: It failed; nothing is lost, and a retry is safe.
            LogCorruptError: A file has changed since it was opened.
            LogError: An earlier failure could not be repaired.

        """
        if self._broken is not None:
            raise LogError(self._broken)
        with self._lock:
            closed = self._segments[:-1]
        if not closed:
            return
        try:
            self._remove_plan()
            cleaned = rewrite(closed, self._disk, self._segment_bytes)
            self._disk.sync_folder(self._folder)
            plan = _plan(closed, cleaned)
            self._write_plan(plan)
        except (OSError, LogError):
            self._discard_cleaned()
            raise
        with self._lock:
            try:
                self._apply_plan(plan)
            except OSError as error:
                self._broken = f"{self._folder}: a compaction could not be finished: {error}"
                raise
            self._segments[: len(closed)] = cleaned
            self._compacted_to = self._segments[len(cleaned)].base_offset

    def _write_plan(self, plan: _Plan) -> None:
        """Write the plan; once it is synced, the compaction takes effect."""
        draft = self._folder / _PLAN_DRAFT
        self._disk.remove(draft)
        file = self._disk.create(draft)
        try:
            self._disk.write(file, json.dumps(plan).encode(), 0)
            self._disk.sync(file)
        finally:
            os.close(file)
        self._disk.rename(draft, self._folder / _PLAN)
        self._disk.sync_folder(self._folder)

    def _apply_plan(self, plan: _Plan) -> None:
        """Replace files according to a plan, which may be partly applied."""
        for name in plan.remove:
            self._disk.remove(self._folder / name)
        for name in plan.rename:
            cleaned = self._folder / (name + CLEANED)
            if cleaned.exists():
                self._disk.rename(cleaned, self._folder / name)
        self._disk.sync_folder(self._folder)
        self._remove_plan()

    def _discard_cleaned(self) -> None:
        """Remove the files of a compaction that failed."""
        with contextlib.suppress(OSError):
            self._remove_plan()
            for path in self._folder.glob(f"*{CLEANED}"):
                self._disk.remove(path)

    def _remove_plan(self) -> None:
        """Remove the plan, and sync: its files must not change while it may take effect."""
        self._disk.remove(self._folder / _PLAN)
        self._disk.sync_folder(self._folder)

    def close(self) -> None:
        """Close the files."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _plan(closed: Sequence[Segment], cleaned: Sequence[Segment]) -> _Plan:
    """The plan that replaces the closed segments with the cleaned ones."""
    rename = tuple(segment.path.name for segment in cleaned)
    return _Plan(tuple(s.path.name for s in closed if s.path.name not in rename), rename)
