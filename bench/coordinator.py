"""Speed and size of the coordinator and its log: `python bench/coordinator.py [--log]`.

The coordinator runs in this process on one core, with its log discarded or in memory. Times are CPU
times, the best of three, because other work on the machine only slows it down. Sizes are those of
tracemalloc.

`--log` measures the log in a directory instead: appends, bytes per record, opening, loading and
compaction. The log is in the current directory, whose disk decides what an fsync costs.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

from groupcheck.implementation import Config, Coordinator
from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.log.records import (
    Batch,
    Completed,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
)
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Protocol,
    Request,
    SyncGroupRequest,
)

OFFER = b"\0\1\0\0\0\1\0\5topic\377\377\377\377\0\0\0\0"  # as a consumer's, of one topic
OFFERED = b"range"
GROUP_SIZE = 100
HEARTBEATS = 300_000
COMMITS = 100_000
BEST_OF = 3
PARTITION = 27
SINGLY = 300
TOGETHER = 50_000
# Appends that arrive during one fsync: one from each of this number of clients.
CLIENTS = 64


class NoLog:
    """A log that discards all records."""

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Complete the append without an error."""
        del partition, batch
        completed(ErrorCode.NONE)

    def read(self, partition: int) -> Iterable[Batch]:
        """Nothing."""
        del partition
        return ()


def print_row(what: str, number: float, unit: str, note: str = "") -> None:
    """Print one row."""
    print(f"{what:44} {number:>13,.0f} {unit:12} {note}", flush=True)  # noqa: T201


def best(work: Callable[[], object], times: int = BEST_OF) -> float:
    """The shortest CPU time of several runs, in seconds."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def sized(work: Callable[[], object]) -> float:
    """The size in bytes of the result of some work."""
    gc.collect()
    tracemalloc.start()
    kept = work()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return size


def coordinator() -> Coordinator:
    """A coordinator whose member ids are as long as Kafka's: a client id, a dash and a UUID."""
    numbers = count()
    return Coordinator(log=NoLog(), new_member_id=lambda prefix: f"{prefix}-{next(numbers):036}")


