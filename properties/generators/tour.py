"""Tours: tests that walk the state graph until every transition has been tried.

A path is planned on the graph. At a fork the port decides, and the tour plans again from the state
that it chose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from groupcheck.model.classic.state import Advance, Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.vocabulary import Request
from groupcheck.properties.coverage.transition_coverage import Coverage, Fork, edges_taken
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.walk_state import OUTSIDE
from groupcheck.properties.generators.walks import Walker
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run, UnfairError


class Stepper(Protocol):
    """Does the steps of tests of one port in one state space.

    `node` is the node of the model's state, or `OUTSIDE`. If the observations allow several
    states, it is that of one of them. `edges` are the transitions of the node before that the last
    step may have taken; none if the nodes of those states differ.
    """

    port: Port
    edges: Sequence[int]

    @property
    def node(self) -> int:
        """The node of the model's state."""
        ...

    def begin(self) -> None:
        """Start a test.

        Raises:
            FoundError: the port failed.
        """

    def step(self, edges: Sequence[int]) -> str | None:
        """Send the input of these transitions of the node; returns its name if it is not supported.

        Raises:
            FoundError: the port has left the model, or failed.
            UnfairError: the request uses a member id that the port has not revealed.
        """

    def close(self) -> None:
        """End the test.

        Raises:
            FoundError: the port failed meanwhile.
        """


class CheckedSteps:
    """Steps that the oracle checks one by one, as on a real clock; implements `Stepper`.

    The profile `model` checks the port; None is that of the instance. `run` is the last test; None
    if the port failed at its start.
    """

    def __init__(self, space: StateSpace, port: Port, model: Profile | None = None) -> None:
        self.port = port
        self.node = 0
        self.edges: Sequence[int] = ()
        self._space = space
        self._model = model or space.instance.profile
        self._number = 0  # of the step
        self._state: Coordinator | None = None
        self.run: Run | None = None

    def begin(self) -> None:
        """Start a test."""
        self.run = None
        self.run = self._run = Run(self.port, self._model, self._space.instance.broker)
        self._number, self._state = 0, None
        self._look()

    def step(self, edges: Sequence[int]) -> str | None:
        """Send the input of these transitions of the node."""
        self._number += 1
        of_node = self._space.edges[self.node]
        unsupported = self._run.step(self._restored(of_node[edges[0]].given))
        self._look()
        if self.node == OUTSIDE and self.port.real_time:
            self._run.step(Advance(0))  # waits for timers that are due and late
            self._look()
        oracle, canonical = self._run.oracle, self._space.canonical
        certain = all(canonical(state).node == self._frame.node for state in oracle.states[1:])
        self.edges = edges_taken(of_node, edges, self.node, oracle.applied) if certain else ()
        return unsupported

    def close(self) -> None:
        """End the test."""
        self._run.close()

    def _look(self) -> None:
        state = self._run.oracle.states[0]
        if state != self._state:  # most steps do not change the state
            self._state = state
            self._frame = self._space.canonical(state)
            self._found = self._space.numbers.get(self._frame.node, OUTSIDE)
        self.node = self._found

    def _restored(self, given: Input) -> Input:
        if isinstance(given, Request):
            restored: Input = self._frame.restore(given, self._number)
            return restored
        if isinstance(given, Advance) and not self._space.instance.timed:
            # The initial delay is the only time of the instance. On a real clock part of it has
            # passed already; waiting for all of it is allowed.
            group = self._run.oracle.states[0].group
            return Advance(group.join_timer.round_ms if group and group.join_timer else 0)
        return given


def stepper(coverage: Coverage, port: Port, model: Profile | None = None) -> Stepper:
    """Steps of a port: checked one by one on a real clock, or if the port wants to see each."""
    if port.real_time or hasattr(port, "stepped"):
        return CheckedSteps(coverage.explored, port, model)
    return Walker(coverage.steps(model), port)


class Walk:
    """One test of a tour, in at most `limit` steps.

    A finding at a transition that the coverage does not want is not returned: it only closes the
    transition to paths. A finding for which `counts` is false (the port was disturbed) does not
    close it. `node` is the node of the coverage. The walk ends when `is_over` returns true.

    Raises:
        FoundError: the port failed at the start.
    """

    def __init__(
        self,
        coverage: Coverage,
        stepper: Stepper,
        limit: int,
        counts: Callable[[], bool] = lambda: True,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.coverage = coverage
        self.limit = limit
        self._counts = counts
        self._is_over = is_over
        self._stepper = stepper
        stepper.begin()
        if stepper.port.max_versions is not None:
            coverage.support_only(stepper.port.max_versions)
        self.steps = 0
        self.node = 0
        self._wanted = True
        self._last: TransitionReference | None = None  # the transition that the last step covered
        self.taken: list[TransitionReference] = []  # until one was ambiguous

    def go(self) -> Finding | None:
        """Walk until the limit, or until no untried transition is within it."""
        try:
            while self.steps < self.limit and self.node != OUTSIDE and not self._is_over():
                way = self.coverage.way(self.node, self.limit - self.steps - 1)
                if way is None or not self._follow(way):
                    break
            self._stepper.close()
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
            unsupported = self._stepper.step([branch.edge for branch in fork.branches])
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
        taken = [TransitionReference(node, edge) for edge in self._stepper.edges]
        self.node = self.coverage.arrived(taken, self._stepper.node)
        if taken:
            self._last = self.coverage.show(fork, taken)
            self.coverage.follow(before, self._last)
        if self._last is not None and len(self.taken) == self.steps - 1:
            self.taken.append(self._last)
        return True


class Toured(NamedTuple):
    """A finished walk: its steps, its finding, if any, and its transitions.

    `taken` has them until one was ambiguous.
    """

    steps: int
    finding: Finding | None
    taken: Sequence[TransitionReference] = ()


def tour(
    coverage: Coverage,
    stepper: Stepper,
    limit: int,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Toured]:
    """Walks until every transition has been tried.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    while coverage.way(0, limit - 1) is not None:
        try:
            walk = Walk(coverage, stepper, limit, is_over=is_over)
        except FoundError as found:
            yield Toured(0, found.finding)
            return
        finding = walk.go()
        yield Toured(walk.steps, finding, walk.taken)
