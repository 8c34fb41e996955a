"""--max-memory: a command that needs more memory ends with one line, and the limit is removed."""

from __future__ import annotations

import contextlib
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupcheck.cli import memory_limit as memory
from support.progress import without_progress

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process")


def _nothing(_what: str, _total: int | None) -> memory.Counter:
    return lambda _count: None


def _own() -> int:
    fields = Path("/proc/self/statm").read_text(encoding="utf-8").split()
    return int(fields[5]) * resource.getpagesize()


@pytest.mark.slow
def test_an_exploration_that_needs_more_memory_ends_with_one_line() -> None:
    command = ["explore", "--instance", "membership", "--members", "3", "--max-memory", "60m"]
    run = subprocess.run(
        [sys.executable, "-m", "groupcheck", *command], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stdout == ""
    said = re.fullmatch(
        r"groupcheck: 60 MiB of memory ran out exploring membership, at ([\d,]+) states; "
        r"--max-memory allows more, and --engine spark keeps no states in memory\n",
        without_progress(run.stderr),
    )
    assert said is not None, run.stderr
    assert 0 < int(said[1].replace(",", "")) < 1_978


def test_the_limit_of_before_is_restored() -> None:
    before, progress = resource.getrlimit(resource.RLIMIT_DATA), memory.Progress(_nothing)
    progress("exploring all", None)(7)
    with pytest.raises(memory.OutOfMemoryError, match="ran out exploring all, at 7 states"):
        memory.limited(lambda: bytearray(2**30), _own() + 2**26, progress)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert len(memory.limited(lambda: bytearray(2**26), _own() + 2**30, progress)) == 2**26
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_small_allocations_end_before_the_memory_is_exhausted() -> None:
    most = _own() + 2**27
    left: list[int] = []

    def fill() -> None:
        kept: list[bytearray] = []
        try:
            while True:
                kept.append(bytearray(1_000))
        finally:
            while not left:  # on a slow machine, the error is raised again before this ends
                with contextlib.suppress(MemoryError):
                    left.append(most - _own())

    with pytest.raises(memory.OutOfMemoryError):
        memory.limited(fill, most, memory.Progress(_nothing))
    assert (
        memory.LEAST_RESERVE / 2
        < left[0]
        < max(most // memory.RESERVE, memory.LEAST_RESERVE) + 2**23
    )


def test_an_error_at_the_moment_when_the_command_ends_leaves_no_limit_and_no_timer() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA), signal.getsignal(signal.SIGALRM)
    for microseconds in range(600, 1_400, 2):  # the first check is after SHORTEST_INTERVAL_S
        end = time.perf_counter() + microseconds * 1e-6

        def run(end: float = end) -> None:
            while time.perf_counter() < end:
                pass

        # No error if the command is the first to end.
        with contextlib.suppress(memory.OutOfMemoryError):
            memory.limited(run, memory.LEAST_RESERVE + _own() // 2, memory.Progress(_nothing))
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert (resource.getrlimit(resource.RLIMIT_DATA), signal.getsignal(signal.SIGALRM)) == before


def test_a_phase_without_a_count_keeps_the_states_of_the_phase_before() -> None:
    progress = memory.Progress(_nothing)
    count = progress("exploring one", None)
    count(2)
    count(3)
    progress("checking the properties of one", None)
    assert (progress.phase, progress.states) == ("checking the properties of one", 5)
    progress("exploring another", None)(1)
    assert progress.states == 1


def test_the_free_memory_of_a_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, unlimited = (tmp_path / "max", tmp_path / "now"), (tmp_path / "no", tmp_path / "now")
    there[0].write_text(f"{2**20 + 10 * 2**12}\n")
    there[1].write_text(f"{2**20}\n")
    unlimited[0].write_text("max\n")
    missing = (tmp_path / "missing", tmp_path / "now")
    monkeypatch.setattr(memory, "CGROUPS", (there, unlimited, missing))
    given = memory.default_limit()
    assert given is not None
    assert abs(given - _own() - 8 * 2**12) < 2**24
    monkeypatch.setattr(memory, "CGROUPS", (unlimited, missing))
    given = memory.default_limit()
    assert given is not None
    assert given - _own() > 2**26
