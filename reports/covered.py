"""The merged coverage of several runs as text and JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.rules import VersionRule
from groupcheck.properties.coverage.covered import Merged, ProfileCovered
from groupcheck.reports.formatting import bounded_lines, counted, percent
from groupcheck.reports.record import RuleCoverage


def summary(merged: Merged) -> str:
    """Coverage by instance and by rule."""
    lines = []
    for name, covered in merged.covered.items():
        lines += _of_profile(name, covered)
    lines += [f"rejected   {what}" for what in merged.refused]
    return bounded_lines(lines or ["no coverage"])


def _of_profile(name: str, covered: ProfileCovered) -> list[str]:
    lines = [f"profile    {name}"]
    for instance, each in covered.instances.items():
        counts = [("instance", each.shown, each.transitions, "transition")]
        if each.pairs:
            counts.append(("pairs", each.pairs_shown, each.pairs, "pair"))
        lines += [
            f"{head:<11}{instance}: {part:,} of {counted(whole, what)} covered"
            f" ({percent(part, whole)})"
            for head, part, whole, what in counts
        ]
    profile = EVERY_PROFILE.get(name)
    if profile is None:
        return [*lines, f"rules      {counted(len(covered.applied), 'rule')} applied"]
    rules, guards = rules_of(profile, covered.applied), _guards(profile)
    lines.append(f"rules      {len(rules.applied)} of {len(profile.rules)} applied")
    lines.append(
        f"guards     {len(rules.guard_false)} of {len(guards)} seen false where a later rule of the"
        " same table was applied"
    )
    held = [rule for rule in rules.applied if rule in guards and rule not in rules.guard_false]
    if held:
        lines.append(f"one-sided  never seen false: {', '.join(held)}")
    if rules.not_applied:
        lines.append(f"unapplied  {', '.join(rules.not_applied)}")
    return lines


def rules_of(profile: Profile, applied: Collection[str]) -> RuleCoverage:
    """The coverage of a profile's rules."""
    guard_false: dict[str, None] = {}
    for table in _tables(profile):
        names = [rule.id for rule in table]
        last = max((at for at, name in enumerate(names) if name in applied), default=0)
        guard_false |= dict.fromkeys(names[:last])
    return RuleCoverage(
        applied=tuple(rule for rule in profile.rules if rule in applied),
        not_applied=tuple(rule for rule in profile.rules if rule not in applied),
        guard_false=tuple(guard_false),
    )


def _guards(profile: Profile) -> set[str]:
    """The rules that have a later one in their table."""
    return {rule.id for table in _tables(profile) for rule in table[:-1]}


def _tables(profile: Profile) -> Iterable[tuple[VersionRule, ...]]:
    return profile.version.tables.values()


def as_json(merged: Merged) -> dict[str, Any]:
    """The same as JSON."""
    profiles: dict[str, Any] = {}
    for name, covered in merged.covered.items():
        profiles[name] = {
            "instances": {
                instance: {
                    "transitions": each.transitions,
                    "covered": each.shown,
                    "pairs": each.pairs,
                    "pairs_covered": each.pairs_shown,
                }
                for instance, each in covered.instances.items()
            },
            "applied": sorted(covered.applied),
        }
        if name in EVERY_PROFILE:
            rules = rules_of(EVERY_PROFILE[name], covered.applied)
            profiles[name] |= {
                "not_applied": rules.not_applied,
                "guard_false": rules.guard_false,
            }
    return {"format": 1, "profiles": profiles, "rejected": list(merged.refused)}
