"""Parallel random walks: in parts, each from a seed of its own, on any number of processes.

The result of a part depends on its number alone: it has its own port, random numbers and guide.
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

from groupcheck.model.classic.edits import as_json
from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import Edit
from groupcheck.properties.deviations.deviating import deviating, deviations_of
from groupcheck.properties.explored import space_of, steps_of
from groupcheck.properties.findings.finding import Finding, keep
from groupcheck.properties.generators.choices import Guide, swarm, uniform
from groupcheck.properties.generators.context import Capabilities, capabilities_of
from groupcheck.properties.generators.fuzzing import fuzz
from groupcheck.properties.generators.precomputed import PrecomputedSteps
from groupcheck.properties.generators.walks import Choice, Walker
from groupcheck.properties.interruption import Map, interruptible
from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.source import PortSource, port_source

WALKS: Final = 50  # in a part
FUZZING_INTERVAL: Final = 10  # every tenth walk is not limited to the explored instances
# The steps that justify another process, which has to explore the instances first.
STEPS_PER_PROCESS: Final = 100_000


def processors() -> int:
    """How many processors there are for this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Part(NamedTuple):
    """The result of one part.

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
        """Whether no other part can run: the port hangs, or no test can begin."""
        return any(finding.is_the_end for finding in self.findings)


class ParallelWalks(NamedTuple):
    """A number of walks of limited length on a port, in these instances and beyond."""

    source: PortSource
    profile: Profile
    precomputed: Mapping[str, PrecomputedSteps]
    seed: int
    walks: int
    steps: int

    @property
    def parts(self) -> range:
        """The numbers of the parts."""
        return range(-(-self.walks // WALKS))

    def run(
        self, jobs: int, check: Callable[[], None] = lambda: None, each: Map = map
    ) -> Iterator[Part]:
        """Run all parts, and return them in order.

        Args:
            jobs: the largest number of processes.
            check: called before each walk, and may raise.
            each: runs the parts in this process.

        Raises:
            PortUnavailableError: the port cannot be reached, or ended the process that ran it.
        """
        jobs = min(jobs, self.walks * self.steps // STEPS_PER_PROCESS, len(self.parts))
        if jobs > 1 and self.source.typed:
            yield from self._in_processes(jobs)
            return
        parts = Parts(self)
        yield from each(lambda number: parts.run(number, check), self.parts)

    def _in_processes(self, jobs: int) -> Iterator[Part]:
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        plain = {name: _plain(each.space.instance) for name, each in self.precomputed.items()}
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
            msg = f"{self.source.spec} ended the process that ran it"
            raise PortUnavailableError(msg) from broken
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _plain(instance: Instance) -> Instance:
    """An instance that can be sent to another process, which has profiles of its own."""
    no_profile: Any = None
    return instance._replace(profile=no_profile, settings=dict(instance.settings))


class Parts:
    """Runs parts, one after the other."""

    def __init__(self, plan: ParallelWalks) -> None:
        self.plan = plan

    def run(self, number: int, check: Callable[[], None]) -> Part:
        """Run one part."""
        port = self.plan.source.connect()
        try:
            return _RunningPart(self.plan, port, number).run(check)
        finally:
            port.shutdown()


class _RunningPart:
    """A part that is running."""

    def __init__(
        self,
        plan: ParallelWalks,
        port: Port,
        number: int,
    ) -> None:
        self.plan = plan
        self.port = port
        self.random = Random(f"{plan.seed}/{number}")
        self.count = min(WALKS, plan.walks - number * WALKS)
        self.walkers = {name: Walker(each, port) for name, each in plan.precomputed.items()}
        self.guides = {name: Guide(each, self.random) for name, each in plan.precomputed.items()}
        self.capabilities: Capabilities | None = None
        self.findings: dict[tuple[str, ...], Finding] = {}
        self.applied: Counter[str] = Counter()
        self.steps = 0

    def run(self, check: Callable[[], None]) -> Part:
        """Run all its walks, unless the port hangs."""
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
        if walk % FUZZING_INTERVAL == 0 or not self.walkers:
            if self.capabilities is None:
                self.capabilities = capabilities_of(self.port, self.plan.profile)
            walked = fuzz(
                self.port, self.plan.profile, self.capabilities, self.random, self.plan.steps
            )
            self.applied.update(walked.applied)
            return walked.steps, walked.finding
        name = self.random.choice(list(self.walkers))
        walker, kind = self.walkers[name], self.random.randrange(3)
        choose: Choice = self.guides[name]
        if kind:
            choose = (uniform, swarm)[kind - 1](walker.precomputed, self.random)
        return walker.walk(choose, self.plan.steps)


# The state of a process that runs parts for its parent process.
_mine: dict[str, Any] = {}


def _begin(  # noqa: PLR0913, PLR0917 - of the walks
    stop: Any,  # noqa: ANN401 - an event between processes has no public type
    spec: str,
    profile_name: str,
    deviations: list[dict[str, Any]],
    instances: Mapping[str, Instance],
    seed: int,
    walks: int,
    steps: int,
) -> None:
    """Prepare a process to run parts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process sets `stop`
    gc.set_threshold(50_000)
    profile = EVERY_PROFILE[profile_name]
    profile = deviating(profile, deviations_of(profile, deviations))
    precomputed = {
        name: steps_of(space_of(each._replace(profile=profile)), profile)
        for name, each in instances.items()
    }
    plan = ParallelWalks(port_source(spec, seed=seed), profile, precomputed, seed, walks, steps)
    _mine["parts"], _mine["stop"] = Parts(plan), stop
    gc.freeze()


def _excusing(part: Part, deviations: tuple[Edit, ...]) -> Part:
    """The part, with these deviations in its findings; edits cannot be pickled."""
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
        part: Part = _mine["parts"].run(number, check)
    return _excusing(part, ())