def filled(members: int, size: int = GROUP_SIZE) -> tuple[Coordinator, list[HeartbeatRequest]]:
    """Stable groups with this total of members, and a heartbeat of each member."""
    made = coordinator()
    names = [f"group-{number}" for number in range(max(members // size, 1))]
    for number in range(members):
        made.receive(Request(number, 3, _join(names[number % len(names)]), *_client(number)))
    responses = {r.request_id: r.body for ms in (3_000, 3_000) for r in made.advance(ms)}
    beats = []
    for number, answer in responses.items():
        name, member_id = names[number % len(names)], answer.member_id  # type: ignore[union-attr]
        body = SyncGroupRequest(name, 1, member_id)
        if answer.members:  # type: ignore[union-attr]
            assigned = (Assignment(m[0], _bytes()) for m in answer.members)  # type: ignore[union-attr]
            body = body._replace(assignments=tuple(assigned))
        made.receive(Request(number, 0, body))
        beats.append(HeartbeatRequest(name, 1, member_id))
    return made, beats


def _join(group_id: str) -> JoinGroupRequest:
    # A server decodes each request separately, so requests share no objects.
    protocols = (Protocol(OFFERED.decode(), _bytes()),)
    return JoinGroupRequest(group_id, 45_000, 300_000, protocols=protocols)


def _client(number: int) -> tuple[str, str]:
    return f"client-{number}", f"/10.0.{number % 7}.{number % 256}"


def _bytes() -> bytes:
    return bytes(bytearray(OFFER))


def members() -> None:
    """Bytes per member of a stable group, with the member id that the benchmark keeps."""
    for number in (1_000, 100_000):
        size = sized(lambda number=number: filled(number)[0])  # type: ignore[misc]
        print_row(f"bytes per member, {number:,} of them", size / number, "bytes")


def of_members() -> None:
    """Heartbeats and commits per second, of few and of many members in turn."""
    first: dict[str, float] = {}
    for members in (1_000, 100_000, 1_000_000):
        made, beats = filled(members)
        del beats[HEARTBEATS:]
        commits = [
            _commit(beat.group_id, (0,))._replace(generation_id=1, member_id=beat.member_id)
            for beat in beats[:COMMITS]
        ]
        beating = [Request(0, 4, beat) for beat in beats]
        committing = [Request(0, 7, commit) for commit in commits]
        for what, requests, number in (
            ("heartbeats", beating, HEARTBEATS),
            ("commits", committing, COMMITS),
        ):
            rounds = max(number // len(requests), 1)

            def work(
                made: Coordinator = made, requests: list[Request] = requests, rounds: int = rounds
            ) -> None:
                receive = made.receive
                for _ in range(rounds):
                    made.advance(1_000)
                    for request in requests:
                        receive(request)

            gc.freeze()
            rate = rounds * len(requests) / best(work)
            times = rate / first.setdefault(what, rate)
            print_row(f"{what}, {members:,} members", rate, "a second", f"{times:.2f} times")
            gc.unfreeze()
        del made, beats, commits, beating, committing, requests


def rebalance() -> None:
    """Time to join and sync one group of 1,000 members."""
    print_row("join and sync of a group of 1,000", 1_000 * best(lambda: filled(1_000, 1_000)), "ms")


def commits() -> None:
    """Commits per second, and bytes per offset."""
    made = coordinator()
    requests = [
        Request(number, 7, _commit(f"group-{number % 1_000}", (number // 1_000,)))
        for number in range(100_000)
    ]

    def work() -> None:
        for request in requests:
            made.receive(request)

    size = sized(work)
    print_row("bytes per offset, committed one by one", size / len(requests), "bytes")
    print_row("commits of one partition", len(requests) / best(work), "a second")
    batches = [Request(0, 7, _commit(f"many-{n}", range(100))) for n in range(1_000)]

    def together() -> None:
        for request in batches:
            made.receive(request)

    size = sized(together)
    print_row("bytes per offset, committed by the hundred", size / 100_000, "bytes")
    print_row("offsets committed by the hundred", 100_000 / best(together), "a second")


def _commit(group_id: str, partitions: Iterable[int]) -> OffsetCommitRequest:
    offsets = (OffsetCommitRequestPartition(index, 1_000_000 + index) for index in partitions)
    topics = (OffsetCommitRequestTopic("topic", tuple(offsets)),)
    return OffsetCommitRequest(group_id, topics=topics)


def load() -> None:
    """Time to load a log of 1,000,000 records."""
    log = MemoryLog()
    for number in range(1_000_000):
        key = OffsetCommitKey(f"group-{number % 1_000}", "topic", number // 1_000 % 500)
        record = OffsetCommitRecord(key, OffsetCommitValue(number, commit_timestamp_ms=number))
        log.append(0, Batch((record,)), lambda _error: None)
    gc.freeze()
    config = Config(offsets_topic_num_partitions=1)
    print_row("load of 1,000,000 records", 1_000 * best(lambda: Coordinator(config, log=log)), "ms")


def batches_of_commits(count: int, keys: int) -> Iterable[Batch]:
    """Commits of one offset each, to a number of keys in turn."""
    for i in range(count):
        group, topic_partition = divmod(i % keys, 10)
        key = OffsetCommitKey(f"group-{group:08}", "a-topic", topic_partition)
        value = OffsetCommitValue(i, -1, "", 1_700_000_000_000 + i)
        yield Batch((OffsetCommitRecord(key, value),))


def stored(error: ErrorCode) -> None:
    """End the benchmark if an append fails."""
    if error is not ErrorCode.NONE:
        sys.exit(f"an append failed: {error!r}")


def seconds(work: Callable[[], object]) -> float:
    """The duration of some work."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def both(work: Callable[[], object]) -> str:
    """The duration and the CPU time of some work."""
    started = time.process_time()
    took = seconds(work)
    return f"{took:.1f} s, {time.process_time() - started:.1f} s of CPU"


def print_text(what: str, text: str) -> None:
    """Print one row."""
    print(f"{what:44} {text:>30}", flush=True)  # noqa: T201


def append(log: DirectoryLog, batches: Iterable[Batch], a_flush: int) -> int:
    """Append batches, with `a_flush` of them in each flush; returns their number."""
    count = 0
    for count, batch in enumerate(batches, 1):
        log.append(PARTITION, batch, stored)
        if count % a_flush == 0:
            log.flush()
            log.complete()
    log.flush()
    log.complete()
    return count


def appends(path: Path) -> None:
    """Appends per second by the number that share an fsync, then in memory."""
    for a_flush, number in ((1, SINGLY), (CLIENTS, TOGETHER), (TOGETHER, TOGETHER)):
        log = DirectoryLog(path / f"appends-{a_flush}")
        took = seconds(lambda: append(log, batches_of_commits(number, 1_000), a_flush))  # noqa: B023 - called at once
        print_text(f"appends, {a_flush:,} a flush", f"{number / took:,.0f} appends/s")
        log.close()
    memory = MemoryLog()
    batches = list(batches_of_commits(TOGETHER, 1_000))

    def to_memory() -> None:
        for batch in batches:
            memory.append(PARTITION, batch, stored)

    print_text("appends in memory", f"{TOGETHER / seconds(to_memory):,.0f} appends/s")


def size(path: Path) -> int:
    """The size of a log in bytes."""
    return sum(file.stat().st_size for file in path.rglob("*.log"))


def loading(path: Path, records: int) -> None:
    """Time to open, read and compact a log with a number of records."""
    log = DirectoryLog(path)
    append(log, batches_of_commits(records, records), 10_000)
    log.close()
    print_text(f"{records:,} records, a batch each", f"{size(path) / records:,.0f} bytes a record")
    opened: list[DirectoryLog] = []
    print_text("  open (every checksum)", both(lambda: opened.append(DirectoryLog(path))))
    (log,) = opened
    print_text("  load", both(lambda: drain(log)))
    print_text("  compact", both(lambda: log.compact()))  # noqa: PLW0108 - it returns nothing
    print_text("  compacted", f"{size(path) / records:,.0f} bytes a record")
    print_text("  load, compacted", both(lambda: drain(log)))
    log.close()


def drain(log: DirectoryLog) -> None:
    """Read every batch and keep none, as a coordinator does."""
    for _ in log.read(PARTITION):
        pass


def main() -> None:
    """Print the machine and the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--log", action="store_true", help="the log in a directory instead")
    parser.add_argument("--records", type=int, default=1_000_000, help="with --log (1000000)")
    options = parser.parse_args()
    print_text("machine", f"{os.cpu_count()} cores, {platform.machine()}")
    print_text("load average", " ".join(f"{load:.1f}" for load in os.getloadavg()))
    print_text("Python", platform.python_version())
    if options.log:
        with tempfile.TemporaryDirectory(dir=".") as name:
            appends(Path(name))
            loading(Path(name) / "loading", options.records)
        return
    for measure in (rebalance, commits, load, members, of_members):
        measure()


if __name__ == "__main__":
    main()
