"""Speed or coverage of the generators: `python bench/generators.py [--covered | --suites]`.

Steps per second of each generator on the built-in coordinator, and the ratio to a Hypothesis state
machine written by hand, on the same coordinator in the same run. The generators run in rounds, and
the medians of the rounds are printed, so that other work on the machine affects all of them
equally. First by CPU time on one core, then by wall-clock time on all cores.

With `--covered`: the share of a model instance's transitions that each generator has covered after
1,000, 10,000 and 100,000 steps: mean, minimum and maximum of several seeds. `--plot FILE.svg` draws
it.

With `--suites`: tests from the state graph alone, as `groupcheck explore --out` writes them, for
each of the named instances: tests per second of CPU time, with the bound but without the
exploration; steps, the proved lower bound, their ratio, and the peak memory with the exploration.
"""

from __future__ import annotations

import argparse
import gc
import resource
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from random import Random
from statistics import mean, median

import hand_written
import matplotlib as mpl
from matplotlib.figure import Figure

from groupcheck.model.classic.instances.instance import (
    Instance,
    feature_instances,
    instances,
    virtual_time_instances,
)
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.vocabulary import Request
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.explored import steps_of
from groupcheck.properties.generators.choices import CHOICES
from groupcheck.properties.generators.context import capabilities_of
from groupcheck.properties.generators.fuzzing import fuzz
from groupcheck.properties.generators.machine import lockstep
from groupcheck.properties.generators.parallel_walks import ParallelWalks, processors
from groupcheck.properties.generators.precomputed import PrecomputedSteps
from groupcheck.properties.generators.suite import suite
from groupcheck.properties.generators.tour import tour
from groupcheck.properties.generators.walks import Walker
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault, Observation, Port, PortInfo, PortInFront
from groupcheck.properties.ports.source import port_source

PROFILE = PROFILES["2.7"]
STEPS = 60  # of one test
EXAMPLES = 100
TABLE = (1_000, 10_000, 100_000)
PER_DECADE = 12  # points of a curve
# Colours and greys that differ and can be read on white as well as on black.
COLOURS = {"uniform": "#e08a1e", "swarm": "#b0609e", "guided": "#2f8fd8", "tours": "#2aa876"}
GREY = "#808890"

Work = Callable[[], int]  # returns the number of steps
Call = Callable[[Port], object]
Curve = list[float]  # the share in percent at each mark


