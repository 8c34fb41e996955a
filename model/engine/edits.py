"""Edits of a version: each describes one difference from it.

An explanation, a deviation of a port and a mutant of a specification are each a list of edits. The
text of an edit completes "behaves as if".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import Enum
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar, cast

from groupcheck.model.engine.rules import Effect, Guard, Version, VersionRule

A = TypeVar("A")
P = TypeVar("P", Guard, Effect)


class UnknownPartError(LookupError):
    """An edit names a rule, a guard or an effect that the version does not have."""


class DropGuard(NamedTuple):
    """The rule holds whether or not this guard does."""

    rule: str
    guard: str

    def __str__(self) -> str:
        return f"`{self.rule}` did not require that {self.guard}"

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
        return f"`{self.rule}` also required that {self.guard.words}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        return _changed(
            version, self.rule, lambda rule: rule._replace(guards=(*rule.guards, self.guard))
        )


class RequireGuard(NamedTuple):
    """The rule holds only if a guard of the version does, too; or only if that one does not.

    Args:
        rule: the rule.
        guard: the words of the guard, which is one of another rule.
        holds: whether the guard has to hold.
    """

    rule: str
    guard: str
    holds: bool

    def __str__(self) -> str:
        if self.holds:
            return f"`{self.rule}` also required that {self.guard}"
        return f"`{self.rule}` did not apply if {self.guard}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        guard = guard_of(version, self.guard)

        def holds(step: object, subject: object) -> bool:
            return guard.holds(step, subject) is self.holds

        return AddGuard(self.rule, Guard(str(self), holds))(version)


class DropEffect(NamedTuple):
    """The rule, or the procedure, does not have this effect."""

    rule: str
    effect: str

    def __str__(self) -> str:
        return f"`{self.rule}` did not {self.effect}"

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


class AddEffect(NamedTuple):
    """The rule also has an effect of another rule, after its own."""

    rule: str
    effect: str
    like: str

    def __str__(self) -> str:
        return f"`{self.rule}` did also {self.effect}, as `{self.like}` does"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        table_of(version, self.like)
        effects = version.rules[self.like].effects
        added = next((each for each in effects if each.words == self.effect), None)
        if added is None:
            msg = f"{version.name}: {self.like} does not {self.effect}"
            raise UnknownPartError(msg)
        return _changed(
            version, self.rule, lambda rule: rule._replace(effects=(*rule.effects, added))
        )


class ReplaceEffects(NamedTuple):
    """The rule has these effects instead of its own."""

    rule: str
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        return (
            f"`{self.rule}` did only this: {'; '.join(e.words for e in self.effects) or 'nothing'}"
        )

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        return _changed(version, self.rule, lambda rule: rule._replace(effects=self.effects))


class Instead(NamedTuple):
    """If the rule holds, the version applies the effects of another of its rules."""

    rule: str
    does: str

    def __str__(self) -> str:
        return f"`{self.rule}` did what `{self.does}` does"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        table_of(version, self.does)
        return ReplaceEffects(self.rule, version.rules[self.does].effects)(version)


class OnlyAnswer(NamedTuple):
    """If the rule holds, the version answers as another of its rules does, and does nothing else.

    Args:
        rule: the rule.
        when: the words of a guard; only if that holds, too. Empty for always.
        like: the rule with the answer.
        fields: of the answer, by name, instead of those of the other rule.
    """

    rule: str
    when: str
    like: str
    fields: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        now = ((n, v.value if isinstance(v, InsteadOf) else v) for n, v in self.fields)
        values = ", ".join(f"{name}={_shown(value)}" for name, value in now)
        return f"`{self.rule}` only answered {values}" + (f" if {self.when}" if self.when else "")

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        table_of(version, self.like)
        guard = guard_of(version, self.when) if self.when else None
        like = version.rules[self.like]

        def replaced(own: VersionRule) -> VersionRule:
            def apply(step: object, subject: object) -> None:
                holds = guard is None or guard.holds(step, subject)
                for effect in like.effects if holds else own.effects:
                    effect.apply(step, subject)

            return own._replace(effects=(Effect(str(self), apply),))

        return ChangeAnswer(self.rule, self.fields)(_changed(version, self.rule, replaced))


class FromVersion(NamedTuple):
    """The rule is that of another version, tried in the order of this version."""

    rule: str
    other: Version

    def __str__(self) -> str:
        return f"`{self.rule}` was as in {self.other.name}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        instead = self.other.rules.get(self.rule)
        if instead is None:
            msg = f"{self.other.name} has no rule {self.rule}"
            raise UnknownPartError(msg)
        return _changed(version, self.rule, lambda _rule: instead)


class Alone(NamedTuple):
    """The rule is applied whenever one of these tables is tried, and no other rule of them is.

    The first table is tried before all others, and is empty unless it has the rule.
    """

    rule: str
    tables: tuple[str, ...]

    def __str__(self) -> str:
        return f"`{self.rule}` was the only rule"

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
        return f"rule `{self.rule}` did not exist"

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
        return f"rule `{self.rule.id}` existed, tried before `{self.before}`"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        name = table_of(version, self.before)
        table = list(version.tables[name])
        table.insert([each.id for each in table].index(self.before), self.rule)
        return version._replace(tables={**version.tables, name: tuple(table)})


class Sometimes(NamedTuple):
    """At each step, the version may or may not follow this edit."""

    of: DropRule | DropGuard | DropEffect

    def __str__(self) -> str:
        return f"sometimes {self.of}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit.

        Raises:
            UnknownPartError: the version lacks the part that the edit changes.
        """
        rule, words = self.of.rule, getattr(self.of, "guard", getattr(self.of, "effect", ""))
        self.of(version)
        if rule in version.procedures:
            effects = _optional_effects(version.procedures[rule], words)
            return version._replace(procedures={**version.procedures, rule: effects})
        if isinstance(self.of, DropRule):
            may = Guard("the rule is followed", lambda step, _subject: bool(_may(step)))
            return AddGuard(rule, may)(version)

        def optional(row: VersionRule) -> VersionRule:
            guards = tuple(_optional(g) if g.words == words else g for g in row.guards)
            if isinstance(self.of, DropGuard):
                return row._replace(guards=guards)
            return row._replace(effects=_optional_effects(row.effects, words))

        return _changed(version, rule, optional)


