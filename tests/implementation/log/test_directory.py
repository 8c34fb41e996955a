"""The log in a directory, while the process lives."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiokafka.record.util import calc_crc32c

from groupcheck.implementation.log.batches import RawBatch, RawRecord, build, set_base_offset
from groupcheck.implementation.log.codec import FORMATS, to_bytes
from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.errors import LogCorruptError, LogError, LogLockedError
from groupcheck.implementation.log.records import Batch, Marker
from groupcheck.model.vocabulary import ErrorCode
from support.faulty_disk import FaultyDisk, HastyDisk, at, never, whenever
from support.log_loading import load
from support.log_records import commit, end, offset

PARTITION = "__consumer_offsets-27"


@contextmanager
def opened(path: Path, **arguments: object) -> Iterator[DirectoryLog]:
    log = DirectoryLog(path, **arguments)  # type: ignore[arg-type]  # each test has its own
    try:
        yield log
    finally:
        log.close()


def append(log: DirectoryLog, *batches: Batch, partition: int = 27) -> list[ErrorCode]:
    """Append batches in one flush; returns the results."""
    errors: list[ErrorCode] = []
    for batch in batches:
        log.append(partition, batch, errors.append)
    log.flush()
    log.complete()
    return errors


def files(path: Path) -> list[str]:
    return sorted(file.name for file in (path / PARTITION).iterdir())


def test_appended_batches_are_read_before_and_after_a_reopen(tmp_path: Path) -> None:
    batches = [
        commit("a", 1),
        commit("a", 2, 7),
        end(7),
        Batch((offset("b", 1), offset("a", None))),
        end(8, Marker.ABORT),
    ]
    with opened(tmp_path) as log:
        assert append(log, *batches) == [ErrorCode.NONE] * 5
        assert list(log.read(27)) == batches
        assert list(log.read(3)) == []
    with opened(tmp_path) as log:
        assert list(log.read(27)) == batches
        assert append(log, commit("c", 3)) == [ErrorCode.NONE]
        assert list(log.read(27)) == [*batches, commit("c", 3)]
    assert files(tmp_path) == ["00000000000000000000.log"]


def test_append_completes_in_complete_after_its_sync(tmp_path: Path) -> None:
    done: list[ErrorCode] = []
    calls: list[str] = []

    def before(_: int, name: str) -> None:
        calls.append(name)
        assert not done

    with opened(tmp_path, disk=FaultyDisk(before)) as log:
        assert not log.pending
        log.append(27, commit("a", 1), done.append)
        assert log.pending
        log.flush()
        assert log.pending
        assert calls == ["make_folder", "sync_folder", "create", "sync_folder", "write", "sync"]
        assert not done
        log.complete()
        assert done == [ErrorCode.NONE]
        assert not log.pending


def test_append_is_pending_during_the_flush(tmp_path: Path) -> None:
    logs: list[DirectoryLog] = []
    pending: list[bool] = []
    disk = FaultyDisk(lambda _, __: pending.extend(log.pending for log in logs))
    with opened(tmp_path, disk=disk) as log:
        logs.append(log)
        append(log, commit("a", 1))
    assert set(pending) == {True}


def test_hundred_appends_to_a_partition_share_one_sync(tmp_path: Path) -> None:
    calls: list[str] = []
    with opened(tmp_path, disk=FaultyDisk(lambda _, name: calls.append(name))) as log:
        append(log, commit("a", 1))
        calls.clear()
        append(log, *(commit("a", i) for i in range(100)))
    assert calls == ["write", "sync"]


def test_all_partitions_are_written_before_the_first_sync(tmp_path: Path) -> None:
    calls: list[str] = []
    done: list[ErrorCode] = []
    with opened(tmp_path, disk=FaultyDisk(lambda _, name: calls.append(name))) as log:
        for _ in range(2):
            calls.clear()
            for partition in range(3):
                log.append(partition, commit("a", 1), done.append)
            log.flush()
        log.complete()
    assert calls == ["write"] * 3 + ["sync"] * 3
    assert done == [ErrorCode.NONE] * 6


def test_unwritable_batch_may_fail_at_once(tmp_path: Path) -> None:
    done: list[ErrorCode] = []
    with opened(tmp_path, fails_at_once=True) as log:
        log.append(27, commit("a", 1), done.append)
        log.append(27, commit("x" * 40_000, 1), done.append)
        assert done == [ErrorCode.UNKNOWN_SERVER_ERROR]
        log.flush()
        log.complete()
        assert done == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE]
        assert not log.pending


def test_unwritable_batch_fails_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path) as log:
        unwritable = commit("x" * 40_000, 1)
        assert append(log, commit("a", 1), unwritable, commit("b", 1)) == [
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.NONE,
        ]
        for batch in (unwritable, Batch()):
            assert append(log, batch, partition=4) == [ErrorCode.UNKNOWN_SERVER_ERROR]
        assert list(log.read(4)) == []
        assert list(log.read(27)) == [commit("a", 1), commit("b", 1)]
    assert "an append was rejected: a record that cannot be written" in caplog.text


def test_append_during_a_flush_is_for_the_next_flush(tmp_path: Path) -> None:
    done: list[ErrorCode] = []
    logs: list[DirectoryLog] = []

    def before(_: int, name: str) -> None:
        if name == "sync" and len(done) == 0 and logs:
            logs.pop().append(27, commit("b", 2), done.append)

    with opened(tmp_path, disk=FaultyDisk(before)) as log:
        logs.append(log)
        assert append(log, commit("a", 1)) == [ErrorCode.NONE]
        assert (done, log.pending) == ([], True)
        log.flush()
        log.complete()
        assert (done, log.pending) == ([ErrorCode.NONE], False)


def test_read_flushes_the_queue_first(tmp_path: Path) -> None:
    done: list[ErrorCode] = []
    with opened(tmp_path) as log:
        log.append(27, commit("a", 1), done.append)
        assert list(log.read(27)) == [commit("a", 1)]
        assert not done
        log.complete()
        assert done == [ErrorCode.NONE]


def test_full_segment_is_followed_by_one_named_by_its_first_offset(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=100) as log:
        for i in range(3):
            append(log, Batch((offset("a", i), offset("b", i))))
        batches = list(log.read(27))
    assert files(tmp_path) == [f"{base:020}.log" for base in (0, 2, 4)]
    with opened(tmp_path) as log:
        assert list(log.read(27)) == batches
        assert len(batches) == 3


def test_records_of_unknown_types_are_counted_and_survive_compaction(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / PARTITION
    folder.mkdir()
    raw = RawBatch((RawRecord(0, 5, b"\0\3\0\1g", b"\0\0"),))
    (folder / f"{0:020}.log").write_bytes(build(raw))
    with opened(tmp_path, segment_bytes=1) as log:
        append(log, commit("a", 1))
        log.compact()
        assert list(log.read(27)) == [commit("a", 1)]
        assert log.skipped == 1
    assert f"{PARTITION}: skipped 1 records of unknown types" in caplog.text


def test_corrupt_record_is_reported_with_file_and_position(tmp_path: Path) -> None:
    folder = tmp_path / PARTITION
    folder.mkdir()
    good = build(RawBatch((RawRecord(0, 5, b"\0\2\0\1g", None),)))
    bad = build(RawBatch((RawRecord(1, 5, b"\0\1\0\1g", b"\0\3"),)))
    path = folder / f"{0:020}.log"
    path.write_bytes(good + bad)
    with (
        opened(tmp_path) as log,
        pytest.raises(LogCorruptError, match=f"{path} is corrupt at byte {len(good)}"),
    ):
        list(log.read(27))


def test_file_that_changes_while_open_is_rejected(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        append(log, commit("a", 1), commit("b", 1))
        path = tmp_path / PARTITION / f"{0:020}.log"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        with pytest.raises(LogCorruptError, match=r"is corrupt at byte \d+: .*checksum"):
            list(log.read(27))


# Failures


def test_failed_append_leaves_nothing_and_the_next_succeeds(tmp_path: Path) -> None:
    for number, path in enumerate(("write", "sync")):
        full: list[OSError] = []

        def before(_: int, name: str, path: str = path, full: list[OSError] = full) -> None:
            if name == path and full:
                raise full.pop()

        with opened(tmp_path / path, disk=FaultyDisk(before)) as log:
            append(log, commit("a", 1))
            full.append(OSError(errno.ENOSPC, "No space left on device"))
            failed = append(log, commit("b", 1), commit("c", 1))
            assert failed == [ErrorCode.KAFKA_STORAGE_ERROR] * 2, number
            assert list(log.read(27)) == [commit("a", 1)]
            assert append(log, commit("d", 1)) == [ErrorCode.NONE]
            assert list(log.read(27)) == [commit("a", 1), commit("d", 1)]
        with opened(tmp_path / path) as log:
            assert list(log.read(27)) == [commit("a", 1), commit("d", 1)]


def test_append_is_in_the_log_if_and_only_if_acknowledged_at_every_disk_failure(
    tmp_path: Path,
) -> None:
    def run(path: Path, disk: FaultyDisk) -> list[Batch]:
        with opened(path, disk=disk, segment_bytes=150) as log:
            batches = [commit("a", i) for i in range(5)]
            acknowledged = [b for b in batches if append(log, b) == [ErrorCode.NONE]]
            assert list(log.read(27)) == acknowledged
        return acknowledged

    uninterrupted = FaultyDisk(never)
    run(tmp_path / "complete", uninterrupted)
    for number in range(1, uninterrupted.calls + 1):
        path = tmp_path / str(number)
        acknowledged = run(path, FaultyDisk(at(number, OSError(errno.EIO, "I/O error"))))
        with opened(path) as log:
            assert list(log.read(27)) == acknowledged
        assert len(acknowledged) == 4


def test_no_append_is_accepted_after_a_truncation_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = False

    def before(_: int, name: str) -> None:
        if broken and name in ("sync", "truncate"):
            raise OSError(errno.EIO, "Input/output error")

    with opened(tmp_path, disk=FaultyDisk(before)) as log:
        append(log, commit("a", 1))
        broken = True
        assert append(log, commit("b", 1)) == [ErrorCode.KAFKA_STORAGE_ERROR]
        broken = False
        assert append(log, commit("c", 1)) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert append(log, commit("c", 1), partition=4) == [ErrorCode.NONE]
        assert list(log.read(27)) == [commit("a", 1)]
        with pytest.raises(LogError, match="could not be truncated"):
            log.compact(dirty=0)
    assert "could not be truncated to" in caplog.text


def test_full_disk_is_a_storage_error(tmp_path: Path) -> None:
    # A limit on the size of files acts like a full disk and needs no privileges.
    program = f"""
