"""What was shown of the model in all runs together, on a screen and as JSON."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Profile, Rule
from groupcheck.properties.coverage.covered import Merged, ProfileCovered
from groupcheck.reports.terminal import percent
from groupcheck.reports.words import bounded, counted


def summary(merged: Merged) -> str:
    """Labelled edges by space, the rules that were applied, and those that starved."""
    lines = []
    for name, covered in merged.covered.items():
        lines += _of_profile(name, covered)
    lines += [f"refused    {what}" for what in merged.refused]
    return "".join(f"{bounded(line)}\n" for line in lines or ["nothing was shown"])


def _of_profile(name: str, covered: ProfileCovered) -> list[str]:
    lines = [f"profile    {name}"]
    for space, each in covered.spaces.items():
        share = percent(each.shown, each.edges)
        lines.append(
            f"space      {space}: {each.shown:,} of {counted(each.edges, 'labelled edge')}"
            f" shown ({share})"
        )
        if each.pairs:
            share = percent(each.pairs_shown, each.pairs)
            lines.append(
                f"pairs      {space}: {each.pairs_shown:,} of {counted(each.pairs, 'pair')} of"
                f" adjacent edges shown ({share})"
            )
    profile = PROFILES.get(name)
    if profile is None:
        return [*lines, f"rules      {counted(len(covered.applied), 'rule')} applied"]
    held, starved, not_held = rules_of(profile, covered.applied)
    lines.append(f"rules      {len(held)} of {len(profile.rules)} were seen to hold")
    lines.append(
        f"guards     {len(not_held)} of {len(_guards(profile))} in decision lists were seen not"
        " to hold where another rule then did"
    )
    held_always = [rule for rule in held if rule in _guards(profile) and rule not in not_held]
    if held_always:
        lines.append(f"one-sided  never seen not to hold: {', '.join(held_always)}")
    if starved:
        lines.append(f"starved    never applied: {', '.join(starved)}")
    return lines


def rules_of(profile: Profile, applied: Collection[str]) -> tuple[list[str], list[str], list[str]]:
    """The rules that were applied, those that never were, and those passed over for another."""
    held = [rule for rule in profile.rules if rule in applied]
    starved = [rule for rule in profile.rules if rule not in applied]
    not_held: dict[str, None] = {}
    for table in _tables(profile):
        names = [rule.name for rule in table]
        last = max((at for at, name in enumerate(names) if name in applied), default=0)
        not_held |= dict.fromkeys(names[:last])
    return held, starved, list(not_held)


def _guards(profile: Profile) -> set[str]:
    """The rules that another one stands behind in a decision list."""
    return {rule.name for table in _tables(profile) for rule in table[:-1]}


def _tables(profile: Profile) -> list[tuple[Rule, ...]]:
    return [
        field
        for field in profile
        if isinstance(field, tuple) and field and all(isinstance(rule, Rule) for rule in field)
    ]


def as_json(merged: Merged) -> dict[str, Any]:
    """The same as JSON-able values."""
    profiles: dict[str, Any] = {}
    for name, covered in merged.covered.items():
        profiles[name] = {
            "spaces": {
                space: {
                    "edges": each.edges,
                    "shown": each.shown,
                    "pairs": each.pairs,
                    "pairs_shown": each.pairs_shown,
                }
                for space, each in covered.spaces.items()
            },
            "applied": sorted(covered.applied),
        }
        if name in PROFILES:
            _, starved, not_held = rules_of(PROFILES[name], covered.applied)
            profiles[name] |= {"starved": starved, "passed_over": not_held}
    return {"format": 1, "profiles": profiles, "refused": list(merged.refused)}
