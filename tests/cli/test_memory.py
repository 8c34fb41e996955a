"""--max-memory: a command that needs more memory ends with one line, and the limit is removed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from groupcheck.cli import memory_limit as memory
from support.memory_limits import (
    errors_at_the_end,
    in_another_process,
    in_use,
    many_small_allocations,
    nothing,
    one_large_allocation,
)
from support.progress import without_progress

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process")


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
    message, size, limits = in_another_process(one_large_allocation)
    assert re.fullmatch(r"\d+ MiB of memory ran out exploring all, at 7 states", message)
    assert size == 2**26
    assert len(set(limits)) == 1


def test_small_allocations_end_before_the_memory_is_exhausted() -> None:
    most, left = in_another_process(many_small_allocations)
    reserve = max(most // memory.RESERVE, memory.LEAST_RESERVE)
    assert memory.LEAST_RESERVE / 2 < left < reserve + 2**23


def test_an_error_at_the_moment_when_the_command_ends_leaves_no_limit_and_no_timer() -> None:
    errors, limits = in_another_process(errors_at_the_end)
    assert errors > 0
    assert len(limits) == 401
    assert len(set(limits)) == 1
    assert limits[0].timer == (0, 0)


def test_a_phase_without_a_count_keeps_the_states_of_the_phase_before() -> None:
    progress = memory.Progress(nothing)
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
    assert abs(given - in_use() - 8 * 2**12) < 2**24
    monkeypatch.setattr(memory, "CGROUPS", (unlimited, missing))
    given = memory.default_limit()
    assert given is not None
    assert given - in_use() > 2**26
