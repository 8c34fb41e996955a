"""The port driver: checks an implementation against a specification, with tours and an oracle."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.minimising import minimised
from groupcheck.model.engine.oracle import Oracle
from groupcheck.model.engine.specification import Input, Specification

TRIES: Final = 100  # tests in a row that cover nothing new before the tour ends


class Port(Protocol):
    """An implementation in its initial state."""

    def do(self, given: Input) -> Iterable[Any]:
        """Process an input and return the responses, in any order."""


class Finding(NamedTuple):
    """The shortest sequence found whose last input shows a difference.

    `expected` has the responses of each outcome that the specification allows.
    """

    inputs: tuple[Input, ...]
    expected: tuple[tuple[Any, ...], ...]
    seen: tuple[Any, ...]


class Result(NamedTuple):
    """What a verification found, and the transitions that it covered."""

    findings: list[Finding]
    covered: set[TransitionReference]
    steps: int


def verify(space: StateSpace, port: Callable[[], Port], limit: int = 100) -> Result:
    """Tour all transitions of a state space, in tests of at most `limit` steps.

    The state space is one without symmetry reduction. At a choice the implementation decides, and
    the tour is planned again from there. There is one finding for each set of rules.
    """
    tour, findings = _Tour(space), dict[frozenset[tuple[str, ...]], Finding]()
    while tour.way(0) is not None and tour.misses < TRIES:
        oracle, under_test, inputs = Oracle.of(space.instance), port(), list[Input]()
        node, covered = 0, len(tour.covered)
        while len(inputs) < limit and (given := tour.way(node)) is not None:
            inputs.append(given)
            tour.steps += 1
            finding = _step(oracle, under_test, inputs)
            if finding is not None:
                cause = frozenset(outcome[2] for outcome in oracle.predict(given))
                findings.setdefault(cause, shortened(space.instance, port, finding))
                tour.barred.add((node, given))
                break
            node = tour.follow(node, given, oracle)
        tour.misses = 0 if len(tour.covered) > covered else tour.misses + 1
    return Result(list(findings.values()), tour.covered, tour.steps)


def replay(instance: Specification, port: Port, inputs: Sequence[Input]) -> Finding | None:
    """Send inputs to a port; returns the finding, if any. An impossible input ends the replay."""
    oracle = Oracle.of(instance)
    for number, given in enumerate(inputs, 1):
        if not all(given in instance.inputs(state) for state in oracle.states):
            return None
        finding = _step(oracle, port, inputs[:number])
        if finding is not None:
            return finding
    return None


def shortened(instance: Specification, port: Callable[[], Port], finding: Finding) -> Finding:
    """The finding without unneeded inputs; the last input stays.

    An implementation may choose otherwise the next time, so each candidate is tried several times.
    """

    def trial(candidates: Iterable[tuple[Input, ...]]) -> Finding | None:
        replays = (replay(instance, port(), each) for each in candidates for _ in range(TRIES))
        return next((f for f in replays if f and f.inputs[-1] == finding.inputs[-1]), None)

    return minimised(finding, attrgetter("inputs"), trial)


def _step(oracle: Oracle[Any], port: Port, inputs: Sequence[Input]) -> Finding | None:
    """Process the last of the inputs."""
    outcomes = oracle.predict(inputs[-1])
    seen = tuple(sorted(port.do(inputs[-1])))
    if oracle.keep([o for o in outcomes if tuple(sorted(o[1])) == seen]):
        return None
    return Finding(tuple(inputs), tuple(dict.fromkeys(o[1] for o in outcomes)), seen)


class _Tour:
    """The covered transitions, and the path to the nearest uncovered one."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.covered: set[TransitionReference] = set()
        self.barred: set[tuple[int, Input]] = set()  # where the implementation differs
        self.misses = 0  # tests in a row that covered nothing new
        self.steps = 0

    def way(self, start: int) -> Input | None:
        """The next input on the path to the nearest uncovered transition; None if there is none."""
        came: dict[int, Input | None] = {start: None}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for place, edge in enumerate(self.space.edges[node]):
                if (node, edge.given) in self.barred:
                    continue
                first = edge.given if node == start else came[node]
                if TransitionReference(node, place) not in self.covered:
                    return first
                if edge.target not in came:
                    came[edge.target] = first
                    queue.append(edge.target)
        return None

    def follow(self, node: int, given: Input, oracle: Oracle[Any]) -> int:
        """The state of the system; marks the transition as covered if it is the only candidate."""
        target = self.space.numbers[oracle.states[0]]
        for place, edge in enumerate(self.space.edges[node]):
            label = edge.given, edge.target, edge.applied
            if len(oracle.states) == 1 and label == (given, target, oracle.kept[0][2]):
                self.covered.add(TransitionReference(node, place))
        return target
