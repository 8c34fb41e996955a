"""Periodic tasks: offsets expire, and the log is compacted. Messages for the operator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.errors import LogError
from groupcheck.implementation.server.groups import Groups

COMPACT_EVERY_S: Final = 60.0
QUIET_S: Final = 10.0
LONGEST: Final = 300


class Notes:
    """Writes lines for the operator, with a limit on repetition.

    They never contain bytes from a client.

    Args:
        say: writes a line.
        clock: the time in seconds.

    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say = say
        self._clock = clock
        self._quiet_until: dict[str, float] = {}
        self._omitted: dict[str, int] = {}

    def note(self, kind: str, what: str = "") -> None:
        """Write a line; count it instead if there was one of its kind in the last `QUIET_S`."""
        now = self._clock()
        if now < self._quiet_until.get(kind, 0):
            self._omitted[kind] = self._omitted.get(kind, 0) + 1
            return
        self._quiet_until[kind] = now + QUIET_S
        more = self._omitted.pop(kind, 0)
        line = f"{kind}: {what}" if what else kind
        self._say(line[:LONGEST] + (f" (and {more} times since the last line)" if more else ""))


class Maintenance:
    """Two tasks on a running loop, until it is closed.

    Args:
        groups: the groups whose offsets expire.
        disk: the log, if it is in a directory.
        interval_ms: the interval of the expiry (`offsets.retention.check.interval.ms`).
        notes: reports the failures.

    """

    def __init__(
        self, groups: Groups, disk: DirectoryLog | None, interval_ms: int, notes: Notes
    ) -> None:
        self._groups = groups
        self._notes = notes
        self._tasks = [asyncio.create_task(self._expire(max(interval_ms, 1) / 1000))]
        if disk is not None:
            self._tasks.append(asyncio.create_task(self._compact(disk)))

    async def close(self) -> None:
        """Stop, when a compaction in progress has finished."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _expire(self, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            self._groups.cleanup()

    async def _compact(self, disk: DirectoryLog) -> None:
        while True:
            await asyncio.sleep(COMPACT_EVERY_S)
            compacted = asyncio.get_running_loop().run_in_executor(None, disk.compact)
            try:
                await asyncio.shield(compacted)
            except LogError as error:
                self._notes.note("the log was not compacted", str(error))
            except asyncio.CancelledError:
                await asyncio.wait([compacted])
                raise
