"""Creates the coordinator that is served, and its log."""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.profiles import PROFILES, Behaviour
from groupcheck.implementation.log.codec import FORMATS
from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.log import Completed, Log
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode


class Embedded(NamedTuple):
    """A coordinator, and the APIs that it handles.

    `disk` is its log if that is in a directory: the embedder has to flush it.
    """

    coordinator: Coordinator
    apis: Collection[str]
    watched: WatchedLog
    disk: DirectoryLog | None = None


class WatchedLog:
    """A log that remembers whether an append has failed."""

    __slots__ = ("_log", "has_failed")

    def __init__(self, log: Log) -> None:
        self._log = log
        self.has_failed = False

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Append a batch."""

        def watched(error: ErrorCode) -> None:
            self.has_failed = self.has_failed or error is not ErrorCode.NONE
            completed(error)

        self._log.append(partition, batch, watched)

    def read(self, partition: int) -> Iterable[Batch]:
        """All batches of a partition."""
        return self._log.read(partition)


def embed(config: Config, profile: str, data_dir: Path | None = None) -> Embedded:
    """Create a coordinator and load its log, which is in memory unless a directory is given.

    Raises:
        LogError: the directory cannot be used, or its content cannot be read.
    """
    behaviour = PROFILES[profile]
    disk = None if data_dir is None else _disk(data_dir, behaviour)
    watched = WatchedLog(MemoryLog() if disk is None else disk)
    gc.disable()  # loaded objects stay: scanning them for garbage doubles the time
    try:
        now_ms = time.time_ns() // 1_000_000
        coordinator = Coordinator(config, profile=behaviour, log=watched, start_ms=now_ms)
    except BaseException:
        if disk is not None:
            disk.close()
        raise
    finally:
        gc.enable()
    return Embedded(coordinator, coordinator.apis, watched, disk)


def _disk(data_dir: Path, behaviour: Behaviour) -> DirectoryLog:
    written = FORMATS[behaviour.name]
    return DirectoryLog(data_dir, written=written, refuses_at_once=behaviour.defers_responses)
