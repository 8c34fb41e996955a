"""Skips features that a port is known to lack.

The wrapped port never receives an input of a skipped feature. It reports the input as unsupported,
so that the caller continues without the feature.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.instances.inputs import Feature
from groupcheck.model.vocabulary import Request
from groupcheck.properties.generators.context import SIZES
from groupcheck.properties.input_kinds import FAULT_FEATURES, features_of
from groupcheck.properties.ports.port import Fault, Observation, Port, PortInfo
from groupcheck.properties.ports.source import PortSource

# Every coordinator has a clock, and members that may change what they offer.
SKIPPABLE: Final = tuple(f for f in Feature if f not in {Feature.TIME, Feature.METADATA})

# Marks a skipped feature, unlike one that the port itself reports as unsupported.
SKIPPED: Final = " (skipped)"


class SkippingPort:
    """A port with some features skipped; the methods are those of `Port`."""

    def __init__(self, port: Port, skipped: Collection[Feature]) -> None:
        self._port = port
        self.skipped = frozenset(skipped)
        self.tolerances = getattr(port, "tolerances", None)
        self._sized = False

    @property
    def real_time(self) -> bool:
        """Whether it runs on a real clock."""
        return self._port.real_time

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API that it supports."""
        return self._port.max_versions

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with an empty coordinator."""
        self._sized = not SIZES.keys().isdisjoint(config)
        return self._port.open(profile, config)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request, if its features are not skipped."""
        skipped = features_of(request) | ({Feature.MAX_SIZE} if self._sized else set())
        if not skipped.isdisjoint(self.skipped):
            return _unsupported(skipped & self.skipped)
        return self._port.request(request, expected)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass."""
        return self._port.advance(ms, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Apply a fault to the coordinator, if its feature is not skipped."""
        if FAULT_FEATURES[fault.name] in self.skipped:
            return _unsupported({FAULT_FEATURES[fault.name]})
        return self._port.fault(fault, expected)

    def close(self) -> None:
        """End the test."""
        self._port.close()

    def shutdown(self) -> None:
        """Release its resources."""
        self._port.shutdown()


def _unsupported(features: Iterable[Feature]) -> Observation:
    return Observation(unsupported=f"{', '.join(sorted(features))}{SKIPPED}")


def skip_features(source: PortSource, skipped: Collection[Feature]) -> PortSource:
    """A source of the same ports with some features skipped; only this process can make them."""
    if not skipped:
        return source
    return source._replace(connect=lambda: SkippingPort(source.connect(), skipped), typed=False)


def needs(spaces: Iterable[StateSpace]) -> dict[str, frozenset[Feature]]:
    """For each rule that is applied in any of the spaces, the features without which it is not.

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
            [(features_of(edge.given) | sized, edge.target, edge.fired) for edge in edges]
            for edges in space.edges
        ]
        every = [edge for edges in self._edges for edge in edges]
        self.features = frozenset[Feature]().union(*(features for features, _, _ in every))
        self.applied = {rule for _, _, fired in every for rule in fired}

    def without(self, feature: Feature) -> set[str]:
        """The rules that still apply without the inputs of a feature."""
        if feature not in self.features:
            return self.applied
        applied, seen, queue = set[str](), {0}, deque([0])
        while queue:
            for features, target, fired in self._edges[queue.popleft()]:
                if feature not in features:
                    applied.update(fired)
                    if target not in seen:
                        seen.add(target)
                        queue.append(target)
        return applied
