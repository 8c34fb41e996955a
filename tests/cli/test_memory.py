"""What needs more memory than it may have is given up with one line, and nothing is left of it."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from groupcheck import memory
from groupcheck.cli import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to it")


def _nothing(_what: str, _total: int | None) -> memory.Told:
    return lambda _count: None


def _own() -> int:
    fields = Path("/proc/self/statm").read_text(encoding="utf-8").split()
    return int(fields[5]) * resource.getpagesize()


def test_a_space_that_needs_more_memory_than_it_may_have_is_given_up_in_one_line() -> None:
    command = ["explore", "--instance", "membership", "--members", "3", "--max-memory", "60m"]
    run = subprocess.run(
        [sys.executable, "-m", "groupcheck", *command], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stdout == ""
    said = re.fullmatch(
        r"groupcheck: 60 MiB of memory ran out exploring membership, at ([\d,]+) states; "
        r"--max-memory allows more, and --engine spark keeps no states in memory\n",
        run.stderr,
    )
    assert said is not None, run.stderr
    assert 0 < int(said[1].replace(",", "")) < 1_978


def test_a_process_may_have_as_much_as_before_once_it_is_over() -> None:
    before, course = resource.getrlimit(resource.RLIMIT_DATA), memory.Course(_nothing)
    course("exploring all", None)(7)
    with (
        pytest.raises(memory.OutOfMemoryError, match="ran out exploring all, at 7 states"),
        memory.held_to(_own() + 2**26, course),
    ):
        bytearray(2**30)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    with memory.held_to(_own() + 2**30, course):
        bytearray(2**26)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_what_takes_all_there_is_in_small_pieces_is_given_up_while_some_is_left() -> None:
    most, left = _own() + 2**27, []

    def fill() -> None:
        kept: list[bytearray] = []
        try:
            while True:
                kept.append(bytearray(1_000))
        finally:
            left.append(most - _own())

    with pytest.raises(memory.OutOfMemoryError), memory.held_to(most, memory.Course(_nothing)):
        fill()
    assert memory.LEAST_SPARE / 2 < left[0] < max(most // memory.SPARE, memory.LEAST_SPARE) + 2**23


def test_a_phase_that_tells_no_states_is_about_those_of_the_one_before() -> None:
    course = memory.Course(_nothing)
    tell = course("exploring one", None)
    tell(2)
    tell(3)
    course("asking the laws of one", None)
    assert (course.doing, course.states) == ("asking the laws of one", 5)
    course("exploring another", None)(1)
    assert course.states == 1


def test_a_container_leaves_what_it_may_have_and_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, unlimited = (tmp_path / "max", tmp_path / "now"), (tmp_path / "no", tmp_path / "now")
    there[0].write_text(f"{2**20 + 10 * 2**12}\n")
    there[1].write_text(f"{2**20}\n")
    unlimited[0].write_text("max\n")
    missing = (tmp_path / "missing", tmp_path / "now")
    monkeypatch.setattr(memory, "CGROUPS", (there, unlimited, missing))
    given = memory.usual()
    assert given is not None
    assert abs(given - _own() - 8 * 2**12) < 2**24
    monkeypatch.setattr(memory, "CGROUPS", (unlimited, missing))
    given = memory.usual()
    assert given is not None
    assert given - _own() > 2**26


@pytest.mark.parametrize("size", ["0", "4", "4x", "-1g", "1.5g", "0m"])
def test_a_size_that_is_none_is_one_line(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", f"--max-memory={size}"]) == 2
    assert f"{size!r} is not a size such as 512m or 4g" in capsys.readouterr().err
