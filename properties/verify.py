"""Verification end to end: run a schedule on a port, and collect the result."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from random import Random
from threading import Lock
from typing import Final

from groupcheck.model.classic.exploring.group_graph import arrow_counts
from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.engine.edits import FirstNumber, always
from groupcheck.model.engine.exploration import Transition
from groupcheck.model.engine.graph import StateGraph, TransitionReference
from groupcheck.properties import schedules
from groupcheck.properties.coverage.carried import carried
from groupcheck.properties.coverage.covered import Covered, ProfileCovered, covered_space
from groupcheck.properties.coverage.curve import Curve, Point
from groupcheck.properties.coverage.pairs import PairCoverage
from groupcheck.properties.coverage.transition_coverage import TRIES_PER_BRANCH, Coverage
from groupcheck.properties.deviations.candidates import is_optional, is_vague
from groupcheck.properties.deviations.observed import ObservedTest, count_covered
from groupcheck.properties.deviations.search import Deviations, KnownDeviation, Search
from groupcheck.properties.explored import Explored, explored, with_deviations
from groupcheck.properties.findings.finding import Finding, keep, length_of
from groupcheck.properties.interruption import Map, Pool, interruptible
from groupcheck.properties.minimising import (
    conclude,
    excusing_least,
    in_virtual_time,
    minimise,
)
from groupcheck.properties.ports.numbering import first_generation
from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.progress import Progress, Timed, silent
from groupcheck.properties.result import (
    InstanceCoverage,
    Pairs,
    Result,
    Settings,
    Tours,
    TransitionCounts,
)
from groupcheck.properties.run import Checks, replay

# The share of the time for the search, if there are findings, which are minimised after it.
SEARCH_SHARE: Final = 0.75

# How many steps a finding may have, and how many such findings are explained at a time, before they
# are minimal: it may take minutes to find what explains long ones.
MOST_STEPS: Final = 8
MOST_SHORT: Final = 6


class TimeOverError(KeyboardInterrupt):
    """The time of the run is over; as an interruption it ends every phase in an orderly way."""


class Verification:
    """One verification of one port, of all its transitions or of those that are `wanted`.

    Args:
        source: makes the ports.
        settings: how much is done.
        progress: shows the progress.
        given: instances that were explored before, in place of those of the schedule.
        wanted: selects the transitions to cover; None for all.
        schedule: what is done; None for the schedule of the port's clock.
        on_finding: receives each finding when it is found, before it is made minimal.
        known: the deviations that the port is known to have.
        record: receives each test on a real clock that counts.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - settings of one run, most of them optional
        self,
        source: PortSource,
        settings: Settings,
        progress: Progress = silent,
        given: Explored | None = None,
        wanted: Callable[[Transition], bool] | None = None,
        schedule: schedules.Schedule | None = None,
        on_finding: Callable[[Finding], None] = lambda _finding: None,
        known: Sequence[KnownDeviation] = (),
        record: Callable[[Checks], None] = lambda _checks: None,
    ) -> None:
        self.source = source
        self.settings = settings
        self.progress = Timed(progress)
        self.wanted = wanted
        self.schedule = schedule or schedules.usual(source)
        self.profile = EVERY_PROFILE[settings.profile]
        self.known = known
        edits = tuple(each.edit for each in known)
        self.search = Search(self.profile, edits, lambda: self.search_is_over)
        self.result = Result(
            source.spec, settings, self.profile.kafka, tolerances=source.tolerances
        )
        self.coverages: dict[str, Coverage] = {}
        self.pairs: dict[str, PairCoverage] = {}
        self.walked_pairs: dict[str, set[int]] = {}  # by their numbers
        self.findings: dict[tuple[str, ...], Finding] = {}
        self.applied: Counter[str] = Counter()  # rules, beyond the instances
        self.check_interruption: Callable[[], None] = lambda: None  # also raises TimeOverError
        self._interrupted: Callable[[], None] = lambda: None
        self._given = given
        self._kafka: Explored | None = None  # the same without deviations
        self._explored_with: Deviations = ()
        self.replay_hangs = 0  # while findings were minimised
        self.confirmed: dict[tuple[str, ...], Finding] = {}  # those that recur
        self.minimal: dict[tuple[str, ...], Finding] = {}  # those of them that were minimised
        self.tried: set[tuple[object, ...]] = set()  # for findings, with the same deviations
        # On a real clock all tests, and whether the port failed at the last input of each.
        self.tests: list[tuple[ObservedTest, bool]] = []
        self.test_lengths: dict[Coverage, list[int]] = {}  # in steps
        # In virtual time the transitions of each test of a tour, until one was ambiguous.
        self.taken: dict[Coverage, list[Sequence[TransitionReference]]] = {}
        self._started = 0.0
        self._curve = Curve()
        self._minimising = False
        self._on_finding = on_finding
        self._record = record
        self._reported: set[tuple[str, ...]] = set()
        self._lock = Lock()

    def run(self) -> Result:
        """Run the schedule.

        An interruption, or a failed port, ends it early with the findings so far. In the main
        thread SIGTERM and SIGHUP interrupt it as Ctrl-C does.

        Raises:
            PortUnavailableError: the port could not be reached in the first place.
        """
        self._started = time.monotonic()
        self.result.started = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            with interruptible() as self._interrupted:
                self._run()
                self._publish()
        except KeyboardInterrupt:
            self._end_early("interrupted")
        except PortUnavailableError as gone:
            if not self.result.sequences:
                raise
            self._end_early(str(gone))
        finally:
            self.progress.end()
            self.result.phases = self.progress.seconds
            self.result.answered = self.has_answered
            self._count_transitions()
            self._curve.end(self._point())
            self.result.curve = self._curve.points
            self.result.seconds += time.monotonic() - self._started
        return self.result

    def _run(self) -> None:
        """Run the schedule until the time is over."""
        self.check_interruption = self._check
        try:
            self._confirm_known()
            self.schedule(self)
        except TimeOverError:
            self._end_in_time()

    def _end_in_time(self) -> None:
        """Make the findings minimal in the rest of the time; on a real clock the ports are gone."""
        self.result.time_over = over = self.time_over
        self._minimising = True
        try:
            if self.source.real_time and self.findings:
                raise TimeOverError  # noqa: TRY301 - as below
            with in_virtual_time(self) as how:
                minimise(self, how)
                conclude(self, how)
        except TimeOverError:
            self._add_causes()
            self.result.time_over = f"{over}, the findings may not be minimal"

    def _add_causes(self) -> None:
        """Add a finding for each deviation that has none yet."""
        for found in self.search.findings():
            if found.key not in self.findings:
                self.findings[found.key] = excusing_least(self, found)

    @property
    def time_over(self) -> str:
        """The text of a result whose time was over before everything was tried."""
        return f"the time of {self.settings.time_s:,} s was over"

    def _check(self) -> None:
        self._interrupted()
        self._check_time()

    def _check_time(self) -> None:
        # On a real clock the schedule ends the search itself, with its ports still open.
        found = bool(self.findings or self.search.adopted)
        searching = found and not self._minimising and not self.source.real_time
        if self._is_used(SEARCH_SHARE if searching else 1):
            raise TimeOverError

    @property
    def search_is_over(self) -> bool:
        """Whether the rest of the time is reserved for minimising findings."""
        return self._is_used(SEARCH_SHARE)

    def _is_used(self, share: float) -> bool:
        time_s = self.settings.time_s
        return bool(time_s) and time.monotonic() - self._started > time_s * share

    def covered(self) -> Covered:
        """The coverage, to be merged with that of other runs."""
        applied = set(self.applied)
        spaces = {}
        digests = self._given.digests if self._given else {}
        for name, coverage in self.coverages.items():
            edges = coverage.space.edges
            applied.update(
                r
                for transition in coverage.shown
                for r in edges[transition.node][transition.edge].applied
            )
            whole = f"{name}/{self.settings.members}"
            pairs = coverage.covered_pairs()
            if name in self.pairs:
                pairs = pairs | self.pairs[name].covered_pairs()
            spaces[whole] = covered_space(
                coverage.space,
                digests[name],
                coverage.shown.union(*pairs),
                pairs,
                self.walked_pairs.get(name, ()),
            )
        return {self.profile.name: ProfileCovered(spaces, frozenset(applied))}

    @property
    def graphs(self) -> list[StateGraph]:
        """The state graphs of the instances, with the deviations."""
        return list(self._given.graphs.values()) if self._given else []

    @property
    def kafka_graphs(self) -> list[StateGraph]:
        """The state graphs of the instances, without deviations."""
        return list(self._kafka.graphs.values()) if self._kafka else []

    @property
    def is_over(self) -> bool:
        """Whether no further test is possible."""
        # A copy: several threads add findings.
        return any(finding.is_the_end for finding in list(self.findings.values()))

    @property
    def has_enough(self) -> bool:
        """Whether the maximum of findings is reached."""
        found = len(self.findings) + len(self.search.adopted)
        return found >= self.settings.max_findings

    @property
    def has_answered(self) -> bool:
        """Whether the port has sent a response, in a finding or to a covered transition."""
        exchanges = (exchange for each in self.findings.values() for exchange in each.exchanges)
        shown = (
            coverage.space.edges[transition.node][transition.edge]
            for coverage in self.coverages.values()
            for transition in coverage.shown
        )
        return any(each.seen.responses for each in exchanges) or any(e.responses for e in shown)

    def explore(self, instances: Callable[[], dict[str, Instance]]) -> None:
        """Explore the instances, unless explored ones were given, and plan their coverage."""
        done = self.progress("exploring the model", None)
        self._given = self._given or explored(instances(), done)
        self._kafka = self._kafka or self._given
        before, now = self._explored_with, self.search.adopted
        dropped, added = _without(before, now), _without(now, before)
        if dropped or added:
            changed = (*added, *dropped)
            self._given = with_deviations(self._given, self.search.model, changed, done)
            self._explored_with = now
        # What a test has shown may differ from what is equal to it.
        differs = any(isinstance(edit, FirstNumber) for edit in (*added, *dropped))
        self._plan(self._given, carry_over=not differs and not any(map(is_vague, dropped)))

    def _confirm_known(self) -> None:
        """Drop the known deviations that their traces no longer show on the port."""
        fixed: list[str] = []
        for known in self.known:
            excused = self.search.without(known.edit)
            with self.port() as port:
                finding = replay(known.trace._replace(deviations=excused), port)
            self.count(len(known.trace.steps))
            if finding is not None and self.search.explains(finding):
                self.search.evidence.append(ObservedTest.of(finding))
            else:
                self.search.adopted = excused
                fixed.append(str(known.edit))
        self.result.known = tuple(str(always(known.edit)) for known in self.known)
        self.result.fixed = tuple(fixed)

    def adopt(self) -> bool:
        """Adopt the deviations that explain findings, and drop what they explain.

        The findings are minimal, or a few that are confirmed and short.

        Returns:
            Whether there are any.
        """
        findings = list(filter(self.is_minimal, self.findings.values()))
        confirmed = filter(self.is_confirmed, self.findings.values())
        others = (each for each in confirmed if not self.is_minimal(each))
        short = (each for each in others if len(each.exchanges) <= MOST_STEPS)
        findings += sorted(short, key=length_of)[:MOST_SHORT]
        if not self.has_answered or not self.search.learn(findings, self.coverages.values()):
            return False
        self.tried.clear()
        self.drop_explained()
        self.explore(dict)
        return True

    def is_confirmed(self, finding: Finding) -> bool:
        """Whether a finding has recurred, or was made minimal."""
        return self.confirmed.get(finding.key) is finding

    def is_minimal(self, finding: Finding) -> bool:
        """Whether a finding was minimised."""
        return self.minimal.get(finding.key) is finding

    def drop_explained(self) -> None:
        """Drop the findings that the deviations explain, and excuse these in the others.

        Differences that only a refuted deviation explained become findings again.
        """
        before, self.findings = self.findings, {}
        for finding in before.values():
            again: Finding | None = finding
            if finding.failure is None and finding.sequence.deviations != self.search.adopted:
                again = ObservedTest.of(finding).finding(self.search.model)
            if again is not None:
                keep(self.findings, again)
        for finding in self.search.take_unexplained():
            keep(self.findings, finding)

    def _plan(self, given: Explored, *, carry_over: bool) -> None:
        random = Random(self.settings.seed)
        # A port without randomness may never do what a deviation only allows.
        optional = not self.source.real_time and any(map(is_optional, self.search.adopted))
        tries = 1 if optional else TRIES_PER_BRANCH
        for name, space in given.spaces.items():
            before = self.coverages.get(name)
            if before is not None and before.space is space:
                continue
            self.coverages[name] = coverage = Coverage(space, random, self.wanted or _any, tries)
            for test, failed in self.tests:
                count_covered(test, coverage, self.search.model, failed=failed)
            if before is not None:
                coverage.leave_out_as(before)
                if carry_over:
                    self._carry_over(before, coverage)
            if self.settings.pairs and self.wanted is None and not self.source.real_time:
                self.pairs[name] = PairCoverage(space, random)

    def count(
        self, steps: int, finding: Finding | None = None, checks: Checks | None = None
    ) -> None:
        """Count a test, keep its finding, and record its checks."""
        self._interrupted()
        self.result.sequences += 1
        self.result.steps += steps
        if finding is not None:
            keep(self.findings, finding)
        if checks is not None:
            self._record(checks)
        self.note_progress()

    def keep_test(self, checks: Checks | None, *, failed: bool) -> None:
        """Keep a test on a real clock: what it covers by other rules is not tried again."""
        (coverage,) = self.coverages.values()
        broker, first = coverage.space.instance.broker, first_generation(self.search.model)
        exchanges = tuple(checks.exchanges) if checks is not None else ()
        test = ObservedTest(broker, exchanges, self.source.tolerances, first)
        self.tests.append((test, failed))

    def _carry_over(self, before: Coverage, coverage: Coverage) -> None:
        """Count what earlier tests have shown that the rules before and now agree on."""
        for taken in carried(self.taken.pop(before, ()), before.space, coverage.space):
            if taken:
                coverage.count_test(taken)
                self.count_tour(coverage, len(taken), taken)

    def count_tour(
        self, coverage: Coverage, steps: int, taken: Sequence[TransitionReference] = ()
    ) -> None:
        """Count a test of a tour, besides `count`; what it has taken is kept for other rules."""
        self.test_lengths.setdefault(coverage, []).append(steps)
        if taken:
            self.taken.setdefault(coverage, []).append(taken)

    def note_progress(self) -> None:
        """Add a point to the curve of transitions covered, and report new findings.

        Raises:
            TimeOverError: the time of the run is over.
        """
        self._curve.note(self._point())
        if len(self._reported) < len(self.findings):
            self._report_findings()
        self._check_time()

    def kept(self) -> list[Finding]:
        """The findings, the shortest first; drops those beyond the maximum to report."""
        raw = sorted(self.findings.values(), key=length_of)
        most = self.settings.max_findings
        self.result.more += len(raw[most:])
        self.findings = {finding.key: finding for finding in raw[:most]}
        return raw[:most]

    def _report_findings(self) -> None:
        with self._lock:  # on a real clock many threads count
            for key, finding in list(self.findings.items()):
                if key not in self._reported:
                    self._reported.add(key)
                    self._on_finding(finding)

    @contextmanager
    def port(self) -> Iterator[Port]:
        """A port of the source, shut down at the end."""
        port = self.source.connect()
        try:
            yield port
        finally:
            port.shutdown()

    @property
    def ports(self) -> int:
        """How many programs run side by side: all calls of other ports come from one thread."""
        return (self.settings.side_by_side or 1) if self.source.is_program else 1

    @contextmanager
    def side_by_side(self) -> Iterator[Map]:
        """Calls a function for several values, with several ports in a thread for each."""
        if self.ports == 1:
            yield map  # in the main thread, where a port that hangs can be interrupted
            return
        with self.pool(self.ports) as pool:
            yield pool.map

    @contextmanager
    def pool(self, threads: int) -> Iterator[Pool]:
        """Threads that start no calls and do not wait after an interruption.

        None of them runs after the block.
        """
        pool = Pool(threads)
        try:
            with pool:
                yield pool
        except KeyboardInterrupt:
            self.source.interrupt()
            raise
        finally:
            pool.finish()

    def _end_early(self, why: str) -> None:
        self.result.ended_early = why
        self._add_causes()
        self._publish()

    def _publish(self) -> None:
        """Put the findings into the result, each once, the shortest first."""
        # Of several with one id, the shortest.
        found = {finding.finding_id: finding for finding in reversed(self.kept())}
        self.result.findings = sorted(found.values(), key=lambda f: (length_of(f), f.finding_id))

    def _point(self) -> Point:
        shown = sum(len(coverage.shown) for coverage in self.coverages.values())
        return Point(round(time.monotonic() - self._started, 3), self.result.steps, shown)

    def _count_transitions(self) -> None:
        self.result.pairs = [
            Pairs(instance=name, pairs=each.counts(), tours=self._tours(each))
            for name, each in self.pairs.items()
        ]
        for name, coverage in self.coverages.items():
            space, outcomes = coverage.space, coverage.kinds()
            self.result.instances.append(
                InstanceCoverage(
                    name=name,
                    members=self.settings.members,
                    states=len(space.nodes),
                    depth=space.depth,
                    transitions=TransitionCounts.of(outcomes),
                    outcomes=outcomes,
                    tours=self._tours(coverage),
                    broker=dict(space.instance.broker),
                    group_transitions=dict(sorted(arrow_counts(space, coverage.times).items())),
                )
            )
            self.result.unsupported += [
                what for what in coverage.unsupported if what not in self.result.unsupported
            ]

    def _tours(self, coverage: Coverage) -> Tours:
        """The tours so far; the lower bound is only for the whole of an instance."""
        lengths = self.test_lengths.get(coverage, [])
        lower_bound = coverage.least_steps() if self.wanted is None else 0
        return Tours(len(lengths), sum(lengths), lower_bound)


def _without(some: Deviations, others: Deviations) -> Deviations:
    known = set(map(str, others))
    return tuple(edit for edit in some if str(edit) not in known)


def _any(_edge: Transition) -> bool:
    return True
