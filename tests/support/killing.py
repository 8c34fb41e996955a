"""Kills a program that appends to a log, repeatedly, and looks for lost records."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.records import GroupMetadataKey, GroupMetadataValue
from support.log_loading import Key, Loaded, Value, load
from support.log_writer import PARTITIONS

WRITER: Final = Path(__file__).with_name("log_writer.py")


class Kill(NamedTuple):
    """What was acknowledged to one killed writer, and what was found afterwards."""

    acknowledged: int
    lost: tuple[str, ...]
    batches: int
    size: int


def kills(path: Path, times: int, seed: int, longest_s: float) -> Iterator[Kill]:
    """Let a writer run for a random while and kill it, each time on the same directory.

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
    """The lines that a writer printed in so many seconds after it had opened the log."""
    command = [sys.executable, str(WRITER), str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "opened\n"
        # The pipe holds what it prints in so short a time, or it waits until it is killed.
        time.sleep(seconds)
        writer.kill()
        *lines, _cut_off = writer.stdout.read().split("\n")
    return lines


def look(path: Path, acknowledged: int, known: dict[str, int]) -> Kill:
    """Open the log and compare it with what is known to be in it."""
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
    """What each key has, named as the writer names it."""
    for key, value in loaded.stored.items():
        yield named(key), number(value)


def named(key: Key) -> str:
    """A key as the writer prints it."""
    kind = "group" if isinstance(key, GroupMetadataKey) else "offset"
    return kind + key.group.removeprefix("g")


def number(value: Value) -> int:
    """A value as the writer prints it."""
    return value.generation if isinstance(value, GroupMetadataValue) else value.offset
