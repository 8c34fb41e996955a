"""The edits that may explain a finding, in stages, the simplest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum, auto
from itertools import chain, combinations, product
from typing import Any, Final

from groupcheck.model.classic.edits import error_of
from groupcheck.model.classic.profiles import GENERATION
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.rules.guards import state_is
from groupcheck.model.classic.rules.rebalance import MAYBE_PREPARE
from groupcheck.model.classic.rules.session import RESTART_SESSION
from groupcheck.model.classic.rules.timers import EARLY, LATE
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import tables_of
from groupcheck.model.engine.edits import (
    ANY,
    AddEffect,
    ChangeAnswer,
    Edit,
    Exchange,
    FirstNumber,
    Instead,
    InsteadOf,
    OnlyAnswer,
    RequireGuard,
    SetBehaviour,
    Sometimes,
    about,
)
from groupcheck.model.engine.rules import Version, VersionRule
from groupcheck.model.vocabulary import RESPONSES, ErrorCode, Request, Response
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.oracle import Difference
from groupcheck.properties.ports.numbering import first_generation, revealed_generation


class Stage(IntEnum):
    """A stage of edits, the simplest first."""

    NUMBERS = auto()  # another first generation
    OWN = auto()  # of the rules that Kafka applies in the last step
    CERTAIN = auto()  # other fields of the answer
    NEAR = auto()  # of the other rules of their tables
    FAR = auto()  # of all other rules that the test tries
    GENERATION = auto()  # another generation in the answer, which other rules have decided
    GUARDED = auto()  # another guard of the rules
    INSTEAD = auto()  # other rules of their tables tried before them, or the effects of those
    ONLY_ANSWER = auto()  # an answer, and no other effect of the rules
    ADDED = auto()  # an effect more of any rule of a request that the test applies
    WIDE_ANSWER = auto()  # the same, if that is wide
    VAGUE = auto()  # fields of the answer that may have any value
    PAIRS = auto()
    WIDE = auto()  # edits of earlier stages that change much more than was observed


# The APIs whose requests change the members of a group.
OF_MEMBERS: Final = frozenset({"JoinGroup", "SyncGroup", "LeaveGroup"})
# Effects that a port may have at any request of a member.
OF_REQUESTS: Final = frozenset({RESTART_SESSION.words, MAYBE_PREPARE.words})

# Behaviours that allow more, and nothing less.
_TIMERS: Final = frozenset(each.name for each in (*EARLY.values(), *LATE.values()))

# Tried on all findings before any other stage is.
SIMPLE: Final = tuple(stage for stage in Stage if stage < Stage.WIDE_ANSWER)
REST: Final = tuple(stage for stage in Stage if stage not in SIMPLE)
EXACT: Final = (Stage.OWN, Stage.CERTAIN, Stage.NEAR, Stage.FAR, Stage.GENERATION)
# The stages of edits that may replace an adopted one.
ALTERNATIVES: Final = (
    Stage.OWN,
    Stage.NEAR,
    Stage.GUARDED,
    Stage.ONLY_ANSWER,
    Stage.FAR,
    Stage.CERTAIN,
    Stage.GENERATION,
    Stage.VAGUE,
)


def candidates(stage: Stage, finding: Finding, edits: Sequence[Edit], model: Profile) -> list[Edit]:
    """The edits of a stage that may explain a finding, from the single `edits` of the rules."""
    applied = {rule for outcome in finding.allowed for rule in outcome.applied}
    order = [rule.id for rule in _beside(finding, model.version)]
    beside = set(order)
    kafka = EVERY_PROFILE[model.name].version
    found: Iterable[Edit] = ()
    match stage:
        case Stage.NUMBERS:
            found = first_numbers(finding)
        case Stage.OWN | Stage.NEAR:
            rules = applied if stage is Stage.OWN else beside - applied
            found = (each for each in edits if about(each) in rules)
        case Stage.CERTAIN | Stage.GENERATION | Stage.VAGUE:
            changes = {str(each): each for each in changed_answers(finding)}.values()
            found = (each for each in changes if _stage_of(each) is stage)
        case Stage.FAR:
            far = {"", *ObservedTest.of(finding).tried(model)} - beside - applied
            found = (e for e in edits if about(e) in far and not is_optional(e))
        case Stage.GUARDED:
            found = _guarded(applied, _beside(finding, kafka), kafka)
        case Stage.INSTEAD:
            found = [*_exchanged(applied, kafka), *_instead(applied & beside, order)]
        case Stage.ONLY_ANSWER | Stage.WIDE_ANSWER:
            found = _only_answers(applied & beside, finding, model)
        case Stage.ADDED:
            found = _added(ObservedTest.of(finding).applied(model), model.version)
        case Stage.WIDE:
            found = chain.from_iterable(candidates(each, finding, edits, model) for each in EXACT)
    return list(found)


def _stage_of(change: ChangeAnswer) -> Stage:
    """The stage of a changed answer."""
    if is_vague(change):
        return Stage.VAGUE
    changed = {name for name, _ in change.fields}
    of_error = "error_code" in changed  # Kafka's answers with an error have no generation
    return Stage.GENERATION if "generation_id" in changed and not of_error else Stage.CERTAIN


def _guarded(
    applied: set[str], beside: Sequence[VersionRule], version: Version
) -> Iterator[RequireGuard]:
    """For each applied rule, that it also requires a guard of the rules beside, or its contrary.

    Or that the group is in one of the states, or in any other.
    """
    states = (g for rule in version.rules.values() for g in rule.guards if len(g.states) == 1)
    guards = chain((g for rule in beside for g in rule.guards), states)
    words = dict.fromkeys(guard.words for guard in guards)
    for rule in (each for each in beside if each.id in applied):
        others = words.keys() - {guard.words for guard in rule.guards}
        for guard, holds in product((each for each in words if each in others), (False, True)):
            yield RequireGuard(rule.id, guard, holds)


def _exchanged(applied: set[str], version: Version) -> Iterator[Exchange]:
    """Exchanges of a later rule of the table with one that was applied."""
    for table in version.tables.values():
        for first, second in combinations((rule.id for rule in table), 2):
            if first in applied:
                yield Exchange(first, second)


def _instead(applied: set[str], beside: Sequence[str]) -> Iterator[Instead]:
    """For each applied rule, the effects of each of the others, those tried next to it first."""
    for rule in sorted(applied):
        at = beside.index(rule)
        others = sorted(beside, key=lambda other: abs(beside.index(other) - at))
        yield from (Instead(rule, other) for other in others if other != rule)


def _added(applied: set[str], version: Version) -> Iterator[AddEffect]:
    """For each applied rule of a request, each effect that any request could have."""
    names = chain.from_iterable(map(tables_of, RESPONSES))
    tables = [version.tables[name] for name in names if name in version.tables]
    every = _like(chain.from_iterable(tables))
    for table in tables:
        like = every | _like(table)
        for rule in (each for each in table if each.id in applied):
            for words in sorted(like.keys() - {effect.words for effect in rule.effects}):
                yield AddEffect(rule.id, words, like[words])


def _like(rules: Iterable[VersionRule]) -> dict[str, str]:
    """A rule that has each of the effects `OF_REQUESTS`, by their words."""
    return {e.words: rule.id for rule in rules for e in rule.effects if e.words in OF_REQUESTS}


def _only_answers(rules: set[str], finding: Finding, model: Profile) -> Iterator[OnlyAnswer]:
    """For each of the rules, that it only gives an answer that Kafka gives later, or never.

    It is the answer of another rule that does nothing else, with the fields that were seen, or with
    any values but the error; always, or only in the state that the group was in.
    """
    difference = finding.difference
    if difference is None or not _does_less(difference):
        return
    group, test = finding.before and finding.before.group, ObservedTest.of(finding)
    conditions = ("", *((state_is(group.state).words,) if group else ()))
    like = next(filter(_only_answers_error, _beside(finding, model.version)), None)
    if like is not None:
        for rule, when in product(sorted(rules), conditions):
            other = OnlyAnswer(rule, when, like.id, ())
            instead = test.finding(deviating(model, (other,)))
            if instead is None or len(instead.exchanges) < len(finding.exchanges):
                continue
            changes = _changed_fields(instead.difference)
            for fields in (changes, [(name, _any_but_errors(each)) for name, each in changes]):
                yield other._replace(fields=tuple(fields))


def _does_less(difference: Difference) -> bool:
    """Whether the port answers at once where Kafka waits, or an error where Kafka answers none."""
    if difference.seen is None or difference.allowed is None:
        return difference.seen is not None
    return any(change.own is ErrorCode.NONE for _, change in _changed_fields(difference))


def _any_but_errors(change: InsteadOf) -> InsteadOf:
    return change if isinstance(change.value, ErrorCode) else change._replace(value=ANY)


def _only_answers_error(rule: VersionRule) -> bool:
    answer = f"answer {error_of(rule)}"
    words = [effect.words for effect in rule.effects]
    return words in ([answer], [f"{answer} for each partition"])


def first_numbers(finding: Finding) -> Iterator[FirstNumber]:
    """The first generation of the port, if its answer has a generation that is not allowed.

    Else the first one that the test reveals, if it differs.
    """
    first = first_generation(finding.sequence.model)
    for difference in finding.rejection.differences if finding.rejection else ():
        allowed, seen = map(revealed_generation, (difference.allowed, difference.seen))
        if allowed is not None and seen is not None and allowed != seen:
            yield FirstNumber(GENERATION, first + seen - allowed)
            return
    every = chain.from_iterable(each.seen.responses for each in finding.exchanges)
    revealed = (revealed_generation(response.body) for response in every)
    seen = next((each for each in revealed if each is not None), 1)
    if seen != 1:
        yield FirstNumber(GENERATION, first + seen - 1)


def is_vague(edit: Edit) -> bool:
    """Whether a field of an answer may have any value, or has the id of a member of one test."""
    return isinstance(edit, ChangeAnswer | OnlyAnswer) and any(
        value is ANY or any(isinstance(e, str) and e.startswith("#") for e in _values(value))
        for _, value in edit.fields
    )


def is_timer(edit: Edit) -> bool:
    """Whether an edit lets timers fire early or late."""
    return isinstance(edit, SetBehaviour) and edit.holds and edit.behaviour in _TIMERS


def is_optional(edit: Edit) -> bool:
    """Whether the model with it also allows what it allows without it."""
    return is_timer(edit) or isinstance(edit, Sometimes)


def _values(value: object) -> tuple[object, ...]:
    return value if isinstance(value, InsteadOf) else (value,)


def _beside(finding: Finding, version: Version) -> list[VersionRule]:
    """The rules of the tables that decide on the last request."""
    last = finding.sequence.steps[-1]
    tables = tables_of(last.api) if isinstance(last, Request) else ()
    return [rule for name in tables for rule in version.tables.get(name, ())]


def changed_answers(finding: Finding) -> Iterator[ChangeAnswer]:
    """The changes of an answer that turn an outcome into what was observed."""
    if finding.rejection is None:
        return
    for outcome, difference in zip(
        finding.rejection.outcomes, finding.rejection.differences, strict=True
    ):
        rule = _reason(outcome.responses, outcome.reasons, difference.request_id)
        changes = _changed_fields(difference)
        if rule and changes:
            # Kafka's state says nothing about what follows a request that only the port accepts.
            ends = _is_accepted(finding, changes)
            for value_of in (_always, _where_it_was, _any):
                yield ChangeAnswer(rule, tuple(_merged(changes, value_of).items()), ends)


def _is_accepted(finding: Finding, changes: list[tuple[str, InsteadOf]]) -> bool:
    """Whether a port accepts a request that may change the members, and that Kafka refuses."""
    last = finding.sequence.steps[-1]
    if not isinstance(last, Request) or last.api not in OF_MEMBERS:
        return False
    return any(change.value is ErrorCode.NONE for _, change in changes)


def _reason(
    responses: tuple[Response, ...], reasons: tuple[str, ...], request_id: int | None
) -> str:
    for response, reason in zip(responses, reasons, strict=True):
        if response.request_id == request_id:
            return reason
    return ""


def _always(change: InsteadOf) -> object:
    return change.value


def _where_it_was(change: InsteadOf) -> object:
    """The change, unless it is of a list: lists rarely recur."""
    return change.value if isinstance(change.own, tuple) else change


def _any(_change: InsteadOf) -> object:
    return ANY


def _merged(
    changes: list[tuple[str, InsteadOf]], value_of: Callable[[InsteadOf], object]
) -> dict[str, object]:
    """The changed fields with one value each, ANY where there are more."""
    found: dict[str, object] = {}
    for name, change in changes:
        value = value_of(change)
        same = name not in found or (found[name] is not ANY and found[name] == value)
        found[name] = value if same else ANY
    return found


def _changed_fields(difference: Difference | None) -> list[tuple[str, InsteadOf]]:
    """The fields in which two answers differ; none if one is missing, or of another kind."""
    if difference is None or difference.allowed is None:
        return []
    if type(difference.allowed) is not type(difference.seen):
        return []
    return list(_changes(difference.allowed, difference.seen))


def _changes(allowed: Any, seen: Any) -> Iterator[tuple[str, InsteadOf]]:  # noqa: ANN401
    """The fields in which two records differ, with the values seen and allowed.

    Of lists of as many records, these are the fields of the records: `topics.error_code`.
    """
    for field, ours, theirs in zip(allowed._fields, allowed, seen, strict=True):
        if ours != theirs:
            yield from _inner(field, ours, theirs)


def _inner(name: str, ours: Any, theirs: Any) -> Iterator[tuple[str, InsteadOf]]:  # noqa: ANN401
    """The fields in which the values of one field differ, with the values seen and allowed."""
    if not isinstance(ours, tuple) or not isinstance(theirs, tuple) or not theirs:
        yield name, InsteadOf(theirs, ours)
    elif len(ours) != len(theirs) or not all(hasattr(each, "_fields") for each in ours + theirs):
        yield name, InsteadOf(ANY, ours)
    else:
        for one, other in zip(ours, theirs, strict=True):
            yield from ((f"{name}.{inner}", change) for inner, change in _changes(one, other))
