"""What the generators have shown after so many steps: `python tests/bench/shares.py` (`--help`).

The share of a space's labelled edges that each has shown on the built-in coordinator after 1,000,
10,000 and 100,000 steps: the mean of some seeds, and the least and the most of them. With `--plot`
it is drawn as well, from 100 steps on.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import mean

import matplotlib as mpl
from matplotlib.figure import Figure

from groupcheck.model.exploring.explorer import explore
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import feature_spaces, virtual_spaces
from groupcheck.properties.coverage.edges_shown import Coverage
from groupcheck.properties.generators.choices import CHOICES
from groupcheck.properties.generators.tour import tour
from groupcheck.properties.generators.tracks import Tracks
from groupcheck.properties.generators.walks import Walker
from groupcheck.properties.ports.builtin import BuiltinPort

PROFILE = PROFILES["2.7"]
STEPS = 60  # of one test, as `verify` has it
TABLE = (1_000, 10_000, 100_000)
PER_DECADE = 12  # points of a curve
# Colours and greys that can be told apart and read on white as well as on black.
COLOURS = {"uniform": "#e08a1e", "swarm": "#b0609e", "guided": "#2f8fd8", "tours": "#2aa876"}
GREY = "#808890"

Curve = list[float]  # the share in percent at each mark


def walked(tracks: Tracks, choice: str, seed: int) -> Iterator[tuple[int, int]]:
    """The steps done and the edges shown, after each walk."""
    random = Random(seed)
    walker, done = Walker(tracks, BuiltinPort(seed)), 0
    choose = CHOICES[choice](tracks, random)
    while True:
        if choice == "swarm":
            choose = CHOICES[choice](tracks, random)  # each walk has another one
        done += walker.walk(choose, STEPS)[0]
        yield done, sum(map(bool, walker.times))


def toured(tracks: Tracks, seed: int) -> Iterator[tuple[int, int]]:
    """The same of tours, which end."""
    coverage, done = Coverage(tracks.space, Random(seed)), 0
    for steps, _ in tour(coverage, BuiltinPort(seed), STEPS):
        done += steps
        yield done, len(coverage.shown)
    while True:
        done *= 2
        yield done, len(coverage.shown)


def at_marks(progress: Iterator[tuple[int, int]], edges: int, marks: list[int]) -> Curve:
    """The share shown at each mark, of the tests that were over by then."""
    shares: Curve = []
    before = 0
    for done, shown in progress:
        while len(shares) < len(marks) and done > marks[len(shares)]:
            shares.append(100 * before / edges)
        if len(shares) == len(marks):
            break
        before = shown
    return shares


def marks_up_to(most: int) -> list[int]:
    """Evenly on a logarithmic scale, from 100 on; those of the table are among them."""
    count = 1 + int(PER_DECADE * 5)
    marks = {round(100 * 10 ** (point / PER_DECADE)) for point in range(count)}
    return sorted(mark for mark in marks if mark <= most)


def draw(curves: dict[str, list[Curve]], marks: list[int], space: str, path: Path) -> None:
    """A line for the mean of the seeds, and an area from the least to the most of them."""
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "groupcheck", "font.size": 11})
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for kind, found in curves.items():
        columns = list(zip(*found, strict=True))
        least, most = [min(c) for c in columns], [max(c) for c in columns]
        axes.fill_between(marks, least, most, color=COLOURS[kind], alpha=0.25, linewidth=0)
        axes.plot(marks, [mean(c) for c in columns], color=COLOURS[kind], label=kind, linewidth=2)
    axes.set_xscale("log")
    axes.set_xlim(marks[0], marks[-1])
    axes.set_ylim(0, 102)
    axes.set_xlabel("steps", color=GREY)
    axes.set_ylabel(f"labelled edges of {space} shown, %", color=GREY)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(which="both", colors=GREY)
    axes.grid(visible=True, color=GREY, alpha=0.25, linewidth=0.6)
    for side, spine in axes.spines.items():
        spine.set_visible(side in {"left", "bottom"})
        spine.set_color(GREY)
    axes.legend(frameon=False, labelcolor=GREY, loc="upper left")
    figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})


def main() -> None:
    """The table, and the picture if it is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--space", default="membership")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--most", type=int, default=TABLE[-1], help="steps (100000)")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    options = parser.parse_args()
    found = virtual_spaces(PROFILE, options.members) | feature_spaces(PROFILE, options.members)
    space = explore(found[options.space])
    gc.set_threshold(50_000)  # as the commands do
    tracks, marks = Tracks(space), marks_up_to(options.most)
    heads = "".join(f"{mark:>20,}" for mark in marks if mark in TABLE)
    print(f"of {space.edge_count:,} edges after{heads} steps", flush=True)  # noqa: T201
    curves: dict[str, list[Curve]] = {}
    for kind in (*CHOICES, "tours"):
        started = time.process_time()
        for seed in range(options.seeds):
            progress = toured(tracks, seed) if kind == "tours" else walked(tracks, kind, seed)
            curves.setdefault(kind, []).append(at_marks(progress, space.edge_count, marks))
        columns = zip(marks, zip(*curves[kind], strict=True), strict=True)
        cells = "".join(
            f"{mean(column):>6.1f} % ({min(column):.1f}-{max(column):.1f})".rjust(20)
            for mark, column in columns
            if mark in TABLE
        )
        seconds = time.process_time() - started
        print(f"{kind:20}{cells}  in {seconds:.0f} s", flush=True)  # noqa: T201
    if options.plot:
        draw(curves, marks, options.space, options.plot)


if __name__ == "__main__":
    main()
