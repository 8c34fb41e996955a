"""Rules as data: guards and effects with names, tables of rules, and the versions made of them.

A specification states each rule once, with its source in every version that has it. `version_of`
takes what one version has. Because guards and effects have names, an edit of a version is data too
(`edits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

# Where a version states something: the file and the line in the system's source, by version.
Sources = Mapping[str, str]

EVERY_VERSION: Sources = MappingProxyType({})


class Guard(NamedTuple):
    """A named condition of a step and its subject. It is pure: it reads, and changes nothing.

    Args:
        words: what it says, to be read after "if".
        holds: the condition.
        sources: the versions in which a rule has this guard; empty for every version of the rule.
        states: the states of the system that it allows, if it is about the state; else empty.
    """

    words: str
    holds: Callable[[Any, Any], bool]
    sources: Sources = EVERY_VERSION
    states: frozenset[str] = frozenset()

    def only(self, sources: Sources) -> Guard:
        """The same guard, in these versions only."""
        return self._replace(sources=sources)


class Effect(NamedTuple):
    """A named change that a rule makes: it is applied to the step and its subject.

    Args:
        words: what it does, as an imperative.
        apply: the change.
        sources: the versions in which a rule has this effect; empty for every version of the rule.
    """

    words: str
    apply: Callable[[Any, Any], object]
    sources: Sources = EVERY_VERSION

    def only(self, sources: Sources) -> Effect:
        """The same effect, in these versions only."""
        return self._replace(sources=sources)


P = TypeVar("P", Guard, Effect)


class Rule(NamedTuple):
    """One rule: if all guards hold, the effects are applied in their order.

    Args:
        id: its name, unique in the specification: `heartbeat/preparing`.
        words: when it holds, to be read after "because".
        sources: where each version that has the rule states it.
        guards: the conditions; a rule without any holds always.
        effects: what it does.
        deferred: the versions in which its answer waits until every record is committed.
        words_of: the words of versions where they differ.
    """

    id: str
    words: str
    sources: Sources
    guards: tuple[Guard, ...] = ()
    effects: tuple[Effect, ...] = ()
    deferred: Sources = EVERY_VERSION
    words_of: Mapping[str, str] = EVERY_VERSION


def rule(
    id_: str,
    words: str,
    sources: Sources,
    *parts: Guard | Effect,
    deferred: Sources = EVERY_VERSION,
    words_of: Mapping[str, str] = EVERY_VERSION,
) -> Rule:
    """A rule of these guards and effects, each kind in its order."""
    guards = tuple(part for part in parts if isinstance(part, Guard))
    effects = tuple(part for part in parts if isinstance(part, Effect))
    return Rule(id_, words, sources, guards, effects, deferred, words_of)


class Table(NamedTuple):
    """A decision table: its rules are tried in order, and the first that holds is applied.

    Args:
        name: unique in the specification.
        area: the request or the event that it belongs to; several tables may have the same.
        rules: all rules of all versions, in the order in which they are tried.
        moves: where a version has another order: pairs of ids, the first of which it tries just
            before the second.
    """

    name: str
    area: str
    rules: tuple[Rule, ...]
    moves: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType({})


def table(
    name: str,
    area: str,
    *rules: Rule,
    moves: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType({}),
) -> Table:
    """A table of these rules."""
    return Table(name, area, rules, moves)


def single(  # noqa: PLR0913 - one record of data
    name: str,
    area: str,
    id_: str,
    words: str,
    sources: Sources,
    *parts: Guard | Effect,
    deferred: Sources = EVERY_VERSION,
) -> Table:
    """A table of one rule."""
    return table(name, area, rule(id_, words, sources, *parts, deferred=deferred))


class Procedure(NamedTuple):
    """A sequence of effects that several rules share, as each version has it. It can be called.

    Args:
        name: unique in the specification.
        area: as of a table.
        words: what it does, as an imperative.
        effects: in their order.
    """

    name: str
    area: str
    words: str
    effects: tuple[Effect, ...]

    def __call__(self, step: RuleStep, subject: object) -> None:
        """Apply what the version of the step has of the effects."""
        for effect in step.version.procedures[self.name]:
            effect.apply(step, subject)

    def has(self, version: Version, effect: Effect) -> bool:
        """Whether a version makes the effect."""
        return effect in version.procedures[self.name]

    @property
    def effect(self) -> Effect:
        """The whole procedure, as one effect of a rule."""
        return Effect(self.words, self.__call__)


class Behaviour(NamedTuple):
    """A difference between versions that guards and effects ask for: it holds in some of them.

    Args:
        name: unique in the specification.
        area: as of a table.
        words: what holds.
        sources: where each version in which it holds states it.
    """

    name: str
    area: str
    words: str
    sources: Sources

    def __call__(self, step: RuleStep) -> bool:
        """Whether it holds in the version of the step."""
        return self.name in step.version.behaviours

    def holds_in(self, version: Version) -> bool:
        """Whether it holds in a version."""
        return self.name in version.behaviours


def procedure(name: str, area: str, words: str, *effects: Effect) -> Procedure:
    """A procedure of these effects."""
    return Procedure(name, area, words, effects)


Part = Table | Procedure | Behaviour


class VersionRule(NamedTuple):
    """A rule as one version has it."""

    id: str
    words: str
    source: str
    guards: tuple[Guard, ...]
    effects: tuple[Effect, ...]
    deferred: bool = False

    def holds(self, step: RuleStep, subject: object) -> bool:
        """Whether all guards hold."""
        return all(guard.holds(step, subject) for guard in self.guards)

    def apply(self, step: RuleStep, subject: object) -> None:
        """Apply the effects, and note that the rule was applied."""
        step.applied.append(self.id)
        for effect in self.effects:
            effect.apply(step, subject)


class Version(NamedTuple):
    """What one version has of a specification.

    Args:
        name: of the version.
        tables: the rules of each table, in the order in which they are tried.
        procedures: the effects of each procedure.
        behaviours: the names of those that hold.
        areas: the names of the tables of each area, in the order in which they are declared.
        known_behaviours: the names of all behaviours of the specification.
        answers: by the id of a rule, changes of what it answers, in their order.
        unknown_after: the rules after whose answers the state is unknown.
        first_numbers: of what is numbered, by its name, the number of the first.
    """

    name: str
    tables: Mapping[str, tuple[VersionRule, ...]]
    procedures: Mapping[str, tuple[Effect, ...]]
    behaviours: frozenset[str]
    areas: Mapping[str, tuple[str, ...]]
    known_behaviours: frozenset[str]
    answers: Mapping[str, tuple[Callable[[Any], Any], ...]] = MappingProxyType({})
    unknown_after: frozenset[str] = frozenset()
    first_numbers: Mapping[str, int] = MappingProxyType({})

    @property
    def rules(self) -> dict[str, VersionRule]:
        """Every rule by its id."""
        return {rule.id: rule for table in self.tables.values() for rule in table}


class RuleStep(Protocol):
    """The interface of a step that rules are applied to."""

    version: Version
    applied: list[str]


def version_of(name: str, parts: Iterable[Part]) -> Version:
    """What a version has of all parts of a specification.

    Raises:
        ValueError: two parts or two rules have one name, or a version moves a rule that it does not
            have.
    """
    parts = tuple(parts)
    names = [part.name for part in parts]
    ids = [rule.id for part in parts if isinstance(part, Table) for rule in part.rules]
    for unique in (names, ids):
        if twice := {each for each in unique if unique.count(each) > 1}:
            msg = f"more than one part of the specification is called {', '.join(sorted(twice))}"
            raise ValueError(msg)
    tables = [part for part in parts if isinstance(part, Table)]
    behaviours = [part for part in parts if isinstance(part, Behaviour)]
    areas: dict[str, tuple[str, ...]] = {}
    for table in tables:
        areas[table.area] = (*areas.get(table.area, ()), table.name)
    return Version(
        name,
        {table.name: _rules_of(name, table) for table in tables},
        {p.name: _kept(name, p.effects) for p in parts if isinstance(p, Procedure)},
        frozenset(each.name for each in behaviours if name in each.sources),
        areas,
        frozenset(each.name for each in behaviours),
    )


def _rules_of(version: str, table: Table) -> tuple[VersionRule, ...]:
    rules = {rule.id: rule for rule in table.rules if version in rule.sources}
    order = list(rules)
    for moved, later in table.moves.get(version, ()):
        if not {moved, later} <= rules.keys():
            msg = f"{table.name} in {version}: {moved} cannot be tried before {later}"
            raise ValueError(msg)
        order.remove(moved)
        order.insert(order.index(later), moved)
    return tuple(_rule_of(version, rules[each]) for each in order)


def _rule_of(version: str, rule: Rule) -> VersionRule:
    return VersionRule(
        rule.id,
        rule.words_of.get(version, rule.words),
        rule.sources[version],
        _kept(version, rule.guards),
        _kept(version, rule.effects),
        version in rule.deferred,
    )


def _kept(version: str, parts: tuple[P, ...]) -> tuple[P, ...]:
    return tuple(part for part in parts if not part.sources or version in part.sources)


def decide(step: RuleStep, table: Table, subject: object) -> VersionRule | None:
    """Apply the first rule of a table whose guards hold, and return it; None if none does."""
    for rule in step.version.tables[table.name]:
        for guard in rule.guards:
            if not guard.holds(step, subject):
                break
        else:
            rule.apply(step, subject)
            return rule
    return None
