"""What processes take, by Linux's /proc: memory, and seconds of processor."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

TICKS: Final = os.sysconf("SC_CLK_TCK")  # in a second


class Took(NamedTuple):
    """What a command took: seconds, memory at its peak, and seconds of processor."""

    seconds: float
    mb: int = 0
    processor_s: float = 0


def measured(command: list[str]) -> tuple[str, int, Took]:
    """What a command prints, its exit status, and what it took."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = Peak(process.pid)
    output, _ = process.communicate()
    seconds = time.monotonic() - began
    return output, process.returncode, Took(seconds, *peak.stop())


class Peak:
    """The most resident memory that a process and all below it had, in MB, seen twice a second.

    And the seconds of processor that they took, which do not count what others had of the machine.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._over = threading.Event()
        self.mb = 0
        self._ticks: dict[int, int] = {}
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.5):
            there = family(self._process)
            self.mb = max(self.mb, sum(map(resident_mb, there)))
            self._ticks |= {each: had for each in there if (had := ticks(each))}

    def stop(self) -> tuple[int, float]:
        """The peak, and the seconds of processor; they are looked for no more."""
        self._over.set()
        self._thread.join()
        return self.mb, sum(self._ticks.values()) / TICKS


def family(process: int) -> list[int]:
    """A process and all that it has started, and these have started."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [process]
    for each in found:
        found += parents.get(each, [])
    return found


def ticks(process: int) -> int:
    """What a process alone has had of the processors."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return int(user) + int(system)


def resident_mb(process: int) -> int:
    """The resident memory of a process alone, in MB."""
    try:
        status = Path(f"/proc/{process}/statm").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.split()[1]) * 4096 // 2**20
