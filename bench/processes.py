"""Memory and CPU time of processes, from Linux's /proc."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

TICKS: Final = os.sysconf("SC_CLK_TCK")  # per second


class Took(NamedTuple):
    """What a command used: seconds, peak memory, and CPU seconds."""

    seconds: float
    mb: int = 0
    processor_s: float = 0


def measured(command: list[str]) -> tuple[str, int, Took]:
    """Run a command: its output, its exit status, and what it used."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = Peak(process.pid)
    output, _ = process.communicate()
    seconds = time.monotonic() - began
    return output, process.returncode, Took(seconds, *peak.stop())


class Peak:
    """Peak memory in MB of a process and its descendants, every 0.5 s, and their CPU time."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._over = threading.Event()
        self.mb = 0
        self._ticks: dict[int, int] = {}
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def _sample(self) -> None:
        while not self._over.wait(0.5):
            found = family(self._process)
            self.mb = max(self.mb, sum(map(resident_mb, found)))
            self._ticks |= {each: had for each in found if (had := ticks(each))}

    def stop(self) -> tuple[int, float]:
        """End the sampling; returns the peak and the CPU seconds."""
        self._over.set()
        self._thread.join()
        return self.mb, sum(self._ticks.values()) / TICKS


def family(process: int) -> list[int]:
    """A process and its descendants."""
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
    """The CPU time of one process, in ticks."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return int(user) + int(system)


def resident_mb(process: int) -> int:
    """The resident memory of one process, in MB."""
    try:
        status = Path(f"/proc/{process}/statm").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.split()[1]) * 4096 // 2**20
