"""Walks over the inputs of a cluster that a specification and an implementation both take.

After each input the implementation must show what the specification has in its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple, Protocol

from groupcheck.model.brokers import ENVIRONMENT, ClusterInput
from groupcheck.model.cluster.specification import Brokers
from groupcheck.model.cluster.state import Broker, Cluster, Controller, Settings

View = tuple[Any, ...]
"""What is compared: the nodes, by broker what it has, and the requests of ended connections."""

# How probable faults and requests of operators are, beside what the cluster itself does: by walk.
_ENVIRONMENT_SHARES: Final = (0.05, 0.2, 1.0)
_WEIGHTS: Final = (1.0, 1.0, 0.02)


class ClusterUnderTest(Protocol):
    """An implementation of a cluster."""

    def apply(self, given: ClusterInput) -> None:
        """Let something happen that the specification says is possible."""
        ...

    def view(self) -> View:
        """What there is, as `view_of` has it; records are compared field by field."""
        ...


class Difference(NamedTuple):
    """A walk after which an implementation differs.

    Args:
        inputs: since the initial state.
        fields: where it differs, with the values of the specification and the implementation.
    """

    inputs: tuple[ClusterInput, ...]
    fields: tuple[str, ...]

    def __str__(self) -> str:
        steps = [f"{number:3}. {given}" for number, given in enumerate(self.inputs, 1)]
        return "\n".join([*steps, *self.fields])


def view_of(state: Cluster) -> View:
    """What an implementation has to show in a state."""
    return state.nodes, tuple(map(_broker, state.brokers)), state.orphans


def _broker(broker: Broker) -> View:
    return (
        broker.running,
        broker.session,
        broker.epoch,
        broker.queue,
        broker.claiming,
        None if broker.controller is None else _controller(broker.controller),
        broker.stuck,
        broker.controller_epoch,
        broker.replicas,
        broker.leaders,
        broker.coordinator,
        broker.changed,
    )


def _controller(controller: Controller) -> View:
    topics = tuple(topic[:-1] for topic in controller.topics)  # without the watch
    return controller.epoch, controller.live, topics, controller.channels


def differences(expected: object, observed: object, where: str = "") -> Iterator[str]:
    """Where two views differ; the names of fields are those of the observed one."""
    if expected == observed:
        return
    if not (
        isinstance(expected, tuple)
        and isinstance(observed, tuple)
        and len(expected) == len(observed)
    ):
        yield f"{where}: specified {expected!r}, observed {observed!r}"
        return
    names: Sequence[object] = getattr(observed, "_fields", range(len(observed)))
    for name, left, right in zip(names, expected, observed, strict=True):
        yield from differences(left, right, f"{where}.{name}" if where else str(name))


class Walk:
    """A walk over a specification and an implementation, from the initial state of both.

    Args:
        specification: of the instance.
        implementation: in its initial state.
    """

    def __init__(self, specification: Brokers, implementation: ClusterUnderTest) -> None:
        self._specification = specification
        self._implementation = implementation
        self.state = specification.initial
        self.inputs: list[ClusterInput] = []
        self.rules: set[str] = set()

    def compare(self) -> Difference | None:
        """The difference between both, if there is one."""
        expected, observed = view_of(self.state), self._implementation.view()
        if expected == observed:
            return None
        return Difference(tuple(self.inputs), tuple(differences(expected, observed)))

    def step(self, given: ClusterInput) -> Difference | None:
        """Give an input to both."""
        (outcome,) = self._specification.successors(self.state, given)
        self.state = outcome.state
        self.rules.update(outcome.applied)
        self.inputs.append(given)
        self._implementation.apply(given)
        return self.compare()

    def possible(self) -> list[ClusterInput]:
        """The inputs that are possible."""
        return list(self._specification.inputs(self.state))


class Pace:
    """How probable inputs are in one walk: some brokers are slow in some of what they do.

    Without slow ones each walk would be like the others, and what waits would never wait long.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._environment = random.choice(_ENVIRONMENT_SHARES)
        self._weights: dict[tuple[str, int, int], float] = {}

    def choose(self, inputs: Sequence[ClusterInput]) -> ClusterInput:
        """One of the inputs."""
        return self._random.choices(inputs, [self._weight(each) for each in inputs])[0]

    def _weight(self, given: ClusterInput) -> float:
        key = given.name, given.broker, given.sender
        weight = self._weights.get(key)
        if weight is None:
            weight = self._random.choice(_WEIGHTS)
            if given.name in ENVIRONMENT:
                weight *= self._environment
            self._weights[key] = weight
        return weight


class Walked(NamedTuple):
    """The result of walks.

    Args:
        steps: that were compared.
        rules: of the specification that they applied.
        difference: the first, if there is one.
    """

    steps: int
    rules: frozenset[str]
    difference: Difference | None


def walks(
    specification: Brokers,
    opened: Callable[[Settings], ClusterUnderTest],
    random: Random,
    *,
    steps: int,
    length: int = 150,
) -> Walked:
    """Walk at random until a number of steps, or a difference.

    Args:
        specification: of the instance.
        opened: a new implementation in the initial state of the settings.
        random: chooses the inputs.
        steps: how many to compare.
        length: of a walk.
    """
    done = 0
    rules: set[str] = set()
    while done < steps:
        walk = Walk(specification, opened(specification.settings))
        difference = walk.compare()
        pace = Pace(random)
        for _ in range(length):
            inputs = walk.possible()
            if difference is not None or not inputs:
                break
            difference = walk.step(pace.choose(inputs))
            done += 1
        rules |= walk.rules
        if difference is not None:
            return Walked(done, frozenset(rules), difference)
        done += 1  # a walk that cannot go on ends, too
    return Walked(done, frozenset(rules), None)
