"""The contents of a log after its writer, or the machine, stops at any moment."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.errors import LogCorruptError, LogError
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode
from support.faulty_disk import FaultyDisk, HastyDisk, Stop, at, never
from support.log_loading import load
from support.log_records import commit, end, logs

FOLDER = "__consumer_offsets-27"
FIRST = f"{0:020}.log"


def write(path: Path, batches: list[Batch], segment_bytes: int = 1 << 20) -> list[int]:
    """Write a log; returns the end of each batch in its first segment."""
    ends = []
    segment = path / FOLDER / FIRST
    log = DirectoryLog(path, segment_bytes=segment_bytes, disk=HastyDisk())
    for batch in batches:
        log.append(27, batch, lambda _: None)
        log.flush()
        ends.append(segment.stat().st_size if segment.exists() else 0)
    log.close()
    return ends


@contextmanager
def opened(path: Path) -> Iterator[DirectoryLog]:
    log = DirectoryLog(path, disk=HastyDisk())
    try:
        yield log
    finally:
        log.close()


def read(path: Path) -> list[Batch]:
    with opened(path) as log:
        return list(log.read(27))


BATCHES = [commit("a", 1), commit("b", 2, 7), end(7), commit("a", None), commit("c", 3)]


def test_log_truncated_anywhere_keeps_the_complete_batches_and_accepts_appends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ends = write(tmp_path, BATCHES)
    segment = tmp_path / FOLDER / FIRST
    data = segment.read_bytes()
    for size in range(len(data)):
        segment.write_bytes(data[:size])
        complete = sum(end <= size for end in ends)
        caplog.clear()
        with opened(tmp_path) as log:
            assert list(log.read(27)) == BATCHES[:complete]
            log.append(27, commit("d", 4), lambda _: None)
            log.flush()
        assert read(tmp_path) == [*BATCHES[:complete], commit("d", 4)]
        torn = size - ([0, *ends][complete])
        message = f"{segment}: the last {torn} bytes are an incomplete append and are truncated"
        assert (message in caplog.text) == (torn > 0)


@given(lost=st.integers(1, 400), zeros=st.integers(0, 5_000))
@settings(max_examples=60, deadline=None)
def test_trailing_zeros_are_truncated(lost: int, zeros: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        ends = write(path, BATCHES)
        segment = path / FOLDER / FIRST
        size = max(0, ends[-1] - lost)
        segment.write_bytes(segment.read_bytes()[:size] + bytes(zeros + lost))
        complete = sum(end <= size for end in ends)
        found = read(path)
        # A batch may end with zeros of its own.
        assert found in (BATCHES[:complete], BATCHES[: complete + 1])


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_changed_byte_is_rejected_or_truncated_at_the_end_and_never_read(
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        ends = write(path, BATCHES)
        segment = path / FOLDER / FIRST
        changed = bytearray(segment.read_bytes())
        position = data.draw(st.integers(0, len(changed) - 1))
        changed[position] ^= data.draw(st.integers(1, 255))
        segment.write_bytes(changed)
        last = position >= ends[-2]
        try:
            found = read(path)
        except LogCorruptError as error:
            assert str(error).startswith(f"{segment} is corrupt at byte ")  # noqa: PT017 - or it is read
            assert "there is a complete batch at byte" in str(error)  # noqa: PT017 - as above
        else:
            # The checksums do not cover the offset and the leader epoch of a batch.
            assert found == BATCHES or (last and found == BATCHES[:-1])


def test_corrupt_middle_is_not_changed(tmp_path: Path) -> None:
    ends = write(tmp_path, BATCHES)
    segment = tmp_path / FOLDER / FIRST
    changed = bytearray(segment.read_bytes())
    changed[ends[1] - 1] ^= 1
    segment.write_bytes(changed)
    message = (
        f"{segment} is corrupt at byte {ends[0]}: .*checksum.*complete batch at byte {ends[1]}"
    )
    for _ in range(2):
        with pytest.raises(LogCorruptError, match=message):
            DirectoryLog(tmp_path)
        assert segment.read_bytes() == changed


def test_only_the_last_segment_is_truncated(tmp_path: Path) -> None:
    write(tmp_path, BATCHES, segment_bytes=1)
    segment = tmp_path / FOLDER / FIRST
    os.truncate(segment, segment.stat().st_size - 1)
    with pytest.raises(LogCorruptError, match=f"{segment} is corrupt at byte 0: .*later segments"):
        DirectoryLog(tmp_path)


def test_overlapping_segments_are_rejected(tmp_path: Path) -> None:
    write(tmp_path, BATCHES)
    (tmp_path / FOLDER / f"{3:020}.log").touch()
    with pytest.raises(LogCorruptError, match="begins at offset 3, where 5 is expected"):
        DirectoryLog(tmp_path)


def test_segment_without_an_offset_as_its_name_is_rejected(tmp_path: Path) -> None:
    write(tmp_path, BATCHES)
    (tmp_path / FOLDER / "notes.log").touch()
    with pytest.raises(LogCorruptError, match=r"the name of .*notes\.log is not an offset"):
        DirectoryLog(tmp_path)


# Stops, at every call

# In a power failure, these unsynced changes of names are lost.
LOST = {
    "killed": None,
    "power lost": slice(None),
    "power lost, but for the last name": slice(-1),
    "power lost, and the first name": slice(1),
}


def stops(path: Path, number: int) -> tuple[FaultyDisk, Path]:
    return FaultyDisk(at(number, Stop())), path / str(number)


def append_all(path: Path, disk: FaultyDisk, batches: list[Batch]) -> int:
    """Append until the machine stops; returns the number of acknowledged appends."""
    done: list[ErrorCode] = []
    log = None
    try:
        log = DirectoryLog(path, disk=disk, segment_bytes=200)
        for batch in batches:
            log.append(27, batch, done.append)
            log.flush()
            log.complete()
    except Stop:
        pass
    finally:
        if log is not None:
            log.close()
    assert set(done) <= {ErrorCode.NONE}
    return len(done)


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_acknowledged_batches_are_read_wherever_the_writer_stops(
    tmp_path: Path, lost: slice | None
) -> None:
    uninterrupted = FaultyDisk(never)
    assert append_all(tmp_path / "complete", uninterrupted, BATCHES) == len(BATCHES)
    for number in range(1, uninterrupted.calls + 1):
        disk, path = stops(tmp_path, number)
        acknowledged = append_all(path, disk, BATCHES)
        if lost is not None:
            disk.lose_power(path, lost)
        found = read(path)
        assert found == BATCHES[: len(found)]
        assert acknowledged <= len(found) <= acknowledged + 1
        assert acknowledged < len(BATCHES)


COMPACTED = [
    # Dropped with its tombstone: it would be visible again if this segment alone came back.
    commit("g", 1),
    *(commit("ab"[i % 2], i) for i in range(6)),
    commit("g", None),
    commit("c", 1, 7),
    commit("c", None),
    commit("d", 1),
    end(7),
    commit("d", None),
    commit("e", 1, 8),
    commit("e", 2),
    commit("f", 2),
]


def compact(path: Path, disk: FaultyDisk) -> bool:
    """Compact a log whose machine may stop; returns whether it completed."""
    log = None
    try:
        log = DirectoryLog(path, disk=disk, segment_bytes=200)
        log.compact(dirty=0)
    except Stop:
        return False
    else:
        return True
    finally:
        if log is not None:
            log.close()


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_log_loads_unchanged_wherever_a_compaction_stops(
    tmp_path: Path, lost: slice | None
) -> None:
    write(tmp_path / "complete", COMPACTED, segment_bytes=200)
    uninterrupted = FaultyDisk(never)
    assert compact(tmp_path / "complete", uninterrupted)
    assert uninterrupted.calls > 15
    assert len(read(tmp_path / "complete")) < len(COMPACTED)
    for number in range(1, uninterrupted.calls + 1):
        disk, path = stops(tmp_path, number)
        write(path, COMPACTED, segment_bytes=200)
        assert not compact(path, disk)
        if lost is not None:
            disk.lose_power(path, lost)
        assert load(read(path)) == load(COMPACTED)
        assert {file.suffix for file in (path / FOLDER).iterdir()} == {".log"}
        assert compact(path, FaultyDisk(never))
        assert load([*read(path), end(8)]) == load([*COMPACTED, end(8)])


def test_log_loads_unchanged_wherever_the_disk_fails_in_a_compaction(tmp_path: Path) -> None:
    write(tmp_path / "complete", COMPACTED, segment_bytes=200)
    uninterrupted = FaultyDisk(never)
    compact(tmp_path / "complete", uninterrupted)
    for number in range(2, uninterrupted.calls + 1):
        path = tmp_path / str(number)
        write(path, COMPACTED, segment_bytes=200)
        error = OSError(errno.EIO, "Input/output error")
        log = DirectoryLog(path, disk=FaultyDisk(at(number, error)), segment_bytes=200)
        with pytest.raises(LogError, match=r"could not be compacted: .*Input/output error"):
            log.compact(dirty=0)
        done: list[ErrorCode] = []
        log.append(27, end(8), done.append)
        log.flush()
        log.complete()
        log.close()
        stored = done == [ErrorCode.NONE]
        assert stored or done == [ErrorCode.KAFKA_STORAGE_ERROR]
        expected = load([*COMPACTED, end(8)] if stored else COMPACTED)
        assert load(read(path)) == expected
        assert compact(path, FaultyDisk(never))
        assert load(read(path)) == expected


def test_recovery_of_a_compaction_can_stop_anywhere_and_resume(tmp_path: Path) -> None:
    write(tmp_path / "complete", COMPACTED, segment_bytes=200)
    uninterrupted = FaultyDisk(never)
    compact(tmp_path / "complete", uninterrupted)
    for first in range(1, uninterrupted.calls + 1):
        for second in range(1, 8):
            path = tmp_path / f"{first}-{second}"
            write(path, COMPACTED, segment_bytes=200)
            assert not compact(path, FaultyDisk(at(first, Stop())))
            with suppress(Stop):
                DirectoryLog(path, disk=FaultyDisk(at(second, Stop()))).close()
            assert load(read(path)) == load(COMPACTED)


def test_malformed_compaction_plan_is_rejected(tmp_path: Path) -> None:
    write(tmp_path, BATCHES)
    plan = tmp_path / FOLDER / "compaction"
    for text in ("", "[]", "[1, 2]", "\0\0"):
        plan.write_text(text)
        with pytest.raises(LogCorruptError, match=f"{plan} is corrupt"):
            DirectoryLog(tmp_path)


@settings(max_examples=40, deadline=None)
@given(batches=logs(), data=st.data())
def test_repeatedly_compacted_and_interrupted_log_loads_like_the_whole_one(
    batches: list[Batch], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        for batch in batches:
            write(path, [batch], segment_bytes=150)
            if data.draw(st.booleans()):
                compact(path, FaultyDisk(at(data.draw(st.integers(1, 25)), Stop())))
        assert load(read(path)) == load(batches)
