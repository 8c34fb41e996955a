"""A long run on a real clock: thousands of concurrent sequences, in a run that can be resumed.

Sequences are numbered. The first ones tour the state graphs, the next ones are random and wait for
no timer, the last ones have timeouts that end while they wait. The seed alone decides what a number
does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, Final

from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.instances.instance import Instance
from groupcheck.model.instances.real_time import real_time_instances
from groupcheck.properties.findings.finding import Finding, keep
from groupcheck.properties.generators.tour import Walk
from groupcheck.properties.long_runs.attempts import DisturbedError, Ran, attempted
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
from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Outage, Result, Settings, Stage
from groupcheck.properties.run import FoundError, replay
from groupcheck.properties.sequence import Sequence, well_formed
from groupcheck.properties.verify import Progress, Verification, silent

# The schedule: the stages, and at which percentage of the sequences each ends.
TIMED: Final = "timed walks"
STAGES: Final[Mapping[str, int]] = {"tours": 50, "walks": 85, TIMED: 100}
TIMED_FACTOR: Final = 2  # timed walks mostly wait, so that many times as many run concurrently
MAX_RERUNS: Final = 100  # sequences that run again, alone, after a crash
PATIENCE_S: Final = 60.0  # how long to wait for a broker that is unavailable


class LongRun(Verification):
    """A verification with as many sequences as the settings say; see `Verification`.

    Args:
        source: of the ports.
        settings: `sequences` of them, `side_by_side`.
        progress: gets the progress.
        resume_file: stores the results; the run resumes from it if it exists.
        patience_s: how long to wait for a broker that is unavailable.
    """

    def __init__(
        self,
        source: PortSource,
        settings: Settings,
        progress: Progress = silent,
        resume_file: Path | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        super().__init__(source, settings, progress)
        self._path = resume_file
        self._patience_s = patience_s
        self._recording = threading.Lock()
        self._recorded: dict[str, set[TransitionReference]] = {}
        self._before_s = 0.0  # the duration of earlier runs
        self._not_reproduced = 0  # findings of earlier runs

    def run(self) -> Result:
        """Run the sequences that are left; see `Verification.run`.

        Raises:
            PortUnavailableError: the port could not be reached in the first place.
            MalformedResumeFileError: the file does not belong to such a run.
            OSError: it cannot be read or written.
        """
        result = super().run()
        result.seconds += self._before_s
        return result

    def _real_clock_instances(self, broker: Mapping[str, int]) -> dict[str, Instance]:
        self._broker_settings = dict(broker)
        return real_time_instances(self.profile, self.settings.members, broker)

    def _do(self) -> None:
        self._explore()
        with ResumeFile(self._path, self._header()) as self._file, self._monitor() as self._broker:
            try:
                self._resume()
                for stage in STAGES:
                    self._run_stage(stage)
                if self._broker.outages and self._broker.is_stable:  # it was only slow
                    for stage in STAGES:
                        self._run_stage(stage)
                self._shrink()
                if self.source.restart is not None and not self._broker.is_stable:
                    self._rerun_alone()
            finally:
                self._broker.stop()
                self._sum_up()
        self._tell()

    def _monitor(self) -> AvailabilityMonitor:
        source = self.source
        slow_s = (source.tolerances.late_ms if source.tolerances else 0) / 1000
        health_check = source.health_check and source.health_check()
        on_return, restart = source.clear_broker_info, source.restart
        return AvailabilityMonitor(health_check, slow_s, self._patience_s, on_return, restart)

    def _header(self) -> dict[str, Any]:
        """Return what must be the same when the run resumes."""
        settings = self.settings
        return {
            "port": self.source.spec,
            "profile": settings.profile,
            "seed": settings.seed,
            "sequences": settings.sequences,
            "steps": settings.steps,
            "members": settings.members,
            "transitions": {name: c.space.transition_count for name, c in self._coverages.items()},
        }

    def _resume(self) -> None:
        """Restore the coverage of earlier runs, and try to reproduce their findings."""
        self._recorded = {name: set() for name in self._coverages}
        self._before_s = self._file.seconds
        self._started_s = monotonic() - self._before_s
        found: list[Sequence] = []
        for entry in latest(self._file.entries):
            if entry.outcome == UNDECIDED:  # it runs again
                continue
            self.result.sequences += 1
            self.result.steps += entry.steps
            if entry.space in self._coverages:
                self._walked.setdefault(self._coverages[entry.space], []).append(entry.steps)
            if entry.sequence is not None:
                found.append(entry.sequence)
        for entry in self._file.entries:
            self._applied.update(entry.rules)
            for name, hops in entry.covered.items():
                covered = {TransitionReference(*hop) for hop in hops}
                self._coverages[name].skip(covered)
                self._recorded[name] |= covered
        if not found:
            return
        tell = self.progress("findings of earlier runs", len(found))
        with self._pool(self.settings.side_by_side) as pool:
            for finding in pool.map(self._once, found):
                tell(1)
                if finding is None:
                    self._not_reproduced += 1
                else:
                    keep(self._raw, finding)

    def _run_stage(self, stage: str) -> None:
        numbers = [n for n in self._numbers(stage) if n not in self._file.decided]
        if not numbers:
            return
        left, over = iter(numbers), threading.Event()
        concurrent = self.settings.side_by_side * (TIMED_FACTOR if stage == TIMED else 1)
        tell = self.progress(f"{stage}, {concurrent} concurrent", len(numbers))

        def run_next(port: Port) -> bool:
            """Run the next sequence; returns whether the port can be used for another one."""
            number = self._next(left)
            if number is None:
                over.set()
                return False
            self._broker.wait()
            usable = self._run_and_record(number, stage, port)
            tell(1)
            return usable

        def work(_worker: int) -> None:
            try:
                while not over.is_set():
                    self._broker.wait()
                    with self._port() as port:
                        while not over.is_set() and run_next(port):
                            pass
            except BaseException:
                over.set()
                raise

        with self._pool(concurrent) as pool:
            try:
                list(pool.map(work, range(min(concurrent, len(numbers)))))
            except BaseException:
                over.set()
                self._broker.stop()
                raise

    def _numbers(self, stage: str) -> range:
        """Return the numbers of the sequences of a stage."""
        ends = [0, *(self.settings.sequences * share // 100 for share in STAGES.values())]
        place = list(STAGES).index(stage)
        return range(ends[place], ends[place + 1])

    def _next(self, numbers: Iterator[int]) -> int | None:
        with self._recording:
            return next(numbers, None)

    def _run_and_record(self, number: int, stage: str, port: Port) -> bool:
        """Run one sequence; returns whether the port can be used for another one."""
        began_s = monotonic()
        try:
            ran = attempted(self._broker, lambda valid: self._run_one(number, stage, port, valid))
            decided = True
        except DisturbedError as disturbed:
            ran, decided = disturbed.ran, False
        self._record(number, stage, began_s, ran, decided=decided)
        # After a finding a response may still be on its way: Kafka answers some requests twice.
        return decided and ran.finding is None

    def _run_one(self, number: int, stage: str, port: Port, valid: Callable[[], bool]) -> Ran:
        steps = self.settings.steps
        if stage == "tours":
            for name, coverage in self._coverages.items():
                if coverage.way(0, steps - 1) is not None:
                    return self._tour_one(name, port, valid)
        random = Random(f"{self.settings.seed}/{number}")
        pace = Pace(stage == TIMED, self._broker_settings)
        return Ran(*walk_live(port, self.profile, pace, random, steps))

    def _tour_one(self, name: str, port: Port, valid: Callable[[], bool]) -> Ran:
        try:
            walk = Walk(self._coverages[name], port, self.settings.steps, counts=valid)
        except FoundError as found:
            return Ran(0, found.finding, space=name)
        finding = walk.go()
        return Ran(walk.steps, finding, space=name)

    def _record(self, number: int, stage: str, began_s: float, ran: Ran, *, decided: bool) -> None:
        """Store and count the result of a sequence."""
        finding = ran.finding if decided else None
        outcome = (FOUND if finding else CONFORMS) if decided else UNDECIDED
        with self._recording:
            covered = {}
            for name, coverage in self._coverages.items():
                new = coverage.shown - self._recorded[name]
                if new:
                    self._recorded[name] |= new
                    covered[name] = tuple((hop.node, hop.edge) for hop in sorted(new))
            times = began_s - self._started_s, monotonic() - self._started_s
            rules = tuple(sorted(ran.applied - self._applied.keys()))
            self._applied.update(rules)
            sequence = finding.sequence if finding else None
            self._file.add(
                Entry(
                    number, stage, ran.steps, outcome, *times, covered, sequence, ran.space, rules
                )
            )
            if ran.space:
                self._walked.setdefault(self._coverages[ran.space], []).append(ran.steps)
            self._count(ran.steps, finding)

    def _rerun_alone(self) -> None:
        """Run the sequences again, alone, during which the broker ended: did one of them cause it?

        Only for a broker that this process has started, so that it had no other reason to end.
        """
        undecided = [e for e in latest(self._file.entries) if e.outcome == UNDECIDED]
        rerun = [e for e in undecided if e.stage != "tours"][:MAX_RERUNS]
        if not rerun:
            return
        tell = self.progress("sequences that ran when the broker ended", len(rerun))
        for entry in rerun:
            self._check_interruption()
            self._broker.wait()
            began_s = monotonic()
            decided = True
            with self._port() as port:
                try:
                    ran = self._run_one(entry.number, entry.stage, port, lambda: True)
                except PortUnavailableError:
                    ran, decided = Ran(0), False
            if self._broker.was_down(began_s):
                crash = ran.finding and self._smallest_crash(ran.finding.sequence)
                ran, decided = ran._replace(finding=crash), crash is not None
            self._record(entry.number, entry.stage, began_s, ran, decided=decided)
            tell(1)

    def _smallest_crash(self, sequence: Sequence) -> Finding | None:
        """Remove the steps that are not needed to end the broker; None if it does not end."""
        found = self._crash(sequence)
        place = len(sequence.steps) - 1
        while found is not None and place > 0:
            place -= 1
            steps = found.sequence.steps
            fewer = found.sequence._replace(steps=(*steps[:place], *steps[place + 1 :]))
            if well_formed(fewer.steps):
                found = self._crash(fewer) or found
        return found

    def _crash(self, sequence: Sequence) -> Finding | None:
        """Run a sequence alone; returns the finding that it ends the broker, if it does."""
        self._broker.wait()
        began_s = monotonic()
        with self._port() as port:
            finding = replay(sequence, port)
        gone = self._broker.has_ended(began_s)
        return finding if gone and finding is not None and finding.failure is not None else None

    def _once(self, sequence: Sequence) -> Finding | None:
        """Run a sequence again, until the broker is available all the while."""

        def attempt(_valid: Callable[[], bool]) -> Ran:
            with self._port() as port:
                return Ran(len(sequence.steps), replay(sequence, port))

        while True:
            self._broker.wait()
            try:
                return attempted(self._broker, attempt).finding
            except DisturbedError:
                continue

    def _sum_up(self) -> None:
        """Add the results of each stage, and the outages, to the result."""
        entries = latest(self._file.entries)
        self.result.sequences = len(entries)
        self.result.steps = sum(entry.steps for entry in entries)
        for stage in STAGES:
            those = [entry for entry in entries if entry.stage == stage]
            if those:
                self.result.stages.append(
                    Stage(
                        stage,
                        len(those),
                        sum(entry.steps for entry in those),
                        sum(entry.outcome == UNDECIDED for entry in those),
                        max(e.ended_s for e in those) - min(e.began_s for e in those),
                    )
                )
        for began_s, ended_s, reason, _ in self._broker.outages:
            seconds = None if ended_s is None else ended_s - began_s
            self.result.outages.append(Outage(began_s - self._started_s, seconds, reason))
        self.result.not_reproduced += self._not_reproduced
