"""How fast histories are judged: `python tests/bench/history.py`, some 40 s.

Each history is of the built-in coordinator in virtual time, its requests overlapping; and the same
with one wrong answer, near its end, so that all that overlaps before has to be gone through.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from groupcheck.properties.histories.history_file import load
from groupcheck.properties.histories.many_groups import Judged, judge
from groupcheck.properties.windows import USUAL
from support.overlapping import Line, Overlapping, spoiled, write

SIZES = ((1_000, 5, 10), (1_000, 5, 30), (1_000, 5, 3_000), (5_000, 5, 30))  # ms between requests
MOST_POINTS = 10**7


def overlaps(lines: list[Line]) -> float:
    """How many other requests a request overlaps, on an average."""
    starts = {line["id"]: line["startMs"] for line in lines if line["type"] == "request"}
    ends = {line["id"]: line["endMs"] for line in lines if line["type"] == "response"}
    moments = sorted([(ms, 0) for ms in starts.values()] + [(ms, 1) for ms in ends.values()])
    open_now = pairs = 0
    for _, is_end in moments:
        if is_end:
            open_now -= 1
        else:
            pairs += open_now
            open_now += 1
    return 2 * pairs / len(starts)


def timed(lines: list[Line], path: Path) -> tuple[Judged, float]:
    """What comes of a history, and the seconds it took, reading it included."""
    write(lines, path)
    started = time.perf_counter()
    judged = judge(load(path), USUAL, MOST_POINTS)
    return judged, time.perf_counter() - started


def main() -> None:
    """Measure, and print a table."""
    gc.set_threshold(50_000)  # as the command has it
    say = sys.stdout.write
    say("| operations | clients | each overlaps | accepted | points | rejected | points |\n")
    say("| --- | --- | --- | --- | --- | --- | --- |\n")
    with TemporaryDirectory() as directory:
        path = Path(directory) / "history"
        for operations, clients, think_ms in SIZES:
            lines = Overlapping(clients=clients, think_ms=think_ms).run(operations)
            good, good_s = timed(lines, path)
            answered = [line["id"] for line in lines if line["type"] == "response"]
            bad, bad_s = timed(spoiled(lines, answered[-20]), path)
            if good.rejected or not bad.rejected:
                sys.exit("it was judged wrongly")
            say(
                f"| {operations:,} | {clients} | {overlaps(lines):.1f} | {good_s:.2f} s"
                f" | {good.points:,} | {bad_s:.2f} s | {bad.points:,} |\n"
            )


if __name__ == "__main__":
    main()
