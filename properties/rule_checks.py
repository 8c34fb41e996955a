"""A verification in parts, each a test of its own: one for each rule, and random sequences.

The transitions of all model instances are divided among the rules, so that the parts together
cover what a verification covers. They do not depend on the test runner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import cache, cached_property

from groupcheck.model.engine.exploration import Transition
from groupcheck.model.instances.inputs import Feature
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.explored import Explored, explored, virtual
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.unsupported import needs, skip_features
from groupcheck.properties.verify import Verification

# In so many parts the random sequences are tried.
RANDOM_PARTS = 10


class Division:
    """The model instances of a profile, and the rule to which each transition belongs.

    That is the rarest of the rules it applies, so that each rule gets one; ties go by name.
    `rules` are the rules that have a transition, in the profile's order.
    """

    def __init__(self, explored: Explored, rules: tuple[str, ...]) -> None:
        self.explored = explored
        spaces = explored.spaces.values()
        self._applied: Counter[str] = sum((space.applied for space in spaces), Counter())
        fired = {edge.fired: edge for space in spaces for edges in space.edges for edge in edges}
        rarest = set(map(self.rule_of, fired.values()))
        self.rules = tuple(rule for rule in rules if rule in rarest)

    def rule_of(self, edge: Transition) -> str:
        """The rule to which a transition belongs."""
        return min(edge.fired, key=lambda rule: (self._applied[rule], rule))

    @cached_property
    def needs(self) -> dict[str, frozenset[Feature]]:
        """For each rule the features without which it is applied nowhere."""
        return needs(self.explored.spaces.values())


def division(settings: Settings) -> Division:
    """Explore the spaces for a coordinator in virtual time, once, and divide their edges."""
    return _division(Settings(settings.profile, settings.members, every_space=settings.every_space))


@cache
def _division(settings: Settings) -> Division:
    profile = PROFILES[settings.profile]
    return Division(explored(virtual(profile, settings)), tuple(profile.rules))


class Parts:
    """The parts of one verification; each is given back when it is done.

    Raises, whichever part is asked for:
        PortUnavailableError: the port could not be reached in the first place.
    """

    def __init__(self, source: PortSource, settings: Settings) -> None:
        self.source = source
        self.settings = settings

    def skip_features(self, features: Collection[Feature]) -> Parts:
        """The same parts for a port without these features, which sends it no such inputs."""
        return Parts(skip_features(self.source, features), self.settings)

    def rule(self, name: str) -> Verification:
        """Try every transition that belongs to a rule."""
        divided = division(self.settings)
        return _done(
            Verification(
                self.source,
                self.settings._replace(examples=0, walks=0),
                given=divided.explored,
                wanted=lambda edge: divided.rule_of(edge) == name,
            )
        )

    def random(self, number: int) -> Verification:
        """Try one of `RANDOM_PARTS` parts of the random sequences; `number` counts from 0."""
        first, examples = _share(self.settings.examples, number)
        _, walks = _share(self.settings.walks, number)
        seed = self.settings.seed + first + number
        return _done(
            Verification(
                self.source,
                self.settings._replace(examples=examples, walks=walks, seed=seed),
                given=division(self.settings).explored,
                wanted=lambda _edge: False,
            )
        )

    def whole(self) -> Verification:
        """Verify a coordinator on a real clock, whose tests run side by side anyway."""
        return _done(Verification(self.source, self.settings))


def _done(verification: Verification) -> Verification:
    verification.run()
    return verification


def _share(whole: int, number: int) -> tuple[int, int]:
    """Where one of the random parts begins, and how much of the whole it does."""
    first, end = (whole * each // RANDOM_PARTS for each in (number, number + 1))
    return first, end - first
