"""Kills a program that appends to a log, repeatedly, and looks for lost records.

This module is the program, too: `killed_writer.py DIRECTORY SEED` appends until it is killed. First
it reads the log and prints a line; then it prints a line `<key> <value>` for each acknowledged
append. Values of a key only grow, and so do generations of a group. Some offsets are committed in
transactions, which are acknowledged with their markers. Another thread compacts meanwhile.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Thread
from typing import Final, NamedTuple

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

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what tests share

from support.log_loading import Key, Loaded, Value, load

KEYS: Final = 20
PARTITIONS: Final = 2
SEGMENT_BYTES: Final = 20_000
APPENDS_A_FLUSH: Final = 8


def offset(key: int, value: int) -> Record:
    """The record of a committed offset."""
    return OffsetCommitRecord(OffsetCommitKey(f"g{key}", "t", 0), OffsetCommitValue(value))


def generation(key: int, value: int) -> Record:
    """A Stable generation."""
    return GroupMetadataRecord(GroupMetadataKey(f"g{key}"), GroupMetadataValue("consumer", value))


def acknowledge(kind: str, key: int, value: int) -> Callable[[ErrorCode], None]:
    """A callback that prints that an append was acknowledged."""

    def completed(error: ErrorCode) -> None:
        if error is not ErrorCode.NONE:
            sys.exit(f"{kind}{key} failed: {error!r}")
        sys.stdout.write(f"{kind}{key} {value}\n")

    return completed


def ignore(_: ErrorCode) -> None:
    """Print nothing: the marker is acknowledged instead."""


def append(log: DirectoryLog, random: Random, value: int) -> None:
    """Append a random record."""
    key = random.randrange(KEYS)
    partition = key % PARTITIONS
    if key < 5:
        # Each in its own partition and transaction, which ends at once or later.
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


class Kill(NamedTuple):
    """The appends acknowledged to one killed writer, and the log afterwards."""

    acknowledged: int
    lost: tuple[str, ...]
    batches: int
    size: int


def kills(path: Path, times: int, seed: int, longest_s: float) -> Iterator[Kill]:
    """Run a writer for a random time and kill it, each time on the same directory.

    Raises:
        LogError: The log could not be opened or read afterwards.

    """
    random = Random(seed)
    known: dict[str, int] = {}
    for number in range(times):
        lines = run_and_kill(path, number + 1, random.uniform(0, longest_s))
        for line in lines:
            key, value = line.split()
            known[key] = int(value)
        yield look(path, len(lines), known)


def run_and_kill(path: Path, seed: int, seconds: float) -> list[str]:
    """The lines that a writer printed in some seconds after it had opened the log."""
    command = [sys.executable, __file__, str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "opened\n"
        # The pipe holds what it prints in so short a time, or it waits until it is killed.
        time.sleep(seconds)
        writer.kill()
        *lines, _cut_off = writer.stdout.read().split("\n")
    return lines


def look(path: Path, acknowledged: int, known: dict[str, int]) -> Kill:
    """Open the log and compare it with the acknowledged appends."""
    log = DirectoryLog(path)
    batches = [list(log.read(partition)) for partition in range(PARTITIONS)]
    log.close()
    found: dict[str, int] = {}
    for partition in batches:
        found.update(newest(load(partition)))
    lost = tuple(
        f"{key} is {found.get(key)} and not {value}"
        for key, value in known.items()
        if found.get(key, -1) < value
    )
    size = sum(file.stat().st_size for file in path.rglob("*.log"))
    return Kill(acknowledged, lost, sum(map(len, batches)), size)


def newest(loaded: Loaded) -> Iterator[tuple[str, int]]:
    """The value of each key, named as the writer names it."""
    for key, value in loaded.stored.items():
        yield named(key), number(value)


def named(key: Key) -> str:
    """A key as the writer prints it."""
    kind = "group" if isinstance(key, GroupMetadataKey) else "offset"
    return kind + key.group.removeprefix("g")


def number(value: Value) -> int:
    """A value as the writer prints it."""
    return value.generation if isinstance(value, GroupMetadataValue) else value.offset


if __name__ == "__main__":
    main()
