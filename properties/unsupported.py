"""Skips features, APIs and faults that a port is known to lack.

The wrapped port never receives a skipped input. It reports the input as unsupported, so that the
caller continues without it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.vocabulary import API_OF, Request
from groupcheck.properties.generators.context import SIZES
from groupcheck.properties.input_kinds import FAULT_FEATURES, features_of
from groupcheck.properties.ports.port import Fault, Observation, Port, PortInfo, PortInFront
from groupcheck.properties.ports.source import PortSource

# Every coordinator has a clock, and members that may change their protocols.
SKIPPABLE: Final = tuple(f for f in Feature if f not in {Feature.TIME, Feature.METADATA})

# What can be skipped by name, in groups: APIs, faults, features.
NAMES: Final = tuple(dict.fromkeys((*API_OF.values(), *FAULT_FEATURES, *map(str, SKIPPABLE))))

# Marks what is skipped, unlike what the port itself reports as unsupported.
SKIPPED: Final = " (skipped)"


class UnknownNameError(ValueError):
    """No API, fault or feature has the name."""


def matching(patterns: Iterable[str]) -> frozenset[str]:
    """The APIs, faults and features whose names match one of the shell patterns.

    Raises:
        UnknownNameError: a pattern matches none.
    """
    found = set[str]()
    for pattern in patterns:
        names = {name for name in NAMES if fnmatchcase(name, pattern)}
        if not names:
            msg = f"no API, fault or feature is named {pattern!r}; known: {', '.join(NAMES)}"
            raise UnknownNameError(msg)
        found |= names
    return frozenset(found)


class SkippingPort(PortInFront):
    """A port with some names of `NAMES` skipped; the methods are those of `Port`."""

    def __init__(self, port: Port, skipped: Collection[str]) -> None:
        super().__init__(port)
        self.skipped = frozenset(skipped)
        self._sized = False

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with an empty coordinator."""
        self._sized = not SIZES.keys().isdisjoint(config)
        return super().open(profile, config)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request, if neither its API nor its features are skipped."""
        sized = {Feature.MAX_SIZE} if self._sized else set[Feature]()
        skipped = {request.api, *features_of(request), *sized}
        if not skipped.isdisjoint(self.skipped):
            return _unsupported(skipped & self.skipped)
        return super().request(request, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Apply a fault to the coordinator, if neither it nor its feature is skipped."""
        if skipped := self.skipped & {fault.name, FAULT_FEATURES[fault.name]}:
            return _unsupported(skipped)
        return super().fault(fault, expected)


def _unsupported(names: Iterable[str]) -> Observation:
    return Observation(unsupported=f"{', '.join(sorted(names))}{SKIPPED}")


def skip(source: PortSource, skipped: Collection[str]) -> PortSource:
    """A source of the same ports with some names skipped; only this process can make them."""
    if not skipped:
        return source
    return source._replace(connect=lambda: SkippingPort(source.connect(), skipped), typed=False)


def needs(spaces: Iterable[StateSpace]) -> dict[str, frozenset[Feature]]:
    """For each rule that is applied in any of the spaces, the features that it needs.

    A rule that is applied with either of two features needs neither of them.
    """
    marked = [_Marked(space) for space in spaces]
    rules = set[str]().union(*(each.applied for each in marked))
    found: dict[str, set[Feature]] = {rule: set() for rule in rules}
    for feature in SKIPPABLE:
        for rule in rules.difference(*(each.without(feature) for each in marked)):
            found[rule].add(feature)
    return {rule: frozenset(features) for rule, features in found.items()}


class _Marked:
    """A state space whose transitions have the features of their inputs."""

    def __init__(self, space: StateSpace) -> None:
        sized = {Feature.MAX_SIZE} & space.instance.features
        self._edges = [
            [(features_of(edge.given) | sized, edge.target, edge.applied) for edge in edges]
            for edges in space.edges
        ]
        every = [edge for edges in self._edges for edge in edges]
        self.features = frozenset[Feature]().union(*(features for features, _, _ in every))
        self.applied = {rule for _, _, rules in every for rule in rules}

    def without(self, feature: Feature) -> set[str]:
        """The rules that still apply without the inputs of a feature."""
        if feature not in self.features:
            return self.applied
        applied, seen, queue = set[str](), {0}, deque([0])
        while queue:
            for features, target, rules in self._edges[queue.popleft()]:
                if feature not in features:
                    applied.update(rules)
                    if target not in seen:
                        seen.add(target)
                        queue.append(target)
        return applied
