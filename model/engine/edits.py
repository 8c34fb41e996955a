"""Edits of a version: the one way to say "as this version, but for this".

An explanation, a deviation of a port and a mutant of a specification are each a list of edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from groupcheck.model.engine.rules import Effect, Guard, Version, VersionRule

P = TypeVar("P", Guard, Effect)


class UnknownPartError(LookupError):
    """An edit names a rule, a guard or an effect that the version does not have."""


class DropGuard(NamedTuple):
    """The rule holds whether or not this guard does."""

    rule: str
    guard: str

    def __str__(self) -> str:
        return f"{self.rule} without the guard {self.guard!r}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        return _changed(version, self.rule, self._without)

    def _without(self, rule: VersionRule) -> VersionRule:
        return rule._replace(guards=_dropped(rule.guards, self.guard))


class AddGuard(NamedTuple):
    """The rule holds only if this guard does, too."""

    rule: str
    guard: Guard

    def __str__(self) -> str:
        return f"{self.rule} only if {self.guard.words}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        return _changed(
            version, self.rule, lambda rule: rule._replace(guards=(*rule.guards, self.guard))
        )


class DropEffect(NamedTuple):
    """The rule, or the procedure, does not make this effect."""

    rule: str
    effect: str

    def __str__(self) -> str:
        return f"{self.rule} does not {self.effect}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        if self.rule in version.procedures:
            kept = _dropped(version.procedures[self.rule], self.effect)
            return version._replace(procedures={**version.procedures, self.rule: kept})
        return _changed(
            version,
            self.rule,
            lambda rule: rule._replace(effects=_dropped(rule.effects, self.effect)),
        )


class ReplaceEffects(NamedTuple):
    """The rule makes these effects instead of its own."""

    rule: str
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        return f"{self.rule} does: {'; '.join(effect.words for effect in self.effects)}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        return _changed(version, self.rule, lambda rule: rule._replace(effects=self.effects))


class FromVersion(NamedTuple):
    """The rule is as another version has it, but tried where this version tries it."""

    rule: str
    other: Version

    def __str__(self) -> str:
        return f"{self.rule} as in {self.other.name}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        instead = self.other.rules.get(self.rule)
        if instead is None:
            msg = f"{self.other.name} has no rule {self.rule}"
            raise UnknownPartError(msg)
        return _changed(version, self.rule, lambda _rule: instead)


class Alone(NamedTuple):
    """The rule is applied whenever one of these tables is tried; of them, no other rule is.

    The first table is tried before all others, and is left empty unless the rule is in it.
    """

    rule: str
    tables: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.rule} alone"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        own = table_of(version, self.rule)
        alone = (version.rules[self.rule]._replace(guards=()),)
        tables: dict[str, tuple[VersionRule, ...]] = dict.fromkeys(self.tables, alone)
        if own != self.tables[0]:
            tables[self.tables[0]] = ()
        return version._replace(tables={**version.tables, **tables})


class DropRule(NamedTuple):
    """The version does not have the rule."""

    rule: str

    def __str__(self) -> str:
        return f"no {self.rule}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        name = table_of(version, self.rule)
        table = tuple(each for each in version.tables[name] if each.id != self.rule)
        return version._replace(tables={**version.tables, name: table})


class AddRule(NamedTuple):
    """The version also has this rule, which it tries just before another one."""

    rule: VersionRule
    before: str

    def __str__(self) -> str:
        return f"{self.rule.id} before {self.before}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        name = table_of(version, self.before)
        table = list(version.tables[name])
        table.insert([each.id for each in table].index(self.before), self.rule)
        return version._replace(tables={**version.tables, name: tuple(table)})


class Toggle(NamedTuple):
    """A behaviour holds that the version does not have, or does not hold that it has."""

    behaviour: str

    def __str__(self) -> str:
        return f"the opposite of {self.behaviour}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        if self.behaviour not in version.known_behaviours:
            msg = f"there is no behaviour {self.behaviour!r}"
            raise UnknownPartError(msg)
        return version._replace(behaviours=version.behaviours ^ {self.behaviour})


Edit = (
    DropRule
    | AddRule
    | DropGuard
    | AddGuard
    | DropEffect
    | ReplaceEffects
    | FromVersion
    | Alone
    | Toggle
)


def edited(version: Version, edits: Iterable[Edit]) -> Version:
    """The version with every edit, one after the other.

    Raises:
        UnknownPartError: an edit names what the version does not have.
    """
    for edit in edits:
        version = edit(version)
    return version


def table_of(version: Version, rule: str) -> str:
    """The name of the table that a rule is in.

    Raises:
        UnknownPartError: the version has no such rule.
    """
    for name, table in version.tables.items():
        if any(each.id == rule for each in table):
            return name
    msg = f"{version.name} has no rule {rule}"
    raise UnknownPartError(msg)


def _changed(version: Version, rule: str, change: Callable[[VersionRule], VersionRule]) -> Version:
    name = table_of(version, rule)
    table = tuple(change(each) if each.id == rule else each for each in version.tables[name])
    return version._replace(tables={**version.tables, name: table})


def _dropped(parts: tuple[P, ...], words: str) -> tuple[P, ...]:
    kept = tuple(part for part in parts if part.words != words)
    if len(kept) == len(parts):
        msg = f"there is no {words!r}; there are: {'; '.join(part.words for part in parts)}"
        raise UnknownPartError(msg)
    return kept