def show(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def by_hand() -> int:
    """Run the state machine written by hand."""
    return hand_written.run(EXAMPLES, STEPS, 0)


def machine() -> int:
    """Run groupcheck's state machine."""
    steps: list[int] = []
    lockstep(
        BuiltinPort(),
        PROFILE,
        examples=EXAMPLES,
        steps=STEPS,
        seed_number=0,
        known=set(),
        tally=steps.append,
    )
    return sum(steps)


def walks(precomputed: PrecomputedSteps, choice: str, steps: int = 30_000) -> Work:
    """Walks in an instance, on one core."""

    def work() -> int:
        random = Random(0)
        walker, done = Walker(precomputed, BuiltinPort()), 0
        choose = CHOICES[choice](precomputed, random)
        while done < steps:
            done += walker.walk(choose, STEPS)[0]
        return done

    return work


def tours(precomputed: PrecomputedSteps) -> Work:
    """A tour of an instance, on one core."""

    def work() -> int:
        coverage = Coverage(precomputed.space, Random(0))
        port = BuiltinPort()
        return sum(each.steps for each in tour(coverage, Walker(precomputed, port), STEPS))

    return work


class Recorder(PortInFront):
    """A port that keeps the calls of each test."""

    def __init__(self, port: Port) -> None:
        super().__init__(port)
        self.tests: list[list[Call]] = []

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test."""
        self.tests.append([])
        return super().open(profile, config)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        self.tests[-1].append(lambda port: port.request(request, expected))
        return super().request(request, expected)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass."""
        self.tests[-1].append(lambda port: port.advance(ms, expected))
        return super().advance(ms, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Inject a fault."""
        self.tests[-1].append(lambda port: port.fault(fault, expected))
        return super().fault(fault, expected)


def coordinator_alone(precomputed: PrecomputedSteps) -> Work:
    """The calls of a tour, without a generator and without a check."""
    recorder, instance = Recorder(BuiltinPort()), precomputed.space.instance
    list(tour(Coverage(precomputed.space, Random(0)), Walker(precomputed, recorder), STEPS))

    def work() -> int:
        port = BuiltinPort()
        for test in recorder.tests:
            port.open(instance.profile.name, instance.broker)
            for call in test:
                call(port)
        return sum(map(len, recorder.tests))

    return work


def beyond() -> int:
    """Run walks beyond the instances, which the oracle checks, on one core."""
    random, port = Random(0), BuiltinPort()
    capabilities = capabilities_of(port, PROFILE)
    return sum(fuzz(port, PROFILE, capabilities, random, STEPS).steps for _ in range(EXAMPLES))


def in_bulk(precomputed: PrecomputedSteps, jobs: int, count: int) -> Work:
    """Walks as in `verify --walks`: of each kind, and beyond the instance."""

    def work() -> int:
        bulk = ParallelWalks(
            port_source("builtin"), PROFILE, {"space": precomputed}, 0, count, STEPS
        )
        return sum(part.steps for part in bulk.run(jobs))

    return work


def measured(sources: dict[str, Work], clock: Callable[[], float], rounds: int) -> None:
    """Print the steps per second of each generator, and the ratio to the first."""
    rates: dict[str, list[float]] = {name: [] for name in sources}
    for number in range(rounds + 1):
        for name, work in sources.items():
            started = clock()
            steps = work()
            if number:  # the first round also imports modules and fills caches
                rates[name].append(steps / (clock() - started))
    first = next(iter(rates.values()))
    for name, found in rates.items():
        times = [rate / base for rate, base in zip(found, first, strict=True)]
        spread = f"({min(times):.1f}-{max(times):.1f})"
        show(f"{name:44} {median(found):>9,.0f} steps/s {median(times):>6.2f} times {spread}")


def walked(precomputed: PrecomputedSteps, choice: str, seed: int) -> Iterator[tuple[int, int]]:
    """The number of steps and of covered transitions, after each walk."""
    random = Random(seed)
    walker, done = Walker(precomputed, BuiltinPort(seed)), 0
    choose = CHOICES[choice](precomputed, random)
    while True:
        if choice == "swarm":
            choose = CHOICES[choice](precomputed, random)  # each walk chooses other inputs
        done += walker.walk(choose, STEPS)[0]
        yield done, sum(map(bool, walker.times))


def toured(precomputed: PrecomputedSteps, seed: int) -> Iterator[tuple[int, int]]:
    """The number of steps and of covered transitions, after each test of a tour."""
    coverage, done = Coverage(precomputed.space, Random(seed)), 0
    for steps, *_ in tour(coverage, Walker(precomputed, BuiltinPort(seed)), STEPS):
        done += steps
        yield done, len(coverage.shown)
    while True:
        done *= 2
        yield done, len(coverage.shown)


def at_marks(progress: Iterator[tuple[int, int]], edges: int, marks: list[int]) -> Curve:
    """The share covered at each mark, by the tests that ended before it."""
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
    """Numbers of steps from 100 on, evenly on a logarithmic scale, with those of the table."""
    count = 1 + int(PER_DECADE * 5)
    marks = {round(100 * 10 ** (point / PER_DECADE)) for point in range(count)}
    return sorted(mark for mark in marks if mark <= most)


def draw(curves: dict[str, list[Curve]], marks: list[int], space: str, path: Path) -> None:
    """Draw a line for the mean of the seeds, and an area from the minimum to the maximum."""
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
    axes.set_ylabel(f"transitions of {space} covered, %", color=GREY)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(which="both", colors=GREY)
    axes.grid(visible=True, color=GREY, alpha=0.25, linewidth=0.6)
    for side, spine in axes.spines.items():
        spine.set_visible(side in {"left", "bottom"})
        spine.set_color(GREY)
    axes.legend(frameon=False, labelcolor=GREY, loc="upper left")
    figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})


def speeds(space: StateSpace, rounds: int, walks_in_all: int) -> None:
    """Print the speeds by CPU time on one core, then by wall-clock time on all cores."""
    precomputed = steps_of(space, PROFILE)
    show("by CPU time on one core")
    sources: dict[str, Work] = {
        "Hypothesis machine by hand, no oracle": by_hand,
        "Hypothesis machine of groupcheck": machine,
    }
    sources |= {f"walks, {choice}": walks(precomputed, choice) for choice in CHOICES}
    sources["tours"] = tours(precomputed)
    sources["the coordinator alone, the same calls"] = coordinator_alone(precomputed)
    sources["walks beyond the instances"] = beyond
    sources["verify --walks, all of them mixed"] = in_bulk(precomputed, 1, 600)
    measured(sources, time.process_time, rounds)
    jobs = processors()
    show(f"by wall-clock time on {jobs} cores, with their start and the exploration")
    measured(
        {
            "Hypothesis machine by hand, no oracle": by_hand,
            "verify --walks, all of them mixed": in_bulk(precomputed, jobs, walks_in_all),
        },
        time.perf_counter,
        max(1, rounds // 2),
    )


def covered(space: StateSpace, name: str, seeds: int, most: int, plot: Path | None) -> None:
    """Print the share of transitions covered, by generator and number of steps."""
    precomputed, marks = steps_of(space, PROFILE), marks_up_to(most)
    heads = "".join(f"{mark:>20,}" for mark in marks if mark in TABLE)
    show(f"of {space.transition_count:,} transitions after{heads} steps")
    curves: dict[str, list[Curve]] = {}
    for kind in (*CHOICES, "tours"):
        started = time.process_time()
        for seed in range(seeds):
            progress = (
                toured(precomputed, seed) if kind == "tours" else walked(precomputed, kind, seed)
            )
            curves.setdefault(kind, []).append(at_marks(progress, space.transition_count, marks))
        columns = zip(marks, zip(*curves[kind], strict=True), strict=True)
        cells = "".join(
            f"{mean(column):>6.1f} % ({min(column):.1f}-{max(column):.1f})".rjust(20)
            for mark, column in columns
            if mark in TABLE
        )
        show(f"{kind:20}{cells}  in {time.process_time() - started:.0f} s")
    if plot:
        draw(curves, marks, name, plot)


def suites(found: dict[str, Instance], names: list[str]) -> None:
    """Print the speed, the length and the memory of the suites of instances.

    The peak is that of the largest so far, so the smallest should be named first.
    """
    for name in names:
        space = explore(found[name])
        started = time.process_time()
        made = suite(space, STEPS)
        seconds = time.process_time() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        show(
            f"{name:24} {space.transition_count:>9,} transitions {len(made.tests):>7,} tests"
            f" {len(made.tests) / seconds:>6,.0f} tests/s {made.steps:>9,} steps"
            f" {made.lower_bound:>9,} minimum {made.steps / made.lower_bound:.3f} {peak:>5,} MB"
        )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--instance", default="membership", help="several with --suites: a,b")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--walks", type=int, default=15_000, help="on all cores (15000)")
    parser.add_argument("--covered", action="store_true", help="shares instead of speeds")
    parser.add_argument("--suites", action="store_true", help="tests from the state graph alone")
    parser.add_argument("--seeds", type=int, default=10, help="with --covered (10)")
    parser.add_argument("--most", type=int, default=TABLE[-1], help="steps with --covered (100000)")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="with --covered")
    options = parser.parse_args()
    gc.set_threshold(50_000)  # as the commands do
    if options.suites:
        suites(instances(PROFILE, options.members), options.instance.split(","))
        return
    found = virtual_time_instances(PROFILE, options.members) | feature_instances(
        PROFILE, options.members
    )
    space = explore(found[options.instance])
    if options.covered:
        covered(space, options.instance, options.seeds, options.most, options.plot)
    else:
        speeds(space, options.rounds, options.walks)


if __name__ == "__main__":
    main()
