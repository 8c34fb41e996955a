"""Splits a verification into checks of rules: the transitions and findings of each rule.

It does not depend on the test runner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import cache, cached_property

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.properties.explored import Explored, explored, virtual
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings, TransitionCounts
from groupcheck.properties.unsupported import needs
from groupcheck.properties.verify import Verification


class RuleInstances:
    """The model instances of a verification; `rules` are those that any of them applies."""

    def __init__(self, explored: Explored, rules: tuple[str, ...]) -> None:
        self.explored = explored
        applied = set[str]().union(*(space.applied for space in explored.spaces.values()))
        self.rules = tuple(rule for rule in rules if rule in applied)

    @cached_property
    def needs(self) -> dict[str, frozenset[Feature]]:
        """For each rule the features that every application of it needs."""
        return needs(self.explored.spaces.values())


def rule_instances(settings: Settings) -> RuleInstances:
    """The instances for a coordinator in virtual time, explored once."""
    return _rule_instances(
        Settings(settings.profile, settings.members, every_instance=settings.every_instance)
    )


@cache
def _rule_instances(settings: Settings) -> RuleInstances:
    profile = EVERY_PROFILE[settings.profile]
    return RuleInstances(explored(virtual(profile, settings)), tuple(profile.rules))


def rule_verification(
    source: PortSource, settings: Settings, rules: Collection[str], *, random: bool
) -> Verification:
    """A verification of all transitions that apply one of the rules; `random` adds sequences."""
    instances = rule_instances(settings)
    if not random:
        settings = settings._replace(examples=0, walks=0)
    chosen = frozenset(rules)
    whole = chosen.issuperset(instances.rules)
    return Verification(
        source,
        settings,
        given=instances.explored,
        wanted=None if whole else lambda edge: not chosen.isdisjoint(edge.applied),
    )


def transitions_by_rule(verification: Verification) -> dict[str, TransitionCounts]:
    """The transitions that apply each rule; one that applies several counts for each of them."""
    outcomes: defaultdict[str, list[str]] = defaultdict(list)
    for coverage in verification.coverages.values():
        transitions = (edge for edges in coverage.space.edges for edge in edges)
        for transition, outcome in zip(transitions, coverage.kinds(), strict=True):
            for rule in set(transition.applied):
                outcomes[rule].append(outcome)
    return {rule: TransitionCounts.of("".join(each)) for rule, each in outcomes.items()}


def rule_of(finding: Finding, rules: Collection[str]) -> str | None:
    """The rule that the finding contradicts, or else one that Kafka applies at its last step.

    None if that is none of `rules`.
    """
    applied = (rule for outcome in finding.allowed for rule in reversed(outcome.applied))
    return next((rule for rule in (finding.reason, *applied) if rule in rules), None)
