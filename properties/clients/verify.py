"""Verifies a client: leads consumers through each transition of the specification."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock
from time import monotonic
from typing import Final, NamedTuple

from groupcheck.model.client import ClientInput
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.member.specification import Consumer
from groupcheck.properties.clients.differences import (
    Difference,
    Events,
    difference,
    followed,
    rank,
)
from groupcheck.properties.clients.port import (
    ClientFailedError,
    ClientPort,
    ClientUnderTest,
    UnsupportedSettingsError,
)
from groupcheck.properties.clients.tour import Path, Tour

# How much longer a consumer has when a difference is tried again.
CONFIRMING: Final = 2
MOST_STEPS: Final = 40  # of a consumer
MOST_FAILURES: Final = 20  # of consumers; then the client is not asked again


class NotPossibleError(ClientFailedError):
    """An input is not possible in the state of the consumer."""


class Finding(NamedTuple):
    """A difference between a client and Kafka's.

    Args:
        words: what differs.
        rules: those that are applied where it differs, each with the number of transitions.
        inputs: the shortest sequence found; the last input shows it.
        difference: in that sequence.
        applied: the rules of the last step of that sequence.
        confirmed: whether a fresh consumer showed it again.
    """

    words: str
    rules: tuple[tuple[str, int], ...]
    inputs: tuple[ClientInput, ...]
    difference: Difference
    applied: tuple[str, ...]
    confirmed: bool


@dataclass
class Verified:
    """What was tried on a client in one model instance, and what was found."""

    instance: str
    transitions: int = 0
    same: int = 0
    differing: int = 0
    failed: int = 0
    steps: int = 0
    sequences: int = 0
    unsupported: str = ""
    stopped: str = ""
    interrupted: bool = False
    findings: list[Finding] = field(default_factory=list)
    failures: dict[str, tuple[ClientInput, ...]] = field(default_factory=dict)
    # By rule: the transitions that apply it, in which the client is the same, and in which not.
    rules: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def untried(self) -> int:
        """The number of transitions that no consumer has come to."""
        return self.transitions - self.same - self.differing - self.failed


class Limits(NamedTuple):
    """The limits of a run.

    Args:
        jobs: how many consumers there are at a time.
        patience_s: how long a consumer may take for what it does next.
        time_s: after how many seconds no other sequence is begun.
    """

    jobs: int = 1
    patience_s: float = 1.5
    time_s: float = float("inf")


def verify(
    port: ClientPort,
    name: str,
    instance: Consumer,
    limits: Limits,
    progress: Callable[[int], None] = lambda _: None,
) -> Verified:
    """Lead consumers of an open port through the transitions of a model instance.

    Args:
        port: the client.
        name: of the instance.
        instance: the specification with its settings.
        limits: of the run.
        progress: called with the number of steps since the last call.
    """
    run = _Run(port, instance, Verified(name), limits, progress)
    run.result.transitions = run.tour.space.transition_count
    with ThreadPoolExecutor(limits.jobs) as pool:
        try:
            for worker in [pool.submit(run.lead) for _ in range(limits.jobs)]:
                worker.result()
        except KeyboardInterrupt:
            run.result.interrupted = True
            run.stop.set()
    if not run.result.interrupted:
        # What one consumer had claimed and did not come to.
        run.tour.release_all()
        run.lead()
    run.result.findings = run.findings()
    run.count()
    return run.result


def verify_sequence(
    port: ClientPort,
    name: str,
    instance: Consumer,
    inputs: Sequence[ClientInput],
    patience_s: float = 1.5,
) -> Verified:
    """Lead one consumer through a sequence, and compare what its last input shows.

    Raises:
        ClientFailedError: the client fails, or an input is not possible.
        UnsupportedSettingsError: the client does not have the settings.
    """
    result = Verified(name, transitions=1, steps=len(inputs), sequences=1)
    _, found, applied = replay(port, instance, inputs, CONFIRMING * patience_s)
    if found is None:
        result.same = 1
    else:
        result.differing = 1
        rules = ((" ".join(applied), 1),)
        result.findings = [
            Finding(found.words, rules, tuple(inputs), found, applied, confirmed=True)
        ]
    return result


def replay(
    port: ClientPort, instance: Consumer, inputs: Sequence[ClientInput], patience_s: float
) -> tuple[Events, Difference | None, tuple[str, ...]]:
    """Lead a fresh consumer through inputs; the events, the difference and the rules of the last.

    Earlier differences do not end it.

    Raises:
        ClientFailedError: the client fails, or an input is not possible.
        UnsupportedSettingsError: the client does not have the settings.
    """
    state = instance.initial
    seen: Events = ()
    found: Difference | None = None
    applied: tuple[str, ...] = ()
    consumer = port.start(instance.settings)
    try:
        for given in inputs:
            if given not in instance.inputs(state):
                msg = f"not possible in this state: {given}"
                raise NotPossibleError(msg)
            (outcome,) = instance.successors(state, given)
            (expected,) = outcome.responses
            seen = consumer.do(given, expected, patience_s=patience_s)
            found = difference(expected, seen)
            state, applied = outcome.state, outcome.applied
            if found is not None:
                state = followed(instance, state, found) or state
    finally:
        consumer.end()
    return seen, found, applied


class _Run:
    """The consumers of one model instance."""

    def __init__(
        self,
        port: ClientPort,
        instance: Consumer,
        result: Verified,
        limits: Limits,
        progress: Callable[[int], None],
    ) -> None:
        self.port = port
        self.instance = instance
        self.result = result
        self.limits = limits
        self.progress = progress
        self._long_s = CONFIRMING * limits.patience_s
        self._end_s = monotonic() + limits.time_s
        space: StateSpace = explore(instance)
        self.tour = Tour(space)
        self.stop = Event()
        self._sure: set[str] = set()  # the words of differences that were seen twice
        self._lock: Final = Lock()

    def lead(self) -> None:
        """Lead one consumer after the other, until there is nothing left to try."""
        while not self.stop.is_set() and (path := self.tour.claim(0)) is not None:
            if monotonic() > self._end_s:
                self.result.stopped = f"{self.limits.time_s:g} s have passed"
                self.stop.set()
                return
            try:
                consumer = self.port.start(self.instance.settings)
            except UnsupportedSettingsError as error:
                self.result.unsupported = str(error)
                self.stop.set()
                return
            except ClientFailedError as error:
                self._fail((), path[-1], error)
                continue
            try:
                self._sequence(consumer, path)
            finally:
                consumer.end()

    def _sequence(self, consumer: ClientUnderTest, path: Path | None) -> None:
        """Follow paths to what is not tried yet, as long as the consumer is where it should be."""
        self.result.sequences += 1
        passed: list[TransitionReference] = []
        while path is not None:
            for place, reference in enumerate(path):
                passed.append(reference)
                if self.stop.is_set() or not self._step(consumer, passed):
                    if place < len(path) - 1:
                        self.tour.release(path[-1])
                    return
            here = self.tour.target(path[-1])
            more = here is not None and len(passed) < MOST_STEPS
            path = self.tour.claim(here) if more and here is not None else None

    def _step(self, consumer: ClientUnderTest, passed: list[TransitionReference]) -> bool:
        """Take the last of the transitions; whether the consumer is where it should be."""
        reference = passed[-1]
        expected = self.tour.expected(reference)
        given = self.tour.given(reference)
        try:
            seen = consumer.do(given, expected, patience_s=self.limits.patience_s)
        except ClientFailedError as error:
            self._fail(passed, reference, error)
            return False
        self.result.steps += 1
        self.progress(1)
        specified = self.tour.specified(reference)
        if seen == specified:
            self.tour.passed(reference)
            return True
        if seen == expected:  # as it is known to differ
            return self.tour.target(reference) is not None
        return self._differs(passed, difference(specified, seen))

    def _differs(self, passed: list[TransitionReference], found: Difference | None) -> bool:
        """Try a difference again with a fresh consumer, unless it is a usual one."""
        reference = passed[-1]
        if found is not None and found.words in self._sure:
            self.tour.differs(passed, found)
            return self.tour.target(reference) is not None
        inputs = [self.tour.given(each) for each in passed]
        try:
            _, found, _ = replay(self.port, self.instance, inputs, self._long_s)
        except NotPossibleError:  # this time another input has shown a difference
            self.tour.fails(reference)
            return False
        except ClientFailedError as error:
            self._fail(passed, reference, error)
            return False
        if found is None:
            self.tour.passed(reference)
        else:
            self._sure.add(found.words)
            self.tour.differs(passed, found)
        return False

    def _fail(
        self,
        passed: Sequence[TransitionReference],
        reference: TransitionReference,
        error: ClientFailedError,
    ) -> None:
        with self._lock:
            if self.stop.is_set():  # by another consumer meanwhile
                return
            inputs = tuple(self.tour.given(each) for each in passed)
            self.result.failures.setdefault(str(error), inputs)
            self.tour.fails(reference)
            if len(self.tour.failed) >= MOST_FAILURES:
                self.result.stopped = f"the client failed {MOST_FAILURES} times"
                self.stop.set()

    def count(self) -> None:
        """Count the transitions."""
        tour, result = self.tour, self.result
        result.same = len(tour.covered - tour.known.keys())
        result.differing = len(tour.known)
        result.failed = len(tour.failed - tour.covered - tour.known.keys())
        for references, add in ((tour.covered - tour.known.keys(), (1, 0)), (tour.known, (0, 1))):
            for reference in references:
                for rule in set(tour.edge(reference).applied):
                    same, differing = result.rules.get(rule, (0, 0))
                    result.rules[rule] = same + add[0], differing + add[1]

    def findings(self) -> list[Finding]:
        """One finding for each difference, with the shortest sequence that shows it."""
        by_words = defaultdict(list)
        for reference, found in self.tour.known.items():
            by_words[found.words].append(reference)
        words = sorted(by_words, key=rank)
        with ThreadPoolExecutor(self.limits.jobs) as pool:
            return [*pool.map(self._finding, words, (sorted(by_words[each]) for each in words))]

    def _finding(self, words: str, references: list[TransitionReference]) -> Finding:
        shortest = min((self.tour.path_to(each) for each in references), key=lambda p: (len(p), p))
        inputs = tuple(self.tour.given(each) for each in shortest)
        found, confirmed = self.tour.known[shortest[-1]], False
        if not self.result.interrupted:
            try:
                _, again, _ = replay(self.port, self.instance, inputs, self._long_s)
            except ClientFailedError:
                again = None
            confirmed = again is not None and again.words == words
            found = again if again is not None and confirmed else found
        counts: dict[str, int] = defaultdict(int)
        for each in references:
            counts[" ".join(self.tour.edge(each).applied)] += 1
        applied = self.tour.edge(shortest[-1]).applied
        rules = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        return Finding(words, rules, inputs, found, applied, confirmed)