import resource
from pathlib import Path
from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.records import *
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
log = DirectoryLog(Path({str(tmp_path)!r}))
errors = []
for i in range(20):
    record = OffsetCommitRecord(OffsetCommitKey("group", "topic", i), OffsetCommitValue(i))
    log.append(27, Batch((record,)), errors.append)
    log.flush()
    log.complete()
print(*errors)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    errors = [ErrorCode(int(error)) for error in run.stdout.split()]
    stored = errors.count(ErrorCode.NONE)
    assert 0 < stored < 20
    assert errors == [ErrorCode.NONE] * stored + [ErrorCode.KAFKA_STORAGE_ERROR] * (20 - stored)
    with opened(tmp_path) as log:
        assert len(list(log.read(27))) == stored


def test_append_failures_are_logged_once_and_so_is_the_recovery(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    full = True

    def before(_: int, name: str) -> None:
        if full and name == "write":
            raise OSError(errno.ENOSPC, "No space left on device")

    with opened(tmp_path, disk=FaultyDisk(before)) as log:
        for i in range(3):
            append(log, commit("a", i))
        full = False
        for i in range(3):
            append(log, commit("a", i))
    assert [record.message for record in caplog.records] == [
        f"{PARTITION}: appends fail: [Errno 28] No space left on device",
        f"{PARTITION}: appends no longer fail",
    ]


# Access


def test_second_process_on_the_directory_is_rejected(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from groupcheck.implementation.log.directory import DirectoryLog
DirectoryLog(Path({str(tmp_path)!r}))
"""
    command = [sys.executable, "-c", program]
    with opened(tmp_path):
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 1
        assert f"LogLockedError: {tmp_path} is in use by another process" in run.stderr
        with pytest.raises(LogLockedError):
            DirectoryLog(tmp_path)
    subprocess.run(command, check=True)


@contextmanager
def unprivileged() -> Iterator[Path]:
    """A folder that this process can read and not write, whichever user runs it."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        (path / "read-only").mkdir(mode=0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield path / "read-only"
        finally:
            if user == 0:
                os.seteuid(0)


def test_directory_without_write_permission_is_rejected() -> None:
    with unprivileged() as path:
        for each in (path, path / "new"):
            with pytest.raises(LogError, match=f"{each} cannot be used: .*Permission denied"):
                DirectoryLog(each)


def test_read_only_file_system_is_rejected(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        append(log, commit("a", 1))
    path = tmp_path / PARTITION / f"{0:020}.log"
    path.write_bytes(path.read_bytes() + b"torn")
    disk = FaultyDisk(whenever("truncate", OSError(errno.EROFS, "Read-only file system")))
    with pytest.raises(LogError, match=f"{tmp_path} cannot be used: .*Read-only file system"):
        DirectoryLog(tmp_path, disk=disk)
    with opened(tmp_path) as log:
        assert list(log.read(27)) == [commit("a", 1)]


def test_file_instead_of_the_directory_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(LogError, match=f"{path} cannot be used"):
        DirectoryLog(path)


# Compaction


def test_compaction_keeps_the_latest_of_each_key_of_the_closed_segments(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=2_000, disk=HastyDisk()) as log:
        for i in range(500):
            append(log, commit("abcde"[i % 5], i))
        before = files(tmp_path)
        log.compact()
        after = files(tmp_path)
        assert len(before) > 20
        assert len(after) == 2
        assert after[-1] == before[-1]
        closed, *active = log.read(27)
        assert len(closed.records) == 5
        assert load([closed, *active]) == load(commit("abcde"[i % 5], i) for i in range(500))
        append(log, commit("f", 1))
        complete = list(log.read(27))
    with opened(tmp_path) as log:
        assert list(log.read(27)) == complete


def test_compaction_waits_until_half_of_the_closed_segments_is_dirty(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=1_000, disk=HastyDisk()) as log:
        for i in range(300):
            append(log, commit(f"group-{i}", i))
        log.compact()
        before = files(tmp_path)
        for i in range(50):
            append(log, commit(f"group-{i}", i))
        log.compact()
        assert len(files(tmp_path)) > len(before)
        for i in range(300):
            append(log, commit(f"group-{i}", i))
        log.compact()
        after = files(tmp_path)
        assert len(after) < len(before) + 8
        assert len(load(log.read(27)).stored) == 300


def test_closed_segments_without_kept_records_are_removed(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=1) as log:
        append(log, commit("a", 1))
        append(log, commit("a", None))
        append(log, commit("b", 1))
        log.compact()
        assert files(tmp_path) == [f"{2:020}.log"]
        assert list(log.read(27)) == [commit("b", 1)]
    with opened(tmp_path) as log:
        assert append(log, commit("c", 1)) == [ErrorCode.NONE]
        assert list(log.read(27)) == [commit("b", 1), commit("c", 1)]


def test_unreadable_batch_is_reported_with_file_and_position_and_not_compacted(
    tmp_path: Path,
) -> None:
    folder = tmp_path / PARTITION
    folder.mkdir()
    good = to_bytes(commit("a", 1), FORMATS["2.7"], 5)
    bad = to_bytes(commit("b", 2), FORMATS["2.7"], 5)
    set_base_offset(bad, 1)
    bad[61] = 0x7F  # the length of its record
    bad[17:21] = calc_crc32c(bytes(bad[21:])).to_bytes(4, "big")
    path = folder / f"{0:020}.log"
    path.write_bytes(good + bad)
    message = f"{path} is corrupt at byte {len(good)}: a batch that cannot be read"
    with opened(tmp_path, segment_bytes=1) as log:
        with pytest.raises(LogCorruptError, match=message):
            list(log.read(27))
        append(log, commit("c", 3))
        with pytest.raises(LogCorruptError, match=message):
            log.compact()
        assert files(tmp_path) == [f"{base:020}.log" for base in (0, 2)]


def test_both_versions_of_an_offset_key_are_one_key_in_compaction(tmp_path: Path) -> None:
    folder = tmp_path / PARTITION
    folder.mkdir()
    old = RawRecord(0, 5, b"\0\0\0\1g\0\1t\0\0\0\0", b"\0\0" + bytes(18))
    tombstone = RawRecord(1, 5, b"\0\1\0\1g\0\1t\0\0\0\0", None)
    (folder / f"{0:020}.log").write_bytes(build(RawBatch((old, tombstone))))
    with opened(tmp_path, segment_bytes=1) as log:
        append(log, commit("a", 1))
        log.compact()
        assert list(log.read(27)) == [commit("a", 1)]


def test_read_in_progress_survives_a_compaction(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=100) as log:
        batches = [commit("a", i) for i in range(20)]
        for batch in batches:
            append(log, batch)
        reading = log.read(27)
        first = next(reading)
        log.compact()
        assert [first, *reading] == batches


def test_appends_complete_in_their_order_while_another_thread_flushes(tmp_path: Path) -> None:
    done: list[int] = []
    with opened(tmp_path) as log, ThreadPoolExecutor(1) as thread:
        flushing = thread.submit(log.flush)
        for i in range(3_000):
            log.append(27, commit("a", i), lambda _, i=i: done.append(i))  # type: ignore[misc]
            if flushing.done():
                log.complete()
                flushing = thread.submit(log.flush)
        while log.pending:
            flushing.result()
            log.complete()
            flushing = thread.submit(log.flush)
        flushing.result()
        assert done == list(range(3_000))
        assert list(log.read(27)) == [commit("a", i) for i in range(3_000)]


def test_offsets_too_far_apart_for_a_batch_or_a_segment_are_not_merged(tmp_path: Path) -> None:
    folder = tmp_path / PARTITION
    folder.mkdir()
    far = 1 << 31
    for i, base in enumerate((0, far - 1, far, 3 * far)):
        data = to_bytes(commit("abcd"[i], i), FORMATS["2.7"], 5)
        set_base_offset(data, base)
        (folder / f"{base:020}.log").write_bytes(data)
    with opened(tmp_path) as log:
        append(log, commit("e", 4))
        log.compact()
        assert files(tmp_path) == [f"{base:020}.log" for base in (0, far, 3 * far)]
        assert load(log.read(27)) == load(commit("abcde"[i], i) for i in range(5))
    with opened(tmp_path) as log:
        assert load(log.read(27)) == load(commit("abcde"[i], i) for i in range(5))


def test_appends_go_on_while_another_thread_compacts(tmp_path: Path) -> None:
    with (
        opened(tmp_path, segment_bytes=500, disk=HastyDisk()) as log,
        ThreadPoolExecutor() as threads,
    ):
        compactions = []
        for i in range(400):
            append(log, commit("abc"[i % 3], i))
            if i % 20 == 0:
                compactions.append(threads.submit(log.compact))
        for compaction in compactions:
            compaction.result()
        assert load(log.read(27)) == load(commit("abc"[i % 3], i) for i in range(400))
