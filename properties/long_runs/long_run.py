"""A long run on a real clock: thousands of sequences side by side, which can be taken up again.

Sequences have numbers. The first of them walk the state graphs, the next are random and as free of
time as those, the last have timeouts that end while one waits for them. Which a number is, and
what is random in it, depends on the seed alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any, Final, NamedTuple, TypeVar

from groupcheck.model.exploring.graph import Hop
from groupcheck.model.spaces.instance import Instance
from groupcheck.model.spaces.wire_spaces import wire_spaces
from groupcheck.properties.coverage.edges_shown import Coverage
from groupcheck.properties.findings.finding import Finding, keep
from groupcheck.properties.generators.tour import Walk
from groupcheck.properties.long_runs.journal import FOUND, LAWFUL, UNDECIDED, Entry, Journal, latest
from groupcheck.properties.long_runs.live_moves import Pace, wander_live
from groupcheck.properties.long_runs.watch import Watch
from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Outage, Result, Settings, Stage
from groupcheck.properties.run import FoundError, replay
from groupcheck.properties.sequence import Sequence, well_formed
from groupcheck.properties.verify import Progress, Verification, silent

# The stages, and where in the run each ends, in hundredths.
TIMED: Final = "timed walks"
STAGES: Final[Mapping[str, int]] = {"tours": 50, "walks": 85, TIMED: 100}
WAITING: Final = 2  # so many times as many of those go side by side that wait most of the time
TRIES: Final = 3  # of a sequence that a broker is not reached for, though it is there
AGAIN_S: Final = 1.0  # how long one waits before the next
MOST_ALONE: Final = 100  # sequences that are done again alone
PATIENCE_S: Final = 60.0  # how long a broker that is away is waited for


T = TypeVar("T")


class AwayError(Exception):
    """The broker was away while something was tried: of that nothing can be said."""


class Ran(NamedTuple):
    """What one sequence came to: its steps, what was found, rules applied, and in which space."""

    steps: int
    finding: Finding | None = None
    applied: frozenset[str] = frozenset()
    space: str = ""


class LongRun(Verification):
    """A verification of so many sequences as the settings say; see `Verification`.

    Args:
        source: of the ports.
        settings: `sequences` of them, `side_by_side`.
        progress: is told of what is done.
        kept_in: the file of what was done, which is gone on from if it is there.
        patience_s: how long a broker that is away is waited for.
    """

    def __init__(
        self,
        source: PortSource,
        settings: Settings,
        progress: Progress = silent,
        kept_in: Path | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        super().__init__(source, settings, progress)
        self._kept_in = kept_in
        self._patience_s = patience_s
        self._noting = threading.Lock()
        self._noted: dict[str, set[Hop]] = {}
        self._before_s = 0.0  # what earlier runs took

    def run(self) -> Result:
        """Do what is left to be done; see `Verification.run`.

        Raises:
            PortUnavailableError: the port could not be reached in the first place.
            MalformedJournalError: the file is not that of such a run.
            OSError: it cannot be read or written.
        """
        result = super().run()
        result.seconds += self._before_s
        return result

    def _real_spaces(self, broker: Mapping[str, int]) -> dict[str, Instance]:
        self._broker_settings = dict(broker)
        return wire_spaces(self.profile, self.settings.members, broker)

    def _do(self) -> None:
        self._explore()
        slow_s = (self.source.windows.late_ms if self.source.windows else 0) / 1000
        with (
            Journal(self._kept_in, self._asked()) as self._journal,
            self._watched(slow_s) as self._watch,
        ):
            try:
                self._take_up()
                for stage in STAGES:
                    self._run_stage(stage)
                self._look_again()
                self._shrink()
                self._look_at_crashes()
            finally:
                self._watch.stop()
                self._sum_up()
        self._tell()

    def _watched(self, slow_s: float) -> Watch:
        source = self.source
        pulse = source.pulse and source.pulse()
        return Watch(pulse, slow_s, self._patience_s, source.forget, source.revive)

    def _asked(self) -> dict[str, Any]:
        """What has to be the same when the run goes on."""
        settings = self.settings
        return {
            "port": self.source.spec,
            "profile": settings.profile,
            "seed": settings.seed,
            "sequences": settings.sequences,
            "steps": settings.steps,
            "members": settings.members,
            "edges": {name: each.space.edge_count for name, each in self._coverages.items()},
        }

    def _take_up(self) -> None:
        """Go on from what was done before: what was shown is shown, what was found is looked at."""
        self._noted = {name: set() for name in self._coverages}
        self._before_s = self._journal.seconds
        self._started_s = monotonic() - self._before_s
        found: list[Sequence] = []
        for entry in latest(self._journal.entries):
            if entry.came == UNDECIDED:  # it is done again
                continue
            self.result.sequences += 1
            self.result.steps += entry.steps
            if entry.space in self._coverages:
                self._walked.setdefault(self._coverages[entry.space], []).append(entry.steps)
            if entry.sequence is not None:
                found.append(entry.sequence)
        for entry in self._journal.entries:
            self._applied.update(entry.rules)
            for name, hops in entry.shown.items():
                shown = {Hop(*hop) for hop in hops}
                self._coverages[name].skip(shown)
                self._noted[name] |= shown
        if not found:
            return
        tell = self.progress("what was found before", len(found))
        with self._pool(self.settings.side_by_side) as pool:
            for finding in pool.map(self._once, found):
                tell(1)
                if finding is None:
                    self._gone += 1
                else:
                    keep(self._raw, finding)

    _gone = 0  # findings of earlier runs that did not come again

    def _run_stage(self, stage: str) -> None:
        numbers = [n for n in self._numbers(stage) if n not in self._journal.done]
        if not numbers:
            return
        left, over = iter(numbers), threading.Event()
        at_once = self.settings.side_by_side * (WAITING if stage == TIMED else 1)
        tell = self.progress(f"{stage}, {at_once} side by side", len(numbers))

        def work(_worker: int) -> None:
            def more(port: Port) -> bool:
                """One sequence more; whether the port is as good as before."""
                number = self._next(left)
                if number is None:
                    over.set()
                    return False
                self._watch.wait()
                decided = self._do_one(number, stage, port)
                tell(1)
                return decided

            try:
                while not over.is_set():
                    self._watch.wait()
                    with self._port() as port:
                        while not over.is_set() and more(port):
                            pass
            except BaseException:
                over.set()
                raise

        with self._pool(at_once) as pool:
            try:
                list(pool.map(work, range(min(at_once, len(numbers)))))
            except BaseException:
                over.set()
                self._watch.stop()
                raise

    def _numbers(self, stage: str) -> range:
        """The numbers of the sequences of a stage."""
        names = list(STAGES)
        ends = [self.settings.sequences * share // 100 for share in STAGES.values()]
        place = names.index(stage)
        return range(ends[place - 1] if place else 0, ends[place])

    def _next(self, numbers: Iterator[int]) -> int | None:
        with self._noting:
            return next(numbers, None)

    def _do_one(self, number: int, stage: str, port: Port) -> bool:
        """Do one sequence; whether the port can be used for another."""
        began_s = monotonic()

        def counts() -> bool:
            return not self._watch.disturbed(began_s)

        try:
            ran = self._tried(lambda: self._run_one(number, stage, port, counts), counts)
            decided = ran.finding is None or counts()
        except AwayError:
            ran, decided = Ran(0), False
        self._note(number, stage, began_s, ran, decided=decided)
        # What went wrong may go on behind its back: Kafka answers some requests twice.
        return decided and ran.finding is None

    def _tried(self, attempt: Callable[[], T], counts: Callable[[], bool]) -> T:
        """What an attempt comes to, which a broker with too much to do may need several for.

        Raises:
            AwayError: the broker was away meanwhile, which is known by whether it `counts`.
            PortUnavailableError: it is there, and cannot be reached all the same.
        """
        for tries in range(1, TRIES + 1):
            try:
                return attempt()
            except PortUnavailableError as error:
                if not counts():
                    raise AwayError from error
                if tries == TRIES:
                    msg = f"{error} ({TRIES} times, of a broker that is there)"
                    raise PortUnavailableError(msg) from error
            sleep(AGAIN_S)
            self._watch.wait()
        raise AssertionError  # the last try has returned or raised

    def _run_one(self, number: int, stage: str, port: Port, counts: Callable[[], bool]) -> Ran:
        steps = self.settings.steps
        if stage == "tours":
            for name, coverage in self._coverages.items():
                if coverage.way(0, steps - 1) is not None:
                    return self._walk(name, coverage, port, counts)
        random = Random(f"{self.settings.seed}/{number}")
        pace = Pace(stage == TIMED, self._broker_settings)
        return Ran(*wander_live(port, self.profile, pace, random, steps))

    def _walk(self, name: str, coverage: Coverage, port: Port, counts: Callable[[], bool]) -> Ran:
        try:
            walk = Walk(coverage, port, self.settings.steps, counts=counts)
        except FoundError as found:
            return Ran(0, found.finding, space=name)
        finding = walk.go()
        return Ran(walk.steps, finding, space=name)

    def _note(self, number: int, stage: str, began_s: float, ran: Ran, *, decided: bool) -> None:
        """Keep what a sequence came to."""
        came = UNDECIDED
        finding = ran.finding if decided else None
        if decided:
            came = FOUND if finding else LAWFUL
        with self._noting:
            shown = {}
            for name, coverage in self._coverages.items():
                new = coverage.shown - self._noted[name]
                if new:
                    self._noted[name] |= new
                    shown[name] = tuple((hop.node, hop.edge) for hop in sorted(new))
            times = began_s - self._started_s, monotonic() - self._started_s
            sequence = finding.sequence if finding else None
            rules = tuple(sorted(ran.applied - self._applied.keys()))
            self._applied.update(rules)
            entry = Entry(number, stage, ran.steps, came, *times, shown, sequence, ran.space, rules)
            self._journal.add(entry)
            if ran.space:
                self._walked.setdefault(self._coverages[ran.space], []).append(ran.steps)
            self._count(ran.steps, finding)

    @property
    def _is_ended_here(self) -> bool:
        """Whether the broker has ended of which it is known that nobody else has ended it."""
        return self.source.revive is not None and any(o.gone for o in self._watch.outages)

    def _look_again(self) -> None:
        """Do what was undecided once more, if the broker had but too much to do meanwhile."""
        if self._watch.outages and not any(outage.gone for outage in self._watch.outages):
            for stage in STAGES:
                self._run_stage(stage)

    def _look_at_crashes(self) -> None:
        """Do what was under way when the broker ended again, alone: was it that which ended it?"""
        those = [e for e in latest(self._journal.entries) if e.came == UNDECIDED]
        those = [e for e in those if e.stage != "tours"][:MOST_ALONE]
        if not self._is_ended_here or not those:
            return
        tell = self.progress("what was under way when the broker ended", len(those))
        for entry in those:
            self._check_interruption()
            self._watch.wait()
            began_s = monotonic()
            with self._port() as port:
                ran, decided = self._alone(entry, port)
            if self._watch.disturbed(began_s):
                crash = ran.finding and self._smallest_crash(ran.finding.sequence)
                ran, decided = ran._replace(finding=crash), crash is not None
            self._note(entry.number, entry.stage, began_s, ran, decided=decided)
            tell(1)

    def _alone(self, entry: Entry, port: Port) -> tuple[Ran, bool]:
        """What a sequence comes to by itself, and whether the broker was there to be asked."""
        try:
            return self._run_one(entry.number, entry.stage, port, lambda: True), True
        except PortUnavailableError:
            return Ran(0), False

    def _smallest_crash(self, sequence: Sequence) -> Finding | None:
        """The sequence without the steps that the broker ends without, if it does end by it."""
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
        """The finding that the broker ends by a sequence, which is done alone."""
        self._watch.wait()
        began_s = monotonic()
        with self._port() as port:
            finding = replay(sequence, port)
        gone = self._watch.gone(began_s)
        return finding if gone and finding is not None and finding.failure is not None else None

    def _once(self, sequence: Sequence) -> Finding | None:
        """Do a sequence again, and once more if the broker was away meanwhile."""
        while True:
            self._watch.wait()
            began_s = monotonic()

            def counts(since_s: float = began_s) -> bool:
                return not self._watch.disturbed(since_s)

            try:
                finding = self._tried(lambda: self._replayed(sequence), counts)
            except AwayError:
                continue
            if finding is None or counts():
                return finding

    def _replayed(self, sequence: Sequence) -> Finding | None:
        with self._port() as port:
            return replay(sequence, port)

    def _sum_up(self) -> None:
        """What each stage came to, and when the broker was away."""
        entries = latest(self._journal.entries)
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
                        sum(entry.came == UNDECIDED for entry in those),
                        max(e.ended_s for e in those) - min(e.began_s for e in those),
                    )
                )
        for began_s, ended_s, reason, _ in self._watch.outages:
            seconds = None if ended_s is None else ended_s - began_s
            self.result.outages.append(Outage(began_s - self._started_s, seconds, reason))
        self.result.not_reproduced += self._gone
