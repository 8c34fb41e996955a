"""Parallel random walks: in parts, each from a seed of its own, on any number of processes.

A part does the same in every process and after any other part: it has its own port and guide.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from random import Random
from typing import Any, Final, NamedTuple

from groupcheck.model.edits import as_json
from groupcheck.model.engine.edits import Edit
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.instances.instance import Instance
from groupcheck.model.profiles.minors import EVERY_PROFILE
from groupcheck.model.step import Profile
from groupcheck.properties.deviations.deviating import deviating, deviations_of
from groupcheck.properties.findings.finding import Finding, keep
from groupcheck.properties.generators.choices import Guide, swarm, uniform
from groupcheck.properties.generators.context import Capabilities, capabilities_of
from groupcheck.properties.generators.fuzzing import fuzz
from groupcheck.properties.generators.precomputed import Tracks
from groupcheck.properties.generators.walks import Choice, Walker
from groupcheck.properties.interruption import interruptible
from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.source import PortSource, port_source

WALKS: Final = 50  # of one part
WIDE: Final = 10  # every so manyth walk leaves the explored spaces
WORTH: Final = 100_000  # steps that another process is worth: it has to explore the spaces first


def processors() -> int:
    """How many processors there are for this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Part(NamedTuple):
    """What one part came to.

    `times` has, for each model instance, how often each transition was covered, and `pairs` the
    numbers of the covered pairs.
    """

    walks: int
    steps: int
    findings: tuple[Finding, ...]
    times: Mapping[str, Sequence[int]]
    applied: Counter[str]
    pairs: Mapping[str, frozenset[int]]

    @property
    def over(self) -> bool:
        """Whether there is no use in going on: the port hangs, or no test can begin."""
        return any(finding.is_the_end for finding in self.findings)


class Bulk(NamedTuple):
    """Which walks: on a port, in these spaces and beyond, so many, each of so many steps."""

    source: PortSource
    profile: Profile
    spaces: Mapping[str, StateSpace]
    seed: int
    walks: int
    steps: int

    @property
    def parts(self) -> range:
        """The parts that there are."""
        return range(-(-self.walks // WALKS))

    def run(self, jobs: int, check: Callable[[], None] = lambda: None) -> Iterator[Part]:
        """Do all parts, in their order; `check` is called now and then, and may raise.

        Raises:
            PortUnavailableError: the port cannot be reached, or has ended the process it was in.
        """
        jobs = min(jobs, self.walks * self.steps // WORTH, len(self.parts))
        if jobs > 1 and self.source.typed:
            yield from self._side_by_side(jobs)
            return
        parts = Parts(self)
        for number in self.parts:
            yield parts.do(number, check)

    def _side_by_side(self, jobs: int) -> Iterator[Part]:
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        plain = {name: _plain(space.instance) for name, space in self.spaces.items()}
        deviations = list(map(as_json, self.profile.edits))
        given = (
            self.source.spec,
            self.profile.name,
            deviations,
            plain,
            self.seed,
            self.walks,
            self.steps,
        )
        pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(stop, *given))
        try:
            numbers = iter(self.parts)
            running = [pool.submit(_do, number) for number in islice(numbers, 2 * jobs)]
            while running:
                yield _excusing(running.pop(0).result(), self.profile.edits)
                running += [pool.submit(_do, number) for number in islice(numbers, 1)]
        except BrokenProcessPool as broken:
            msg = f"{self.source.spec} has ended the process that it was run in"
            raise PortUnavailableError(msg) from broken
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _plain(instance: Instance) -> Instance:
    """An instance that can be sent to another process, which has profiles of its own."""
    no_profile: Any = None
    return instance._replace(profile=no_profile, settings=dict(instance.settings))


class Parts:
    """Does parts, one after the other; what it knows of the spaces is kept between them."""

    def __init__(self, bulk: Bulk) -> None:
        self.bulk = bulk
        self._tracks = {name: Tracks(space) for name, space in bulk.spaces.items()}

    def do(self, number: int, check: Callable[[], None]) -> Part:
        """One part."""
        port = self.bulk.source.connect()
        try:
            return _Under(self.bulk, self._tracks, port, number).do(check)
        finally:
            port.shutdown()


class _Under:
    """A part under way."""

    def __init__(self, bulk: Bulk, tracks: Mapping[str, Tracks], port: Port, number: int) -> None:
        self.bulk = bulk
        self.port = port
        self.random = Random(f"{bulk.seed}/{number}")
        self.count = min(WALKS, bulk.walks - number * WALKS)
        self.walkers = {name: Walker(each, port, bulk.profile) for name, each in tracks.items()}
        self.guides = {name: Guide(each, self.random) for name, each in tracks.items()}
        self.capabilities: Capabilities | None = None
        self.findings: dict[tuple[str, ...], Finding] = {}
        self.applied: Counter[str] = Counter()
        self.steps = 0

    def do(self, check: Callable[[], None]) -> Part:
        """Do all its walks, unless the port hangs."""
        done = 0
        for walk in range(self.count):
            check()
            steps, finding = self._one(walk)
            self.steps += steps
            done += 1
            if finding is not None:
                keep(self.findings, finding)
                if finding.is_the_end:
                    break
        return Part(
            done,
            self.steps,
            tuple(self.findings.values()),
            {name: walker.times for name, walker in self.walkers.items()},
            self.applied,
            {name: frozenset(walker.pairs) for name, walker in self.walkers.items()},
        )

    def _one(self, walk: int) -> tuple[int, Finding | None]:
        if walk % WIDE == 0 or not self.walkers:
            if self.capabilities is None:
                self.capabilities = capabilities_of(self.port, self.bulk.profile)
            walked = fuzz(
                self.port, self.bulk.profile, self.capabilities, self.random, self.bulk.steps
            )
            self.applied.update(walked.applied)
            return walked.steps, walked.finding
        name = self.random.choice(list(self.walkers))
        walker, kind = self.walkers[name], self.random.randrange(3)
        choose: Choice = self.guides[name]
        if kind:
            choose = (uniform, swarm)[kind - 1](walker.tracks, self.random)
        return walker.walk(choose, self.bulk.steps)


# What a process that does parts for another one has; it does nothing else.
_mine: dict[str, Any] = {}


def _begin(  # noqa: PLR0913, PLR0917 - what makes a bulk
    stop: Any,  # noqa: ANN401 - an event between processes has no public type
    spec: str,
    profile_name: str,
    deviations: list[dict[str, Any]],
    instances: Mapping[str, Instance],
    seed: int,
    walks: int,
    steps: int,
) -> None:
    """Make ready to do parts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who has begun it
    gc.set_threshold(50_000)
    profile = EVERY_PROFILE[profile_name]
    profile = deviating(profile, deviations_of(profile, deviations))
    spaces = {name: explore(each._replace(profile=profile)) for name, each in instances.items()}
    bulk = Bulk(port_source(spec, seed=seed), profile, spaces, seed, walks, steps)
    _mine["parts"], _mine["stop"] = Parts(bulk), stop
    gc.freeze()


def _excusing(part: Part, deviations: tuple[Edit, ...]) -> Part:
    """The part with findings that excuse these deviations, which cannot be sent as they are."""
    findings = (
        each._replace(sequence=each.sequence._replace(deviations=deviations))
        for each in part.findings
    )
    return part._replace(findings=tuple(findings))


def _do(number: int) -> Part:
    def check() -> None:
        if _mine["stop"].is_set():
            raise KeyboardInterrupt

    with interruptible():
        part: Part = _mine["parts"].do(number, check)
    return _excusing(part, ())
