"""Tours: tests that walk the state graph until every transition has been tried.

A walk is planned on the graph and goes on from where the port went: at a fork the port decides,
and the tour plans the path again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.state import Advance, Coordinator
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.coverage.transition_coverage import Coverage, Fork
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run, UnfairError

# Where a walk ends whose model has left the space: a real clock went on past what it knows.
OUTSIDE = -1


class Walk:
    """One test of a tour, in at most `limit` steps.

    What is found on the way, at an edge that the coverage does not want, is no finding of this
    tour: the way is barred, and no more. `node` is where the model stands in the graph; where the
    observations leave several states open it is one of them, and nothing is counted as shown until
    they agree. Where what was found does not count, as the port was disturbed, nothing is barred.
    The port is checked by a `model`; None is that of the space. Where `is_over` says so, the walk
    ends.
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
        self.fired: set[str] = set()  # the rules that may have been applied
        self.steps = 0
        self.node = 0
        self._state: Coordinator | None = None
        self._number = 0
        self._wanted = True
        self._last: TransitionReference | None = None  # the edge that the last step has shown
        self._look()

    def go(self) -> Finding | None:
        """Walk until the limit, or until there is nothing left to be tried within it."""
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
        """Go a planned way as far as the port goes along, then try what is there."""
        for hop in way:
            if not self._try(self.coverage.fork(hop)):
                return False
            if self.node != self.coverage.space.edges[hop.node][hop.edge].target:
                self.coverage.miss(hop)
                return True  # at a fork the port went elsewhere: plan again
            self.coverage.meet(hop)
        fork = self.coverage.take(self.node) if self.node != OUTSIDE else None
        return fork is None or self._try(fork)

    def _try(self, fork: Fork) -> bool:
        """Do one input; False if the port does not support it, or no member can send it."""
        node, self.steps = self.node, self.steps + 1
        before, self._last = self._last, None
        self._wanted = self.coverage.wants(node, fork)
        try:
            unsupported = self.run.step(self._restored(fork.given))
            self._look()
            if self.node == OUTSIDE and self.run.port.real_time:
                self.run.step(Advance(0))  # a timer that is due may be late: it is waited for
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
            fired = self.run.oracle.fired
            self.node = self.coverage.arrived(node, fork, self.node, fired)
        if all(self.coverage.space.canonical(state).node == self._frame.node for state in others):
            self._last = self.coverage.show(node, fork, self.node, self.run.oracle.fired)
            self.coverage.follow(before, self._last)
        return True

    def _look(self) -> None:
        state = self.run.oracle.states[0]
        if state != self._state:  # most steps of a tour lead nowhere
            self._state = state
            self._frame = self.coverage.space.canonical(state)
            self._number = self.coverage.space.numbers.get(self._frame.node, OUTSIDE)
        self.node = self._number

    def _restored(self, given: Input) -> Input:
        if isinstance(given, Request):
            restored: Input = self._frame.restore(given, self.steps)
            return restored
        if isinstance(given, Advance) and not self.coverage.space.instance.timed:
            # The initial delay, which the space has as its only time. On a real clock some of it
            # is over already, and it may be waited for in full all the same.
            group = self.run.oracle.states[0].group
            return Advance(group.join_timer.round_ms if group and group.join_timer else 0)
        return given


class Toured(NamedTuple):
    """A walk that is over: its steps, its finding if it has one, and what was observed."""

    steps: int
    finding: Finding | None
    exchanges: tuple[Exchange, ...]


def tour(
    coverage: Coverage,
    port: Port,
    limit: int,
    model: Profile | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Toured]:
    """Walks until nothing is left to be tried.

    The port is checked by a model; None is that of the space.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    while coverage.way(0, limit - 1) is not None:
        try:
            walk = Walk(coverage, port, limit, model=model, is_over=is_over)
        except FoundError as found:
            yield Toured(0, found.finding, ())
            return
        finding = walk.go()
        yield Toured(walk.steps, finding, tuple(walk.run.exchanges))
