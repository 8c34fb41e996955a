"""An edit that tests need: one effect of a rule is replaced."""

from __future__ import annotations

from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import ReplaceEffects
from groupcheck.model.engine.rules import Effect


def replace_effect(profile: Profile, rule: str, words: str, effect: Effect) -> ReplaceEffects:
    """The edit by which a rule makes `effect` in place of its effect with these words.

    Raises:
        ValueError: the rule has no such effect.
    """
    effects = profile.rules[rule].effects
    if words not in {each.words for each in effects}:
        msg = f"{rule} has no effect {words!r}"
        raise ValueError(msg)
    return ReplaceEffects(rule, tuple(effect if e.words == words else e for e in effects))
