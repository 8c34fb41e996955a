"""Verification end to end: explore the model, run the port against it, shrink what is found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, repeat
from random import Random
from typing import Protocol

from groupcheck.model.explorer import explore
from groupcheck.model.graph import StateGraph
from groupcheck.model.instance import DELAY, Instance, real_spaces, virtual_spaces
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.coverage import Coverage
from groupcheck.properties.finding import Finding
from groupcheck.properties.interruption import interruptible
from groupcheck.properties.machine import lockstep
from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings, SpaceResult
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.shrink import shrink
from groupcheck.properties.tour import tour

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
    """Is told what is being done; `total` is None where it cannot be known."""

    def __call__(self, what: str, total: int | None, /) -> Callable[[int], None]:
        """Begin a phase; the function returned is told how much of it was done since."""
        ...


def silent(_what: str, _total: int | None) -> Callable[[int], None]:
    """A progress that says nothing."""
    return lambda _done: None


class Verification:
    """One verification of one port."""

    def __init__(self, source: PortSource, settings: Settings, progress: Progress = silent) -> None:
        self.source = source
        self.settings = settings
        self.progress = progress
        self.profile = PROFILES[settings.profile]
        self.result = Result(source.spec, settings, self.profile.kafka)
        self._coverages: dict[str, Coverage] = {}
        self._graphs: dict[str, StateGraph] = {}
        self._raw: dict[tuple[str, ...], Finding] = {}
        self._hangs = 0  # while findings are made minimal
        self._check_interruption: Callable[[], None] = lambda: None

    def run(self) -> Result:
        """Do all of it.

        An interruption, or a port that is gone, ends it early with what was found until then. In
        the main thread SIGTERM and SIGHUP interrupt it as Ctrl-C does.

        Raises:
            PortUnavailableError: the port could not be reached in the first place.
        """
        started = time.monotonic()
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
            self._count_edges()
            self.result.seconds = time.monotonic() - started
        return self.result

    def _do(self) -> None:
        self._explore()
        if self.source.real_time:
            self._walk_side_by_side()
        else:
            self._tour()
            if not any(map(_is_the_end, self._raw.values())):
                self._lockstep()
        self._shrink()
        self._tell()

    def _end_early(self, why: str) -> None:
        self.result.ended_early = why
        self._tell()

    def _tell(self) -> None:
        """Tell what was found, as small as it was made, the shortest first and each once."""
        found = {finding.finding_id: finding for finding in self._kept()}
        self.result.findings = sorted(found.values(), key=_length)

    def _kept(self) -> list[Finding]:
        """The findings, without those that are too many to be told."""
        raw = sorted(self._raw.values(), key=_length)
        most = self.settings.max_findings
        self.result.more += len(raw[most:])
        self._raw = {finding.key: finding for finding in raw[:most]}
        return raw[:most]

    def _spaces(self) -> dict[str, Instance]:
        if not self.source.real_time:
            return virtual_spaces(self.profile, self.settings.members)
        broker = self.source.broker_settings()
        delay_ms = broker.values.get(DELAY, 0)
        if delay_ms > LONGEST_DELAY_MS:
            msg = (
                f"{self.source.spec} cannot be verified: its {DELAY} is {delay_ms}, and every test"
                f" would wait for it; {LONGEST_DELAY_MS} is the most"
            )
            raise PortUnavailableError(msg)
        self.result.presumed = [f"{name}={broker.values[name]}" for name in broker.presumed]
        return real_spaces(self.profile, self.settings.members, broker.values)

    def _explore(self) -> None:
        tell = self.progress("exploring the model", None)
        random = Random(self.settings.seed)
        for name, instance in self._spaces().items():
            space = explore(instance, tell)
            self._graphs[name] = StateGraph(space)
            self._coverages[name] = Coverage(space, random)

    def _tour(self) -> None:
        hangs = 0
        for name, coverage in self._coverages.items():
            tell = self.progress(f"labelled edges, {name}", coverage.space.edge_count)
            with self._port() as port:
                for steps, finding in tour(coverage, port, self.settings.steps):
                    self._count(steps, finding)
                    tell(coverage.news())
                    hangs += finding is not None and finding.hung
                    if hangs >= MOST_HANGS or (finding and not finding.sequence.steps):
                        return
                    if len(self._raw) >= self.settings.max_findings:
                        break

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
                )
                if finding is None:
                    break
                self._raw[finding.key] = finding
                if _is_the_end(finding):
                    break

    def _walk_side_by_side(self) -> None:
        (name,) = self._coverages
        coverage = self._coverages[name]
        tell = self.progress("sequences on a real clock", self.settings.examples)

        def walk(_number: int) -> None:
            with self._port() as port:
                for steps, finding in tour(coverage, port, self.settings.steps):
                    self._count(steps, finding)
                    tell(1)
                    return

        with self._pool(SIDE_BY_SIDE) as pool:
            list(pool.map(walk, range(self.settings.examples)))

    def _count(self, steps: int, finding: Finding | None = None) -> None:
        self._check_interruption()
        self.result.sequences += 1
        self.result.steps += steps
        if finding is not None:
            known = self._raw.get(finding.key)
            if known is None or len(finding.sequence.steps) < len(known.sequence.steps):
                self._raw[finding.key] = finding

    def _shrink(self) -> None:
        raw = self._kept()
        if not raw:
            return
        graphs = list(self._graphs.values())
        tell = self.progress("making findings minimal", len(raw))

        def smallest(finding: Finding) -> None:
            small: Finding | None = shrink(finding, trial, graphs)
            if small is finding and self.source.real_time:
                # Not one of the many sequences tried came to it again: is it more than an accident?
                small = trial([finding.sequence] * CHANCES, finding.key)
            if small is None:
                del self._raw[finding.key]
            else:
                self._raw[finding.key] = small
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
        for name, coverage in self._coverages.items():
            space = coverage.space
            self.result.spaces.append(
                SpaceResult(
                    name, len(space.nodes), space.edge_count, space.depth, coverage.shares()
                )
            )
            self.result.unsupported += [
                what for what in coverage.unsupported if what not in self.result.unsupported
            ]


def _length(finding: Finding) -> int:
    return len(finding.sequence.steps)


def _is_the_end(finding: Finding) -> bool:
    """Whether there is no use in going on: the port hangs, or no test can begin."""
    return finding.hung or not finding.sequence.steps


def _first(found: Iterator[Finding | None], key: tuple[str, ...]) -> Finding | None:
    return next((finding for finding in found if finding is not None and finding.key == key), None)
