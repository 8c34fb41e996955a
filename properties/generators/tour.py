"""Tours: tests that walk the state graph until every transition has been tried.

A path is planned on the graph. At a fork the port decides, and the tour plans again from the state
that it chose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from groupcheck.model.classic.state import Advance, Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.vocabulary import Request
from groupcheck.properties.coverage.transition_coverage import Coverage, Fork
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import Checks, FoundError, Run, UnfairError

# The node of a walk that has left the instance, because a real clock passed other times.
OUTSIDE = -1


class Walk:
    """One test of a tour, in at most `limit` steps.

    A finding at a transition that the coverage does not want is not returned: it only closes the
    transition to paths. A finding for which `counts` is false (the port was disturbed) does not
    close it. `node` is the node of the model's state. If the observations allow several states, it
    is one of them, and no transition counts as covered until they agree. The profile `model` checks
    the port; None is that of the instance. The walk ends when `is_over` returns true.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - of one test, half of them optional
        self,
        coverage: Coverage,
        port: Port,
        limit: int,
        counts: Callable[[], bool] = lambda: True,
        model: Profile | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.coverage = coverage
        self.limit = limit
        self._counts = counts
        self._is_over = is_over
        instance = coverage.space.instance
        self.run = Run(port, model or instance.profile, instance.broker)
        if port.max_versions is not None:
            coverage.support_only(port.max_versions)
        self.steps = 0
        self.node = 0
        self._state: Coordinator | None = None
        self._number = 0
        self._wanted = True
        self._last: TransitionReference | None = None  # the transition that the last step covered
        self.taken: list[TransitionReference] = []  # until one was ambiguous
        self._look()

    def go(self) -> Finding | None:
        """Walk until the limit, or until no untried transition is within it."""
        try:
            while self.steps < self.limit and self.node != OUTSIDE and not self._is_over():
                way = self.coverage.way(self.node, self.limit - self.steps - 1)
                if way is None or not self._follow(way):
                    break
            self.run.close()
        except FoundError as found:
            return found.finding if self._wanted else None
        return None

    def _follow(self, way: list[TransitionReference]) -> bool:
        """Follow a path while the port takes its branches, then try an untried fork there."""
        for transition in way:
            if not self._try(self.coverage.fork(transition)):
                return False
            if self.node != self.coverage.space.edges[transition.node][transition.edge].target:
                self.coverage.miss(transition)
                return True  # the port took another branch: plan again
            self.coverage.meet(transition)
        fork = self.coverage.take(self.node) if self.node != OUTSIDE else None
        return fork is None or self._try(fork)

    def _try(self, fork: Fork) -> bool:
        """Send one input; False if the port does not support it, or no member can send it."""
        node, self.steps = self.node, self.steps + 1
        before, self._last = self._last, None
        self._wanted = self.coverage.wants(node, fork)
        try:
            unsupported = self.run.step(self._restored(fork.given))
            self._look()
            if self.node == OUTSIDE and self.run.port.real_time:
                self.run.step(Advance(0))  # waits for timers that are due and late
                self._look()
        except FoundError:
            if not self._counts():
                raise
            self.coverage.diverge(node, fork)
            raise
        except UnfairError:
            # The id of a member loaded from the log may be unrevealed: it cannot send a request.
            self.coverage.miss_fork(node, fork)
            return False
        if unsupported is not None:
            self.coverage.mark_unsupported(fork.given, unsupported)
            return False
        others = self.run.oracle.states[1:]
        if self.node != OUTSIDE:
            applied = self.run.oracle.applied
            self.node = self.coverage.arrived(node, fork, self.node, applied)
        if all(self.coverage.space.canonical(state).node == self._frame.node for state in others):
            self._last = self.coverage.show(node, fork, self.node, self.run.oracle.applied)
            self.coverage.follow(before, self._last)
        if self._last is not None and len(self.taken) == self.steps - 1:
            self.taken.append(self._last)
        return True

    def _look(self) -> None:
        state = self.run.oracle.states[0]
        if state != self._state:  # most steps do not change the state
            self._state = state
            self._frame = self.coverage.space.canonical(state)
            self._number = self.coverage.space.numbers.get(self._frame.node, OUTSIDE)
        self.node = self._number

    def _restored(self, given: Input) -> Input:
        if isinstance(given, Request):
            restored: Input = self._frame.restore(given, self.steps)
            return restored
        if isinstance(given, Advance) and not self.coverage.space.instance.timed:
            # The initial delay is the only time of the instance. On a real clock part of it has
            # passed already; waiting for all of it is allowed.
            group = self.run.oracle.states[0].group
            return Advance(group.join_timer.round_ms if group and group.join_timer else 0)
        return given


class Toured(NamedTuple):
    """A finished walk: its steps, its finding, if any, and its checks, if it began.

    `taken` has its transitions, until one was ambiguous.
    """

    steps: int
    finding: Finding | None
    checks: Checks | None = None
    taken: Sequence[TransitionReference] = ()


def tour(
    coverage: Coverage,
    port: Port,
    limit: int,
    model: Profile | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Toured]:
    """Walks until every transition has been tried.

    The profile `model` checks the port; None is that of the instance.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    while coverage.way(0, limit - 1) is not None:
        try:
            walk = Walk(coverage, port, limit, model=model, is_over=is_over)
        except FoundError as found:
            yield Toured(0, found.finding)
            return
        finding = walk.go()
        yield Toured(walk.steps, finding, walk.run, walk.taken)
