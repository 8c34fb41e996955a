"""A long run on a real clock: thousands of concurrent sequences, in a run that can be resumed.

Sequences are numbered. The first ones tour the state graphs, those without timers before those with
timers; the next ones are random and wait for no timer, the last ones have timeouts that end during
the test. The number and the seed determine a sequence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.config import CLEANUP_INTERVAL
from groupcheck.model.classic.instances.instance import DELAY, Instance
from groupcheck.model.classic.instances.real_time import real_time_instances
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.minimising import minimised
from groupcheck.properties.findings.finding import Finding, keep
from groupcheck.properties.generators.tour import CheckedSteps, Walk
from groupcheck.properties.long_runs.attempts import TRIES, DisturbedError, Ran, attempted
from groupcheck.properties.long_runs.availability import AvailabilityMonitor
from groupcheck.properties.long_runs.live_walk import Pace, walk_live
from groupcheck.properties.long_runs.resume_file import (
    CONFORMS,
    FOUND,
    UNDECIDED,
    Entry,
    ResumeFile,
    latest,
)
from groupcheck.properties.long_runs.timers import timed_instances, waits_for_cleanups
from groupcheck.properties.minimising import concurrently, minimise
from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Outage, Settings, Stage
from groupcheck.properties.run import FoundError, replay
from groupcheck.properties.schedules import CONCURRENT, Schedule, broker_of
from groupcheck.properties.sequence import Sequence, well_formed
from groupcheck.properties.verify import Verification

SIDE_BY_SIDE: Final = 100  # sequences, usually
TIMED_FACTOR: Final = 2  # timed stages mostly wait, so twice as many sequences run concurrently


class Kind(NamedTuple):
    """A stage: its percentage of the sequences, and what they do.

    Args:
        share: in percent.
        timed: whether timers fire in it.
        tours: whether its sequences tour state graphs while transitions are left.
    """

    share: int
    timed: bool = False
    tours: bool = False


STAGES: Final[Mapping[str, Kind]] = {
    "tours": Kind(40, tours=True),
    "timed tours": Kind(15, timed=True, tours=True),
    "walks": Kind(30),
    "timed walks": Kind(15, timed=True),
}
MAX_RERUNS: Final = 100  # sequences that run again, alone, after a crash
PATIENCE_S: Final = 60.0  # how long to wait for a broker that is unavailable


def long_run(resume_file: Path | None = None, patience_s: float = PATIENCE_S) -> Schedule:
    """The schedule of a long run, with as many sequences as the settings of the verification say.

    Args:
        resume_file: stores the results; the run resumes from it if it exists.
        patience_s: how long to wait for a broker that is unavailable.

    The schedule raises:
        PortUnavailableError: the port could not be reached in the first place.
        MalformedResumeFileError: the file does not belong to such a run.
        OSError: it cannot be read or written.
    """

    def schedule(run: Verification) -> None:
        broker: Mapping[str, int] = {}

        def instances() -> dict[str, Instance]:
            nonlocal broker
            broker = dict(broker_of(run))
            given = run.profile, run.settings.members, broker
            timed = timed_instances(*given)
            if CLEANUP_INTERVAL in broker and not timed:
                msg = (
                    f"{run.source.spec}: there are no timed tours in which offsets expire with this"
                    f" {DELAY}, or with these limits of session timeouts"
                )
                raise PortUnavailableError(msg)
            found = {**timed, **real_time_instances(*given)}
            toured = {kind.timed for kind in _stages(run.settings).values() if kind.tours}
            return {name: each for name, each in found.items() if each.timed in (toured or {False})}

        run.explore(instances)
        with (
            ResumeFile(resume_file, _header(run)) as file,
            _monitor(run.source, patience_s) as monitor,
        ):
            _LongRun(run, broker, file, monitor).do()

    return schedule


def _stages(settings: Settings) -> Mapping[str, Kind]:
    """The stages of a run."""
    return {settings.stage: STAGES[settings.stage]} if settings.stage else STAGES


def _monitor(source: PortSource, patience_s: float) -> AvailabilityMonitor:
    slow_s = (source.tolerances.late_ms if source.tolerances else 0) / 1000
    health_check = source.health_check and source.health_check()
    return AvailabilityMonitor(
        health_check, slow_s, patience_s, source.clear_broker_info, source.restart
    )


def _header(run: Verification) -> dict[str, Any]:
    """Return what must be the same when the run resumes."""
    settings = run.settings
    return {
        "port": run.source.spec,
        "profile": settings.profile,
        "seed": settings.seed,
        "sequences": settings.sequences,
        "steps": settings.steps,
        "stage": settings.stage,
        "members": settings.members,
        "transitions": {name: c.space.transition_count for name, c in run.coverages.items()},
    }


class _LongRun:
    """A long run under way.

    Args:
        run: the verification.
        broker: the broker's settings.
        file: the results so far.
        monitor: says when the broker is unavailable.
    """

    def __init__(
        self,
        run: Verification,
        broker: Mapping[str, int],
        file: ResumeFile,
        monitor: AvailabilityMonitor,
    ) -> None:
        self._run = run
        self._settings = run.settings
        self._side_by_side = run.settings.side_by_side or SIDE_BY_SIDE
        self._broker = broker
        self._file = file
        self._monitor = monitor
        self._recording = threading.Lock()
        self._recorded: dict[str, set[TransitionReference]] = {n: set() for n in run.coverages}
        self._started_s = monotonic() - file.seconds
        run.result.seconds += file.seconds  # of earlier runs

    def do(self) -> None:
        """Run the sequences that are left."""
        monitor, source = self._monitor, self._run.source
        try:
            self._resume()
            for stage in _stages(self._settings):
                self._run_stage(stage)
            if monitor.outages and monitor.is_stable:  # it was only slow
                for stage in _stages(self._settings):
                    self._run_stage(stage)
            with concurrently(self._run, CONCURRENT, self._once) as how:
                minimise(self._run, how)
            if source.restart is not None and not monitor.is_stable:
                self._rerun_alone()
        finally:
            monitor.stop()
            self._sum_up()

    def _resume(self) -> None:
        """Restore the coverage of earlier runs, and try to reproduce their findings."""
        found: list[Sequence] = []
        for entry in latest(self._file.entries):
            if entry.outcome == UNDECIDED:  # it runs again
                continue
            self._run.result.sequences += 1
            self._run.result.steps += entry.steps
            if entry.space in self._run.coverages:
                self._run.count_tour(self._run.coverages[entry.space], entry.steps)
            if entry.sequence is not None:
                found.append(entry.sequence)
        for entry in self._file.entries:
            self._run.applied.update(entry.rules)
            for name, transitions in entry.covered.items():
                covered = {TransitionReference(*transition) for transition in transitions}
                self._run.coverages[name].skip(covered)
                self._recorded[name] |= covered
        if not found:
            return
        done = self._run.progress("findings of earlier runs", len(found))
        with self._run.pool(self._side_by_side) as pool:
            for finding in pool.map(self._once, found):
                done(1)
                if finding is None:
                    self._run.result.not_reproduced += 1
                else:
                    keep(self._run.findings, finding)

    def _run_stage(self, stage: str) -> None:
        numbers = [n for n in self._numbers(stage) if n not in self._file.decided]
        if not numbers:
            return
        left, over = iter(numbers), threading.Event()
        concurrent = self._side_by_side * (TIMED_FACTOR if STAGES[stage].timed else 1)
        done = self._run.progress(f"{stage}, {concurrent} concurrent", len(numbers))

        def run_next(port: Port) -> bool:
            """Run the next sequence; returns whether the port can be used for another one."""
            number = self._next(left)
            if number is None:
                over.set()
                return False
            self._monitor.wait()
            usable = self._run_and_record(number, stage, port)
            done(1)
            return usable

        def work(_worker: int) -> None:
            try:
                while not over.is_set():
                    self._monitor.wait()
                    with self._run.port() as port:
                        while not over.is_set() and run_next(port):
                            pass
            except BaseException:
                over.set()
                raise

        with self._run.pool(concurrent) as pool:
            try:
                list(pool.map(work, range(min(concurrent, len(numbers)))))
            except BaseException:
                over.set()
                self._monitor.stop()
                raise

    def _numbers(self, stage: str) -> range:
        """Return the numbers of the sequences of a stage."""
        stages = _stages(self._settings)
        shares = [0, *accumulate(kind.share for kind in stages.values())]
        ends = [self._settings.sequences * share // shares[-1] for share in shares]
        place = list(stages).index(stage)
        return range(ends[place], ends[place + 1])

    def _next(self, numbers: Iterator[int]) -> int | None:
        """The next sequence; None if none is left, or only walks, which wait for no cleanup."""
        steps = self._settings.steps
        every = self._run.coverages.values()
        is_toured = all(coverage.way(0, steps - 1) is None for coverage in every)
        if CLEANUP_INTERVAL in self._broker and is_toured:
            return None
        with self._recording:
            return next(numbers, None)

    def _run_and_record(self, number: int, stage: str, port: Port) -> bool:
        """Run one sequence; returns whether the port can be used for another one."""
        began_s = monotonic()
        try:
            ran = attempted(self._monitor, lambda valid: self._run_one(number, stage, port, valid))
            decided = True
        except DisturbedError as disturbed:
            ran, decided = disturbed.ran, False
        self._record(number, stage, began_s, ran, decided=decided)
        # After a finding a response may still be on its way: Kafka answers some requests twice.
        return decided and ran.finding is None

    def _run_one(self, number: int, stage: str, port: Port, valid: Callable[[], bool]) -> Ran:
        kind, steps = STAGES[stage], self._settings.steps
        for name, coverage in self._run.coverages.items() if kind.tours else ():
            if (
                coverage.space.instance.timed == kind.timed
                and coverage.way(0, steps - 1) is not None
            ):
                return self._tour_one(name, port, valid)
        random = Random(f"{self._settings.seed}/{number}")
        pace = Pace(kind.timed, self._broker)
        walked = walk_live(port, self._run.profile, pace, random, steps)
        rules = frozenset(walked.applied)
        return Ran(walked.steps, walked.finding, rules, checks=walked.checks)

    def _tour_one(self, name: str, port: Port, valid: Callable[[], bool]) -> Ran:
        coverage = self._run.coverages[name]
        steps = CheckedSteps(coverage.explored, port)
        try:
            walk = Walk(coverage, steps, self._settings.steps, counts=valid)
        except FoundError as found:
            return Ran(0, found.finding, space=name)
        finding = walk.go()
        return Ran(walk.steps, finding, space=name, checks=steps.run)

    def _record(self, number: int, stage: str, began_s: float, ran: Ran, *, decided: bool) -> None:
        """Store and count the result of a sequence."""
        finding = ran.finding if decided else None
        outcome = (FOUND if finding else CONFORMS) if decided else UNDECIDED
        with self._recording:
            covered = {}
            for name, coverage in self._run.coverages.items():
                new = coverage.shown - self._recorded[name]
                if new:
                    self._recorded[name] |= new
                    covered[name] = tuple(
                        (transition.node, transition.edge) for transition in sorted(new)
                    )
            times = began_s - self._started_s, monotonic() - self._started_s
            rules = tuple(sorted(ran.applied - self._run.applied.keys()))
            self._run.applied.update(rules)
            sequence = finding.sequence if finding else None
            self._file.add(
                Entry(
                    number, stage, ran.steps, outcome, *times, covered, sequence, ran.space, rules
                )
            )
            if ran.space:
                self._run.count_tour(self._run.coverages[ran.space], ran.steps)
            self._run.count(ran.steps, finding, ran.checks if decided else None)

    def _rerun_alone(self) -> None:
        """Run the sequences again, alone, during which the broker ended: did one of them cause it?

        Only for a broker that this process has started, so that it had no other reason to end.
        """
        undecided = [e for e in latest(self._file.entries) if e.outcome == UNDECIDED]
        rerun = [e for e in undecided if not STAGES[e.stage].tours][:MAX_RERUNS]
        if not rerun:
            return
        done = self._run.progress("sequences that ran when the broker ended", len(rerun))
        for entry in rerun:
            self._run.check_interruption()
            self._monitor.wait()
            began_s = monotonic()
            decided = True
            with self._run.port() as port:
                try:
                    ran = self._run_one(entry.number, entry.stage, port, lambda: True)
                except PortUnavailableError:
                    ran, decided = Ran(0), False
            if self._monitor.was_down(began_s):
                crash = ran.finding and self._smallest_crash(ran.finding.sequence)
                ran, decided = ran._replace(finding=crash), crash is not None
            self._record(entry.number, entry.stage, began_s, ran, decided=decided)
            done(1)

    def _smallest_crash(self, sequence: Sequence) -> Finding | None:
        """Remove the steps that are not needed to end the broker; None if it does not end."""
        found = self._crash(sequence)

        def trial(candidates: Iterator[tuple[Input, ...]]) -> Finding | None:
            fair = (sequence._replace(steps=each) for each in candidates if well_formed(each))
            return next(filter(None, map(self._crash, fair)), None)

        return found and minimised(found, lambda each: each.sequence.steps, trial)

    def _crash(self, sequence: Sequence) -> Finding | None:
        """Run a sequence alone; returns the finding that it ends the broker, if it does."""
        self._monitor.wait()
        began_s = monotonic()
        with self._run.port() as port:
            finding = replay(sequence, port)
        gone = self._monitor.has_ended(began_s)
        return finding if gone and finding is not None and finding.failure is not None else None

    def _once(self, sequence: Sequence) -> Finding | None:
        """Run a sequence again; None if the broker is unavailable during every attempt.

        The sequence itself may end the broker each time. One that does not wait for a cleanup shows
        nothing.
        """
        if not waits_for_cleanups(sequence):
            return None

        def attempt(_valid: Callable[[], bool]) -> Ran:
            with self._run.port() as port:
                return Ran(len(sequence.steps), replay(sequence, port))

        for _ in range(TRIES):
            self._monitor.wait()
            with suppress(DisturbedError):
                return attempted(self._monitor, attempt).finding
        return None

    def _sum_up(self) -> None:
        """Add the results of each stage, and the outages, to the result."""
        entries = latest(self._file.entries)
        self._run.result.sequences = len(entries)
        self._run.result.steps = sum(entry.steps for entry in entries)
        for stage in STAGES:
            those = [entry for entry in entries if entry.stage == stage]
            if those:
                self._run.result.stages.append(
                    Stage(
                        stage,
                        len(those),
                        sum(entry.steps for entry in those),
                        sum(entry.outcome == UNDECIDED for entry in those),
                        max(e.ended_s for e in those) - min(e.began_s for e in those),
                    )
                )
        for began_s, ended_s, reason, _ in self._monitor.outages:
            seconds = None if ended_s is None else ended_s - began_s
            self._run.result.outages.append(Outage(began_s - self._started_s, seconds, reason))
