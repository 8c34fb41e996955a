"""Properties of the model, and what a violation of one is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, NamedTuple

from groupcheck.model.classic.state import Group
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.temporal.step import CheckedStep


@dataclass(frozen=True, eq=False)
class Property:
    """A promise that Kafka makes for every group; `source` is a line of Kafka 2.7.2, or an issue.

    Two properties are equal only if they are the same object.
    """

    name: str
    words: str
    source: str


@dataclass(frozen=True, eq=False)
class Invariant(Property):
    """A property of every reachable state."""

    holds: Callable[[Group], bool]


@dataclass(frozen=True, eq=False)
class ActionProperty(Property):
    """A property of every step.

    A step in which the coordinator crashes, or its partition is loaded or unloaded, is checked
    only if `on_failover` is set. If there are `inputs`, only their steps are checked: classes of
    inputs, or of the bodies of requests.
    """

    holds: Callable[[CheckedStep], bool]
    inputs: tuple[type, ...] = ()
    on_failover: bool = False


@dataclass(frozen=True, eq=False)
class Liveness(Property):
    """A property of infinite behaviours: every obligation is fulfilled eventually.

    `pending` returns the owners of the obligations that a step does not fulfil: the ids of members
    before the step.
    """

    pending: Callable[[CheckedStep], Iterator[str]]


def invariant(name: str, source: str) -> Callable[[Callable[[Group], bool]], Invariant]:
    """Make a predicate an invariant; its docstring is the words of the property."""
    return lambda holds: Invariant(name, words_of(holds), source, holds)


def action_property(
    name: str, source: str, *inputs: type, on_failover: bool = False
) -> Callable[[Callable[[CheckedStep], bool]], ActionProperty]:
    """Make a predicate an action property; its docstring is the words of the property."""
    return lambda holds: ActionProperty(name, words_of(holds), source, holds, inputs, on_failover)


def words_of(predicate: Callable[..., Any]) -> str:
    """The docstring of a predicate, on one line."""
    return " ".join((getdoc(predicate) or "").split())


class KnownViolation(NamedTuple):
    """A violation of properties by Kafka itself.

    `sources` has a line for each version with this behaviour; `covers` selects the steps that
    belong to it.
    """

    properties: tuple[str, ...]
    words: str
    issue: str
    sources: Mapping[str, str]
    covers: Callable[[CheckedStep], bool]

    def cited(self, profile: str) -> str:
        """The issue and the source line of a version."""
        return ", ".join(filter(None, (self.issue, self.sources[profile])))


def known_violation(
    *properties: str, sources: Mapping[str, str], issue: str = ""
) -> Callable[[Callable[[CheckedStep], bool]], KnownViolation]:
    """Make a predicate a known violation of these properties; its docstring says what happens."""
    return lambda covers: KnownViolation(properties, words_of(covers), issue, sources, covers)


class Violation(NamedTuple):
    """A property that does not hold, with a shortest counterexample.

    The last step of `path` violates the property. For liveness, `path` leads to a `cycle` that can
    repeat forever. `known` is set if every violation of the property is a known one.
    """

    property: Property
    path: tuple[TransitionReference, ...]
    cycle: tuple[TransitionReference, ...] = ()
    known: KnownViolation | None = None
