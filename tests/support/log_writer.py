"""A program that appends to a log until it is killed: `log_writer.py DIRECTORY SEED`.

Before it appends it reads the log and prints how much of it there is; then a line `<key> <value>`
for each append that was acknowledged. Values of a key only grow, and so do generations of a group.
Some offsets are committed in transactions, which are acknowledged with their markers. Another
thread compacts all the while.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Thread
from typing import Final

from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.records import (
    Batch,
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    Marker,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
    Record,
)
from groupcheck.model.vocabulary import ErrorCode

KEYS: Final = 20
PARTITIONS: Final = 2
SEGMENT_BYTES: Final = 20_000
APPENDS_A_FLUSH: Final = 8


def offset(key: int, value: int) -> Record:
    """A commit."""
    return OffsetCommitRecord(OffsetCommitKey(f"g{key}", "t", 0), OffsetCommitValue(value))


def generation(key: int, value: int) -> Record:
    """A Stable generation."""
    return GroupMetadataRecord(GroupMetadataKey(f"g{key}"), GroupMetadataValue("consumer", value))


def acknowledge(kind: str, key: int, value: int) -> Callable[[ErrorCode], None]:
    """What prints that an append was acknowledged."""

    def completed(error: ErrorCode) -> None:
        if error is not ErrorCode.NONE:
            sys.exit(f"{kind}{key} failed: {error!r}")
        sys.stdout.write(f"{kind}{key} {value}\n")

    return completed


def ignore(_: ErrorCode) -> None:
    """Print nothing: what counts is the marker."""


def append(log: DirectoryLog, random: Random, value: int) -> None:
    """Append something."""
    key = random.randrange(KEYS)
    partition = key % PARTITIONS
    if key < 5:
        # In its own partition and transaction, begun and ended at once or apart.
        log.append(partition, Batch((offset(key, value),), key, 0), ignore)
        if random.random() < 0.2:
            log.flush()
        end = Batch((), key, 0, Marker.COMMIT)
        log.append(partition, end, acknowledge("offset", key, value))
    elif key < 10:
        record = generation(key, value)
        log.append(partition, Batch((record,)), acknowledge("group", key, value))
    else:
        record = offset(key, value)
        log.append(partition, Batch((record,)), acknowledge("offset", key, value))


def main() -> None:
    """Append until killed."""
    log = DirectoryLog(Path(sys.argv[1]), segment_bytes=SEGMENT_BYTES)
    random = Random(int(sys.argv[2]))

    def compact() -> None:
        while True:
            log.compact()
            time.sleep(0.005)

    Thread(target=compact, daemon=True).start()
    value = int(sys.argv[2]) * 1_000_000
    sys.stdout.write("opened\n")
    sys.stdout.flush()
    while True:
        for _ in range(random.randint(1, APPENDS_A_FLUSH)):
            value += 1
            append(log, random, value)
        log.flush()
        log.complete()
        sys.stdout.flush()


if __name__ == "__main__":
    main()
