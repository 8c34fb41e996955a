"""How fast the log is and how much it takes, in one run: `python tests/bench/log.py [--records N]`.

The log is made in the current directory, whose disk decides what an fsync costs.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.log.records import (
    Batch,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
)
from groupcheck.model.vocabulary import ErrorCode

PARTITION = 27
SINGLY = 300
TOGETHER = 50_000
# As many appends as would come while an fsync is under way, from that many clients.
CLIENTS = 64


def commits(count: int, keys: int) -> Iterable[Batch]:
    """Commits of one offset each, over so many keys."""
    for i in range(count):
        group, topic_partition = divmod(i % keys, 10)
        key = OffsetCommitKey(f"group-{group:08}", "a-topic", topic_partition)
        value = OffsetCommitValue(i, -1, "", 1_700_000_000_000 + i)
        yield Batch((OffsetCommitRecord(key, value),))


def stored(error: ErrorCode) -> None:
    """An append must not fail here."""
    if error is not ErrorCode.NONE:
        sys.exit(f"an append failed: {error!r}")


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def both(work: Callable[[], object]) -> str:
    """How long some work takes, and how much of it is this process's own."""
    started = time.process_time()
    took = seconds(work)
    return f"{took:.1f} s, {time.process_time() - started:.1f} s of CPU"


def say(what: str, figure: str) -> None:
    """Print one figure."""
    print(f"{what:58} {figure:>28}")  # noqa: T201 - it is what this is for


def append(log: DirectoryLog, batches: Iterable[Batch], a_flush: int) -> int:
    """Append so many batches a flush, and count them."""
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
    """Appends a second, by how many share an fsync; the last without waiting for the disk."""
    for a_flush, count in ((1, SINGLY), (CLIENTS, TOGETHER), (TOGETHER, TOGETHER)):
        log = DirectoryLog(path / f"appends-{a_flush}")
        took = seconds(lambda: append(log, commits(count, 1_000), a_flush))  # noqa: B023 - called at once
        say(f"appends, {a_flush:,} a flush", f"{count / took:,.0f} appends/s")
        log.close()
    memory = MemoryLog()
    batches = list(commits(TOGETHER, 1_000))

    def to_memory() -> None:
        for batch in batches:
            memory.append(PARTITION, batch, stored)

    say("appends in memory", f"{TOGETHER / seconds(to_memory):,.0f} appends/s")


def size(path: Path) -> int:
    """How many bytes a log takes."""
    return sum(file.stat().st_size for file in path.rglob("*.log"))


def loading(path: Path, records: int) -> None:
    """Opening, reading and compacting a log of so many records."""
    log = DirectoryLog(path)
    append(log, commits(records, records), 10_000)
    log.close()
    say(f"{records:,} records, a batch each", f"{size(path) / records:,.0f} bytes a record")
    opened: list[DirectoryLog] = []
    say("  open (every checksum)", both(lambda: opened.append(DirectoryLog(path))))
    (log,) = opened
    say("  load", both(lambda: drain(log)))
    say("  compact", both(lambda: log.compact()))  # noqa: PLW0108 - what it returns is nothing
    say("  the same, compacted", f"{size(path) / records:,.0f} bytes a record")
    say("  load, compacted", both(lambda: drain(log)))
    log.close()


def drain(log: DirectoryLog) -> None:
    """Read every batch, as a coordinator does: none is kept."""
    for _ in log.read(PARTITION):
        pass


def main() -> None:
    """Print the machine and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    arguments = parser.parse_args()
    say("machine", f"{os.cpu_count()} cores, {platform.machine()}")
    say("load average", " ".join(f"{load:.1f}" for load in os.getloadavg()))
    say("Python", platform.python_version())
    with tempfile.TemporaryDirectory(dir=".") as name:
        appends(Path(name))
        loading(Path(name) / "loading", arguments.records)


if __name__ == "__main__":
    main()
