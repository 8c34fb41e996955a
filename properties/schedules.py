"""Schedules: the order of a verification's tests. Long runs have their own (`long_runs.long_run`).

In virtual time: tours of every instance, random walks, and the Hypothesis state machine. On a real
clock: many concurrent tours of one instance. After each, deviations that explain the findings are
adopted, and the instances are toured again with them, until nothing new is found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain, count
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

from groupcheck.model.classic.config import CLEANUP_INTERVAL
from groupcheck.model.classic.instances.instance import DELAY, real_clock_instances
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.explored import virtual
from groupcheck.properties.findings.finding import Finding, keep
from groupcheck.properties.generators.machine import lockstep, storing_nothing
from groupcheck.properties.generators.parallel_walks import ParallelWalks
from groupcheck.properties.generators.tour import CheckedSteps, stepper, tour
from groupcheck.properties.minimising import (
    MOST_HANGS,
    conclude,
    concurrently,
    in_virtual_time,
    minimise,
)
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import PortSource

if TYPE_CHECKING:
    from groupcheck.properties.verify import Verification

# Explores, tests, and minimises the findings of the verification.
Schedule = Callable[["Verification"], None]

# The longest initial delay on a real clock; each test waits for it several times.
LONGEST_DELAY_MS: Final = 60_000

# On a real clock a tour within a limited time goes on until so many sequences, in relation to the
# number of examples, have ended in findings: to explain a few takes as long as dozens of sequences.
FOUND_SHARE: Final = 0.25

# Each of several state machines gets at least so many examples: it learns from its earlier ones.
LEAST_EXAMPLES: Final = 10

# The number of concurrent tests on a real clock; they wait most of the time.
CONCURRENT: Final = 48


def usual(source: PortSource) -> Schedule:
    """The schedule for the clock of a port."""
    return real_time if source.real_time else virtual_time


def virtual_time(run: Verification) -> None:
    """Verify a port in virtual time."""
    run.explore(lambda: virtual(run.profile, run.settings))
    for test in (_tour, _walk, _run_state_machine):
        if run.is_over:
            break
        test(run)
        while _adopt(run):
            _tour(run)
    with in_virtual_time(run) as how:
        minimise(run, how)
        conclude(run, how)


def _adopt(run: Verification) -> bool:
    """Adopt the deviations that explain the findings; False if there are none."""
    if run.is_over or not run.findings:
        return False
    with in_virtual_time(run) as how:
        minimise(run, how)
    return run.adopt() and not run.has_enough


class _SharedBrokerFailedError(Exception):
    """One of the concurrent tests made their broker fail."""


def real_time(run: Verification) -> None:
    """Verify a port on a real clock, with concurrent tests.

    If one of them makes the broker hang or end, all start again, each on its own broker.
    """
    try:
        _real_time(run, share=True)
    except _SharedBrokerFailedError:
        run.findings.clear()
        run.coverages.clear()
        run.tests.clear()
        _real_time(run, share=False)


def _real_time(run: Verification, *, share: bool) -> None:
    run.explore(lambda: real_clock_instances(run.profile, run.settings.members, broker_of(run)))
    is_left = True
    while is_left:
        began_s = monotonic()
        is_left = _tour_concurrently(run, share=share) and bool(run.settings.time_s)
        # As long as transitions are left, they get half of the time.
        until_s = 2 * monotonic() - began_s if is_left else inf
        with concurrently(run, CONCURRENT, until_s=until_s) as how:
            minimise(run, how)
        if run.search_is_over:
            run.result.time_over = run.time_over
            break
        is_left |= run.adopt()
        if run.has_enough:
            break
        if not is_left and run.settings.time_s:
            (coverage,) = run.coverages.values()
            is_left = coverage.resume_given_up()
    with concurrently(run, CONCURRENT) as how:
        conclude(run, how)


def _tour_concurrently(run: Verification, *, share: bool) -> bool:
    """Tour the instance with concurrent tests. Returns whether transitions are left to be tried."""
    (coverage,) = run.coverages.values()
    settings = run.settings
    done = run.progress("sequences on a real clock", None if settings.time_s else settings.examples)
    most_found = settings.examples * FOUND_SHARE if settings.time_s else 0
    numbers, found = count(), list[Finding]()

    def walk() -> bool:
        with run.port() as port:
            checked = CheckedSteps(coverage.explored, port, run.search.model)
            tests = tour(coverage, checked, settings.steps, lambda: run.search_is_over)
            for steps, finding, _ in tests:
                failed = False
                if finding is not None:
                    found.append(finding)
                    failed = finding.failure is not None
                    if share and run.source.separate():
                        raise _SharedBrokerFailedError
                run.keep_test(checked.run, failed=failed)
                run.count_tour(coverage, steps)
                run.count(steps, finding, checked.run)
                done(1)
                return True
        return False

    def walks(_thread: int) -> None:
        try:
            for number in numbers:
                is_enough = number >= settings.examples and len(found) >= most_found
                if is_enough or run.search_is_over or not walk():
                    return
        except PortUnavailableError:
            if share and run.source.separate():
                raise _SharedBrokerFailedError from None
            raise

    with run.pool(CONCURRENT) as pool:
        list(pool.map(walks, range(CONCURRENT)))
    return coverage.way(0, settings.steps - 1) is not None


def broker_of(run: Verification) -> Mapping[str, int]:
    """The settings of a broker on a real clock.

    Raises:
        PortUnavailableError: its initial delay is too long, or its offsets expire during a test
            and the schedule does not wait for that.
    """
    broker = run.source.broker_settings()
    delay_ms = broker.values.get(DELAY, 0)
    if delay_ms > LONGEST_DELAY_MS:
        msg = (
            f"{run.source.spec} cannot be verified: its {DELAY} is {delay_ms}, and every test"
            f" would wait for it; {LONGEST_DELAY_MS} is the most"
        )
        raise PortUnavailableError(msg)
    if CLEANUP_INTERVAL in broker.values and run.settings.stage != "timed tours":
        msg = (
            f"{run.source.spec}: its offsets expire during a test ({CLEANUP_INTERVAL}). Only timed"
            " tours wait for that: add --sequences N --stage timed-tours"
        )
        raise PortUnavailableError(msg)
    run.result.assumed_defaults = broker.assumed()
    return broker.values


def _tour(run: Verification) -> None:
    """Tour every instance, each on several ports in parallel."""
    hangs, is_over = 0, False
    transitions = ((f"transitions, {n}", each) for n, each in run.coverages.items())
    pairs = ((f"pairs of transitions, {n}", each) for n, each in run.pairs.items())

    def tour_on_a_port(coverage: Coverage, done: Callable[[int], None], _port: int) -> None:
        nonlocal hangs, is_over
        with run.port() as port:
            steps_of_port = stepper(coverage, port, run.search.model)
            for steps, finding, taken in tour(coverage, steps_of_port, run.settings.steps):
                run.count_tour(coverage, steps, taken)
                run.count(steps, finding)
                done(coverage.news())
                hangs += finding is not None and finding.hung
                no_test = finding is not None and not finding.sequence.steps
                is_over |= no_test or hangs >= MOST_HANGS
                if is_over or run.has_enough:
                    return

    for what, coverage in chain(transitions, pairs):
        done = run.progress(what, coverage.space.transition_count)
        with run.side_by_side() as each:
            list(each(partial(tour_on_a_port, coverage, done), range(run.ports)))
        if is_over:
            return


def _walk(run: Verification) -> None:
    """Random walks in the instances and beyond."""
    settings = run.settings
    steps = {name: coverage.steps(run.search.model) for name, coverage in run.coverages.items()}
    bulk = ParallelWalks(
        run.source, run.search.model, steps, settings.seed, settings.walks, settings.steps
    )
    done = run.progress("random walks", settings.walks)
    with run.side_by_side() as each:
        for part in bulk.run(settings.jobs, run.check_interruption, each):
            run.result.sequences += part.walks
            run.result.steps += part.steps
            for finding in part.findings:
                keep(run.findings, finding)
            for name, times in part.times.items():
                run.coverages[name].add_counts(times)
                run.walked_pairs.setdefault(name, set()).update(part.pairs[name])
            run.applied += part.applied
            run.note_progress()
            done(part.walks)
            if part.over or run.has_enough:
                return


def _run_state_machine(run: Verification) -> None:
    """Random sequences of the Hypothesis state machine, until it finds nothing new."""
    done = run.progress("random sequences", run.settings.examples)
    machines = min(run.ports, max(run.settings.examples // LEAST_EXAMPLES, 1))
    with storing_nothing(), run.side_by_side() as each:
        list(each(partial(_run_machine, run, done, machines), range(machines)))


def _run_machine(
    run: Verification, done: Callable[[int], None], machines: int, number: int
) -> None:
    """The share of one of several state machines, on a port of its own."""
    share = len(range(number, run.settings.examples, machines))
    tests = 0

    def count(steps: int) -> None:
        nonlocal tests
        tests += 1
        run.count(steps)
        done(1)

    with run.port() as port:
        while tests < share and not (run.has_enough or run.is_over):
            finding = lockstep(
                port,
                run.search.model,
                examples=share - tests,
                steps=run.settings.steps,
                seed_number=run.settings.seed + number * run.settings.examples + tests,
                known=set(run.findings),
                tally=count,
                applied=run.applied,
            )
            if finding is None:
                break
            keep(run.findings, finding)
