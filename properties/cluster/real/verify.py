"""Leads a real cluster through sequences, checks what it promises, and minimises what it breaks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple, Protocol

from groupcheck.model.brokers import ClusterInput
from groupcheck.properties.cluster.real.actions import Action, random_sequence
from groupcheck.properties.cluster.real.oracle import Oracle, disallowed, inputs_of
from groupcheck.properties.cluster.real.promises import Violation, unsettled, violations
from groupcheck.properties.cluster.real.views import ClusterView
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError

DISK_S: Final = 45.0  # Kafka deletes folders 30 s after its start, at the earliest
MINIMISE_S: Final = 240.0  # for each finding
TRIES: Final = 2  # of a shorter sequence, which may show a race once only
MOST_FAILURES: Final = 3

RECOVERY: Final = "all brokers run"
CLEANING: Final = "all topics are deleted"


class Cluster(Protocol):
    """A cluster that can be led through sequences; `RealCluster` is one."""

    @property
    def has_zookeeper(self) -> bool:
        """Whether it has ZooKeeper, which decides what can be done to it."""
        ...

    def begin(self) -> ClusterView:
        """Begin a sequence."""
        ...

    def is_possible(self, given: ClusterInput, /) -> bool:
        """Whether an action is possible now."""
        ...

    def do(self, given: ClusterInput, /) -> str:
        """Do an action."""
        ...

    def settle(self) -> list[ClusterView]:
        """Wait until the cluster has settled."""
        ...

    def recover(self) -> list[ClusterView]:
        """Let all brokers run again."""
        ...

    def clean(self) -> list[ClusterView]:
        """Delete the topics of the sequence."""
        ...

    def restart(self) -> None:
        """Start another cluster."""
        ...

    def left_on_disk(self, bound_s: float, /) -> list[str]:
        """The folders of deleted topics."""
        ...


class Step(NamedTuple):
    """A step of a sequence.

    Args:
        words: what was done.
        error: that a broker answered, or empty.
        view: of the settled cluster; None if the next action followed at once.
    """

    words: str
    error: str = ""
    view: ClusterView | None = None


class Trace(NamedTuple):
    """A sequence that was done.

    Args:
        actions: that were possible.
        first: the view before them.
        steps: the actions, and what follows them, up to the first violation.
        violations: the promises that do not hold.
        compared: how many views were compared with what a specification allows.
    """

    actions: tuple[Action, ...]
    first: ClusterView
    steps: tuple[Step, ...]
    violations: tuple[Violation, ...]
    compared: int = 0


@dataclass
class Finding:
    """A violation, with the shortest sequence that shows it, and how many sequences did."""

    violation: Violation
    trace: Trace
    minimised: bool = False
    sequences: int = 1


class Failure(NamedTuple):
    """A sequence that could not be finished, and why."""

    actions: tuple[Action, ...]
    reason: str
    detail: str = ""


@dataclass
class Verified:
    """The result of a run."""

    sequences: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    left_on_disk: list[str] = field(default_factory=list)
    compared: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def per_minute(self) -> float:
        """Sequences per minute."""
        return 60 * self.sequences / self.seconds if self.seconds else 0.0


class Limits(NamedTuple):
    """How long a run may take.

    Args:
        sequences: how many.
        time_s: no other sequence begins after so long.
        minimise_s: for each finding.
        disk_s: to wait for the folders of deleted topics; 0 to leave them unchecked.
    """

    sequences: int
    time_s: float
    minimise_s: float = MINIMISE_S
    disk_s: float = DISK_S


def verify(
    cluster: Cluster,
    seed: int,
    limits: Limits,
    progress: Callable[[int], None],
    oracle: Oracle | None = None,
) -> Verified:
    """Lead a cluster through random sequences; an interruption ends the run with its result."""
    random, zookeeper = Random(seed), cluster.has_zookeeper
    chosen = (random_sequence(random, zookeeper=zookeeper) for _ in range(limits.sequences))
    return verify_sequences(cluster, chosen, limits, progress, oracle)


def verify_sequences(
    cluster: Cluster,
    sequences: Iterator[tuple[Action, ...]],
    limits: Limits,
    progress: Callable[[int], None],
    oracle: Oracle | None = None,
) -> Verified:
    """Lead a cluster through given sequences; an interruption ends the run with its result."""
    result, since = Verified(), time.monotonic()
    try:
        for actions in sequences:
            if time.monotonic() - since > limits.time_s or len(result.failures) >= MOST_FAILURES:
                break
            _verify_one(cluster, actions, limits, result, oracle)
            progress(1)
        result.seconds = time.monotonic() - since
        if limits.disk_s and not result.failures:
            result.left_on_disk = cluster.left_on_disk(limits.disk_s)
    except KeyboardInterrupt:
        result.interrupted = True
        result.seconds = time.monotonic() - since
    except PortUnavailableError as error:  # another cluster does not start
        result.failures.append(Failure((), str(error)))
        result.seconds = time.monotonic() - since
    return result


def _verify_one(
    cluster: Cluster,
    actions: tuple[Action, ...],
    limits: Limits,
    result: Verified,
    oracle: Oracle | None,
) -> None:
    result.sequences += 1
    try:
        trace = trace_of(cluster, actions, oracle)
    except PortFailedError as failure:
        result.failures.append(Failure(actions, failure.reason, failure.detail))
        cluster.restart()
        return
    result.compared += trace.compared
    result.steps.update(each.given.name for each in trace.actions)
    for violation in trace.violations:
        known = result.findings.get(violation.key)
        if known is not None:
            known.sequences += 1
            continue
        finding = Finding(violation, trace)
        result.findings[violation.key] = finding
        # The first violation of a sequence may have caused the others.
        if violation == trace.violations[0]:
            _minimise(cluster, finding, limits.minimise_s, oracle)


def trace_of(cluster: Cluster, actions: Sequence[Action], oracle: Oracle | None) -> Trace:
    """Lead a cluster through a sequence, up to the first violation, and make it usable again.

    Actions that are not possible are left out.

    Raises:
        PortFailedError: a process of the cluster has ended by itself.
    """
    first = cluster.begin()
    views, steps, done = [first], [], []
    found, compared = unsettled(first), 0
    for action in actions:
        if found:
            break
        if not cluster.is_possible(action.given):
            continue
        error = cluster.do(action.given)
        done.append(action)
        if action.at_once:
            steps.append(Step(str(action), error))
            continue
        views += cluster.settle()
        steps.append(Step(str(action), error, views[-1]))
        found = _found(views)
        if oracle is not None and not found and (inputs := inputs_of(done)) is not None:
            said = disallowed(oracle, inputs, views[-1])
            found = said or []
            compared += said is not None
    for words, then in ((RECOVERY, cluster.recover), (CLEANING, cluster.clean)):
        if not found:
            views += then()
            steps.append(Step(words, "", views[-1]))
            found = _found(views)
    if found:
        _make_usable(cluster)
    return Trace(tuple(done), first, tuple(steps), tuple(found), compared)


def _found(views: Sequence[ClusterView]) -> list[Violation]:
    return [*violations(views), *unsettled(views[-1])]


def _make_usable(cluster: Cluster) -> None:
    """Delete the topics of a sequence that has violated something; else start another cluster."""
    try:
        if not unsettled(cluster.recover()[-1]) and not unsettled(cluster.clean()[-1]):
            return
    except PortFailedError:
        pass
    cluster.restart()


def _minimise(cluster: Cluster, finding: Finding, bound_s: float, oracle: Oracle | None) -> None:
    """Leave out actions while the rest shows the same violation, in a bounded time."""
    deadline = time.monotonic() + bound_s
    at = len(finding.trace.actions)
    while at > 0:
        at -= 1
        shorter = (*finding.trace.actions[:at], *finding.trace.actions[at + 1 :])
        for _ in range(TRIES):
            if time.monotonic() > deadline:
                return
            trace = _same(cluster, shorter, finding.violation, oracle)
            if trace is not None:
                finding.trace, at = trace, min(at, len(trace.actions))
                break
    finding.minimised = True


def _same(
    cluster: Cluster, actions: Sequence[Action], violation: Violation, oracle: Oracle | None
) -> Trace | None:
    """The trace of a sequence, if it shows the same violation."""
    try:
        trace = trace_of(cluster, actions, oracle)
    except PortFailedError:
        cluster.restart()
        return None
    return trace if any(each.key == violation.key for each in trace.violations) else None