def _may(step: Any) -> int:  # noqa: ANN401 - of any specification
    """0 or 1; over all outcomes of the step, both."""
    chosen: int = step.choose("whether an edit is followed", (1, 0))
    return chosen


def _optional(guard: Guard) -> Guard:
    return guard._replace(holds=lambda step, subject: guard.holds(step, subject) or not _may(step))


def _optional_effects(effects: tuple[Effect, ...], words: str) -> tuple[Effect, ...]:
    def optional(effect: Effect) -> Effect:
        def apply(step: object, subject: object) -> None:
            if _may(step):
                effect.apply(step, subject)

        return effect._replace(apply=apply)

    return tuple(optional(each) if each.words == words else each for each in effects)


class Exchange(NamedTuple):
    """The version tries the second rule of a table just before the first, not after it."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"`{self.second}` was tried before `{self.first}`"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        name = table_of(version, self.first)
        table = list(version.tables[name])
        ids = [rule.id for rule in table]
        at = ids.index(self.first)
        if self.second not in ids[at + 1 :]:
            msg = f"{version.name} does not try {self.second} after {self.first}"
            raise UnknownPartError(msg)
        table.insert(at, table.pop(ids.index(self.second)))
        return version._replace(tables={**version.tables, name: tuple(table)})


class Anything:
    """A value that equals every other one; in an answer it replaces the rule's `own`."""

    __slots__ = ("own",)

    def __init__(self, own: object = None) -> None:
        self.own = own

    def __eq__(self, _other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "anything"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "ANY" if self is ANY else (Anything, (self.own,))


ANY: Final = Anything()  # a field of an answer that may have any value


def plain(value: A) -> A:
    """A record, recursively, with the rules' own values in fields that may have any value."""
    found: Any = value
    if isinstance(found, Anything):
        found = plain(found.own)
    elif isinstance(found, tuple):
        parts = list(map(plain, found))
        found = found._make(parts) if hasattr(found, "_make") else tuple(parts)
    return cast("A", found)


class InsteadOf(NamedTuple):
    """A value of a field of an answer that replaces another one."""

    value: Any
    own: Any

    def __str__(self) -> str:
        return f"{_shown(self.value)} instead of {_shown(self.own)}"


class ChangeAnswer(NamedTuple):
    """The answers of the rule have these fields, by name, instead of their own.

    An `InsteadOf` value changes only answers that have the other value. A field that an answer does
    not have is set in each record that the answer contains, if the record has it. `parts.code` is a
    field of the records in `parts`. If the answer `ends` what is known, the state is unknown after
    it: the version allows everything.
    """

    rule: str
    fields: tuple[tuple[str, Any], ...]
    ends: bool = False

    def __str__(self) -> str:
        values = ", ".join(f"{name}={_shown(value)}" for name, value in self.fields)
        return f"`{self.rule}` answered {values}{'; what follows is unknown' * self.ends}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        table_of(version, self.rule)
        changes = (*version.answers.get(self.rule, ()), self.change)
        ends = version.unknown_after | ({self.rule} if self.ends else set())
        return version._replace(answers={**version.answers, self.rule: changes}, unknown_after=ends)

    def change(self, answer: A) -> A:
        """The answer with these fields."""
        for name, value in self.fields:
            answer = _with_field(answer, name, value)
        return answer


def _with_field(answer: A, name: str, value: object) -> A:
    record: Any = answer
    field, *inner = name.split(".", 1)
    if inner and field in getattr(record, "_fields", ()):
        held = _with_field(getattr(record, field), inner[0], value)
        record = record._replace(**{field: held})
    elif name in getattr(record, "_fields", ()):
        record = record._replace(**{name: _instead(getattr(record, name), value)})
    elif isinstance(record, tuple):
        parts = [_with_field(part, name, value) for part in record]
        record = record._make(parts) if hasattr(record, "_make") else tuple(parts)
    return cast("A", record)


def _instead(own: object, value: object) -> object:
    if isinstance(value, InsteadOf):
        return _instead(own, value.value) if own == value.own else own
    return Anything(own) if value is ANY else value


def _shown(value: object) -> str:
    if isinstance(value, InsteadOf):
        return str(value)
    return value.name if isinstance(value, Enum) else repr(value)


class SetBehaviour(NamedTuple):
    """The version gains a behaviour that it lacks, or loses one that it has."""

    behaviour: str
    holds: bool

    def __str__(self) -> str:
        return f"behaviour `{self.behaviour}` {'applied' if self.holds else 'did not apply'}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        if self.behaviour not in version.known_behaviours:
            msg = f"there is no behaviour {self.behaviour!r}"
            raise UnknownPartError(msg)
        others = version.behaviours - {self.behaviour}
        return version._replace(behaviours=others | ({self.behaviour} if self.holds else set()))


class FirstNumber(NamedTuple):
    """Numbers such as generations start at another first number.

    The rules are unchanged: the numbers of an implementation are converted before they are
    compared.
    """

    of: str
    number: int

    def __str__(self) -> str:
        return f"the first {self.of} number was {self.number}"

    def __call__(self, version: Version) -> Version:
        """The version with this edit."""
        if self.of not in version.first_numbers:
            msg = f"{version.name} numbers no {self.of!r}"
            raise UnknownPartError(msg)
        return version._replace(first_numbers={**version.first_numbers, self.of: self.number})


Edit = (
    DropRule
    | AddRule
    | DropGuard
    | AddGuard
    | RequireGuard
    | DropEffect
    | AddEffect
    | ReplaceEffects
    | FromVersion
    | Instead
    | OnlyAnswer
    | Alone
    | Exchange
    | ChangeAnswer
    | Sometimes
    | SetBehaviour
    | FirstNumber
)


def edited(version: Version, edits: Iterable[Edit]) -> Version:
    """The version with every edit, one after the other.

    Raises:
        UnknownPartError: an edit names what the version does not have.
    """
    for edit in edits:
        version = edit(version)
    return version


def single_edits(version: Version, others: Iterable[Version]) -> Iterator[Edit]:
    """Every edit that drops, exchanges or replaces one part of a version, in a fixed order.

    Of several edits that give the same version, the first is yielded. Rules are replaced by those
    of the `others`. Answers are not edited.
    """
    found = {_content(version)}
    for edit in _single_edits(version, others):
        content = _content(edit(version))
        if content not in found:
            found.add(content)
            yield edit


def _single_edits(version: Version, others: Iterable[Version]) -> Iterator[Edit]:
    rules = version.rules
    yield from (DropRule(rule) for rule in rules)
    yield from (DropGuard(rule.id, g.words) for rule in rules.values() for g in rule.guards)
    yield from (DropEffect(rule.id, e.words) for rule in rules.values() for e in rule.effects)
    for name, effects in version.procedures.items():
        yield from (DropEffect(name, effect.words) for effect in effects)
    for table in version.tables.values():
        yield from (Exchange(a.id, b.id) for a, b in pairwise(table))
    for other in others:
        yield from (FromVersion(rule, other) for rule in rules if rule in other.rules)
    for name in sorted(version.known_behaviours):
        yield SetBehaviour(name, holds=name not in version.behaviours)


def _content(version: Version) -> Hashable:
    """The parts of a version, by name: equal for versions that behave the same."""
    tables = tuple(tuple(map(_content_of, table)) for table in version.tables.values())
    procedures = tuple(tuple(e.words for e in each) for each in version.procedures.values())
    return tables, procedures, version.behaviours


def _content_of(rule: VersionRule) -> Hashable:
    words = (tuple(part.words for part in parts) for parts in (rule.guards, rule.effects))
    return rule.id, *words, rule.deferred


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


def guard_of(version: Version, words: str) -> Guard:
    """The guard of a version with these words.

    Raises:
        UnknownPartError: the version has no such guard.
    """
    every = (guard for rule in version.rules.values() for guard in rule.guards)
    found = next((guard for guard in every if guard.words == words), None)
    if found is None:
        msg = f"{version.name} has no guard {words!r}"
        raise UnknownPartError(msg)
    return found


def always(edit: Edit) -> Edit:
    """The edit that holds sometimes; any other edit unchanged."""
    return edit.of if isinstance(edit, Sometimes) else edit


def about(edit: Edit) -> str:
    """The rule or the procedure that an edit is about; the first of two, empty if there is none."""
    of = always(edit)
    rule: str = getattr(of, "rule", "") or getattr(of, "first", "")
    return rule


def rules_beside(edit: Edit, version: Version) -> frozenset[str]:
    """The rules of the table that an edit is about; none if it is about no table."""
    rule = about(edit)
    for table in version.tables.values():
        rules = frozenset(each.id for each in table)
        if rule in rules:
            return rules
    return frozenset()


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
