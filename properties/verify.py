"""Verification end to end: explore the model, run the port against it, shrink what is found."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, repeat
from random import Random
from typing import Protocol

from groupcheck.model.engine.exploration import StateSpace, Transition, explore
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.exploring.projection import taken
from groupcheck.model.instances.instance import (
    DELAY,
    Instance,
    feature_instances,
    real_clock_instances,
    virtual_time_instances,
)
from groupcheck.model.instances.small import small_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Profile
from groupcheck.properties.coverage.covered import Covered, ProfileCovered, covered_space, digest
from groupcheck.properties.coverage.curve import Curve, Point
from groupcheck.properties.coverage.pairs import PairCoverage
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.findings.canonicalise import canonicalise
from groupcheck.properties.findings.finding import Finding, keep
from groupcheck.properties.findings.shrink import shrink
from groupcheck.properties.generators.machine import lockstep
from groupcheck.properties.generators.parallel_walks import Bulk
from groupcheck.properties.generators.tour import tour
from groupcheck.properties.interruption import interruptible
from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import (
    InstanceCoverage,
    Pairs,
    Result,
    Settings,
    Tours,
    TransitionCounts,
)
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.timings import Timed

# A port that hangs is waited for no more often than this while its behaviour is explored, and no
# more often again while findings are made minimal.
MOST_HANGS = 3

# How often a sequence is tried again while a finding is made smaller.
CHANCES = 3

# The longest initial delay that tests on a real clock wait for, each of them several times.
LONGEST_DELAY_MS = 60_000

# Tests on a real clock wait most of the time, so many run side by side.
SIDE_BY_SIDE = 48


class Progress(Protocol):
    """Shows the progress; `total` is None where it is unknown."""

    def __call__(self, what: str, total: int | None, /) -> Callable[[int], None]:
        """Begin a phase; the returned function receives how much was done since its last call."""
        ...


def silent(_what: str, _total: int | None) -> Callable[[int], None]:
    """A progress that says nothing."""
    return lambda _done: None


@dataclass(frozen=True)
class Explored:
    """The spaces that a port is verified on, explored."""

    spaces: Mapping[str, StateSpace]
    graphs: Mapping[str, StateGraph]

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """A digest of each space, by which coverages of the same are known."""
        return {name: digest(space) for name, space in self.spaces.items()}


def explored(
    spaces: Mapping[str, Instance], tell: Callable[[int], None] = lambda _states: None
) -> Explored:
    """Explore the spaces that ports are to be verified on; `tell` receives the states found."""
    found = {name: explore(each, tell) for name, each in spaces.items()}
    return Explored(found, {name: StateGraph(space) for name, space in found.items()})


def virtual(profile: Profile, settings: Settings) -> dict[str, Instance]:
    """The spaces that a port in virtual time is verified on."""
    found = virtual_time_instances(profile, settings.members)
    if settings.members > 1:
        found |= small_instances(profile, settings.members)
    if settings.every_space:
        found |= feature_instances(profile, settings.members)
    return found


class Verification:
    """One verification of one port, of all its transitions or of those that are `wanted`.

    Spaces that were explored before can be `given`.
    """

    def __init__(
        self,
        source: PortSource,
        settings: Settings,
        progress: Progress = silent,
        given: Explored | None = None,
        wanted: Callable[[Transition], bool] | None = None,
    ) -> None:
        self.source = source
        self.settings = settings
        self.progress = Timed(progress)
        self._given = given
        self._wanted = wanted
        self.profile = PROFILES[settings.profile]
        self.result = Result(
            source.spec, settings, self.profile.kafka, tolerances=source.tolerances
        )
        self._coverages: dict[str, Coverage] = {}
        self._pairs: dict[str, PairCoverage] = {}
        self._graphs: dict[str, StateGraph] = {}
        self._walked_pairs: dict[str, set[int]] = {}  # by their numbers
        self._walked: dict[Coverage, list[int]] = {}  # the steps of each test
        self._raw: dict[tuple[str, ...], Finding] = {}
        self._applied: Counter[str] = Counter()  # beyond the spaces
        self._hangs = 0  # while findings are made minimal
        self._check_interruption: Callable[[], None] = lambda: None
        self._started = 0.0
        self._curve = Curve()

    def run(self) -> Result:
        """Do all of it.

        An interruption, or a port that is gone, ends it early with what was found until then. In
        the main thread SIGTERM and SIGHUP interrupt it as Ctrl-C does.

        Raises:
            PortUnavailableError: the port could not be reached in the first place.
        """
        self._started = time.monotonic()
        self.result.started = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            with interruptible() as self._check_interruption:
                self._do()
        except KeyboardInterrupt:
            self._end_early("interrupted")
        except PortUnavailableError as gone:
            if not self.result.sequences:
                raise
            self._end_early(str(gone))
        finally:
            self.progress.end()
            self.result.phases = self.progress.seconds
            self._count_edges()
            self._curve.end(self._point())
            self.result.curve = self._curve.points
            self.result.seconds = time.monotonic() - self._started
        return self.result

    def covered(self) -> Covered:
        """What was shown, to be put together with what others show."""
        applied = set(self._applied)
        spaces = {}
        digests = self._given.digests if self._given else {}
        for name, coverage in self._coverages.items():
            edges = coverage.space.edges
            applied.update(r for hop in coverage.shown for r in edges[hop.node][hop.edge].fired)
            whole = f"{name}/{self.settings.members}"
            pairs = coverage.covered_pairs()
            if name in self._pairs:
                pairs = pairs | self._pairs[name].covered_pairs()
            spaces[whole] = covered_space(
                coverage.space,
                digests[name],
                coverage.shown.union(*pairs),
                pairs,
                self._walked_pairs.get(name, ()),
            )
        return {self.profile.name: ProfileCovered(spaces, frozenset(applied))}

    def _do(self) -> None:
        self._explore()
        if self.source.real_time:
            self._walk_side_by_side()
        else:
            self._tour()
            self._tour_past_what_was_found()
            if not self._is_over:
                self._walk_in_bulk()
            if not self._is_over:
                self._lockstep()
        self._shrink()
        self._tell()

    @property
    def _is_over(self) -> bool:
        return any(finding.is_the_end for finding in self._raw.values())

    def _end_early(self, why: str) -> None:
        self.result.ended_early = why
        self._tell()

    def _tell(self) -> None:
        """Tell what was found, as small as it was made, the shortest first and each once."""
        found = {finding.finding_id: finding for finding in self._kept()}
        self.result.findings = sorted(found.values(), key=lambda f: (_length(f), f.finding_id))

    def _kept(self) -> list[Finding]:
        """The findings, up to the maximum to report."""
        raw = sorted(self._raw.values(), key=_length)
        most = self.settings.max_findings
        self.result.more += len(raw[most:])
        self._raw = {finding.key: finding for finding in raw[:most]}
        return raw[:most]

    def _spaces(self) -> dict[str, Instance]:
        if not self.source.real_time:
            return virtual(self.profile, self.settings)
        broker = self.source.broker_settings()
        delay_ms = broker.values.get(DELAY, 0)
        if delay_ms > LONGEST_DELAY_MS:
            msg = (
                f"{self.source.spec} cannot be verified: its {DELAY} is {delay_ms}, and every test"
                f" would wait for it; {LONGEST_DELAY_MS} is the most"
            )
            raise PortUnavailableError(msg)
        self.result.assumed_defaults = [
            f"{name}={broker.values[name]}" for name in broker.assumed_defaults
        ]
        return self._real_clock_instances(broker.values)

    def _real_clock_instances(self, broker: Mapping[str, int]) -> dict[str, Instance]:
        """The spaces of a coordinator on a real clock with these settings."""
        return real_clock_instances(self.profile, self.settings.members, broker)

    def _explore(self) -> None:
        tell = self.progress("exploring the model", None)
        given = self._given = self._given or explored(self._spaces(), tell)
        random = Random(self.settings.seed)
        self._graphs.update(given.graphs)
        for name, space in given.spaces.items():
            self._coverages[name] = Coverage(space, random, self._wanted or _any)
            if self.settings.pairs and self._wanted is None and not self.source.real_time:
                self._pairs[name] = PairCoverage(space, random)

    def _tour(self, past: Collection[tuple[str, ...]] = ()) -> None:
        hangs = 0
        edges = ((f"transitions, {n}", each) for n, each in self._coverages.items())
        pairs = ((f"pairs of edges, {n}", each) for n, each in self._pairs.items())
        for what, coverage in chain(edges, pairs):
            tell = self.progress(what, coverage.space.transition_count)
            with self._port() as port:
                for steps, finding in tour(coverage, port, self.settings.steps, past):
                    self._count_walk(coverage, steps, finding)
                    tell(coverage.news())
                    hangs += finding is not None and finding.hung
                    if hangs >= MOST_HANGS or (finding and not finding.sequence.steps):
                        return
                    if len(self._raw) >= self.settings.max_findings:
                        break

    def _tour_past_what_was_found(self) -> None:
        """Tour on as if wrong answers had been correct: they may hide further findings."""
        past: set[tuple[str, ...]] = set()
        while not self._is_over:
            met = set().union(*(coverage.met for coverage in self._coverages.values()))
            if met <= past or len(self._raw) >= self.settings.max_findings:
                return
            past = met
            for coverage in self._coverages.values():
                coverage.reopen()
            self._tour(past)

    def _walk_in_bulk(self) -> None:
        settings = self.settings
        spaces = {name: coverage.space for name, coverage in self._coverages.items()}
        bulk = Bulk(
            self.source, self.profile, spaces, settings.seed, settings.walks, settings.steps
        )
        tell = self.progress("random walks", settings.walks)
        for part in bulk.run(settings.jobs, self._check_interruption):
            self.result.sequences += part.walks
            self.result.steps += part.steps
            for finding in part.findings:
                keep(self._raw, finding)
            for name, times in part.times.items():
                self._coverages[name].add_counts(times)
                self._walked_pairs.setdefault(name, set()).update(part.pairs[name])
            self._applied += part.applied
            self._curve.note(self._point())
            tell(part.walks)
            if part.over or len(self._raw) >= settings.max_findings:
                return

    def _lockstep(self) -> None:
        done = 0
        tell = self.progress("random sequences", self.settings.examples)

        def tally(steps: int) -> None:
            nonlocal done
            done += 1
            self._count(steps)
            tell(1)

        with self._port() as port:
            while done < self.settings.examples and len(self._raw) < self.settings.max_findings:
                finding = lockstep(
                    port,
                    self.profile,
                    examples=self.settings.examples - done,
                    steps=self.settings.steps,
                    seed_number=self.settings.seed + done,
                    known=set(self._raw),
                    tally=tally,
                    applied=self._applied,
                )
                if finding is None:
                    break
                self._raw[finding.key] = finding
                if finding.is_the_end:
                    break

    def _walk_side_by_side(self) -> None:
        (name,) = self._coverages
        coverage = self._coverages[name]
        tell = self.progress("sequences on a real clock", self.settings.examples)

        def walk(_number: int) -> None:
            with self._port() as port:
                for steps, finding in tour(coverage, port, self.settings.steps):
                    self._count_walk(coverage, steps, finding)
                    tell(1)
                    return

        with self._pool(SIDE_BY_SIDE) as pool:
            list(pool.map(walk, range(self.settings.examples)))

    def _count_walk(self, coverage: Coverage, steps: int, finding: Finding | None) -> None:
        self._walked.setdefault(coverage, []).append(steps)
        self._count(steps, finding)

    def _count(self, steps: int, finding: Finding | None = None) -> None:
        self._check_interruption()
        self.result.sequences += 1
        self.result.steps += steps
        self._curve.note(self._point())
        if finding is not None:
            keep(self._raw, finding)

    def _point(self) -> Point:
        """How far it has come."""
        shown = sum(len(coverage.shown) for coverage in self._coverages.values())
        return Point(round(time.monotonic() - self._started, 3), self.result.steps, shown)

    def _shrink(self) -> None:
        raw = self._kept()
        if not raw:
            return
        graphs = list(self._graphs.values())
        tell = self.progress("making findings minimal", len(raw))
        one_form: dict[tuple[str, ...], Finding] = {}

        def smallest(finding: Finding) -> None:
            finding = self._raw[finding.key]
            small: Finding | None = shrink(finding, trial, graphs)
            if small is finding and self.source.real_time:
                # Not one of the many sequences tried came to it again: is it more than an accident?
                small = trial([finding.sequence] * CHANCES, finding.key)
            if small is None:
                del self._raw[finding.key]
            elif _length(small) <= _length(self._raw[finding.key]):
                self._raw[finding.key] = small
            if small is not None and not self.source.real_time:  # where a hundred ways take long
                small = canonicalise(self._raw[finding.key], trial, graphs)
                self._raw[finding.key] = one_form[finding.key] = small
            tell(1)

        with self._trial() as trial:
            if self.source.real_time:
                # One waits most of the time, and may as well wait for all of them at once.
                with self._pool(len(raw)) as pool:
                    list(pool.map(smallest, raw))
            else:
                # In this thread, where an interruption, or a port that hangs, can be stopped.
                for finding in raw:
                    smallest(finding)
        # It stays so, though it was met again in fewer steps, while others were made smaller.
        self._raw |= one_form
        self.result.not_reproduced = len(raw) - len(self._raw)

    @contextmanager
    def _trial(self) -> Iterator[Callable[[list[Sequence], tuple[str, ...]], Finding | None]]:
        """How sequences are tried again: one by one, or side by side on a real clock."""
        if self.source.real_time:
            with self._pool(SIDE_BY_SIDE) as pool:
                yield lambda sequences, key: _first(pool.map(self._once, sequences), key)
        else:
            with self._port() as port:
                yield lambda sequences, key: _first(self._one_by_one(sequences, port), key)

    def _one_by_one(self, sequences: list[Sequence], port: Port) -> Iterator[Finding | None]:
        # A port is free in some of what it does: it is given more than one chance.
        for sequence in chain.from_iterable(repeat(s, CHANCES) for s in sequences):
            if self._hangs >= MOST_HANGS:
                return
            self._check_interruption()
            finding = replay(sequence, port)
            self._hangs += finding is not None and finding.hung
            if finding is not None and finding.key in self._raw:
                # While one is made smaller another may be met, in fewer steps than are known.
                keep(self._raw, finding)
            yield finding

    def _once(self, sequence: Sequence) -> Finding | None:
        with self._port() as port:
            return replay(sequence, port)

    @contextmanager
    def _pool(self, threads: int) -> Iterator[ThreadPoolExecutor]:
        """Threads that begin nothing more, and wait for nothing, once the work is interrupted."""
        pool = ThreadPoolExecutor(threads)
        try:
            yield pool
        except KeyboardInterrupt:
            self.source.interrupt()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    @contextmanager
    def _port(self) -> Iterator[Port]:
        port = self.source.connect()
        try:
            yield port
        finally:
            port.shutdown()

    def _count_edges(self) -> None:
        self.result.pairs = [
            Pairs(instance=name, pairs=each.counts(), tours=self._tours(each))
            for name, each in self._pairs.items()
        ]
        for name, coverage in self._coverages.items():
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
                    group_transitions=dict(sorted(taken(space, coverage.times).items())),
                )
            )
            self.result.unsupported += [
                what for what in coverage.unsupported if what not in self.result.unsupported
            ]

    def _tours(self, coverage: Coverage) -> Tours:
        """The tours so far; the lower bound is only for the whole of an instance."""
        walked = self._walked.get(coverage, [])
        lower_bound = coverage.least_steps() if self._wanted is None else 0
        return Tours(len(walked), sum(walked), lower_bound)


def _any(_edge: Transition) -> bool:
    return True


def _length(finding: Finding) -> int:
    return len(finding.sequence.steps)


def _first(found: Iterator[Finding | None], key: tuple[str, ...]) -> Finding | None:
    return next((finding for finding in found if finding is not None and finding.key == key), None)
