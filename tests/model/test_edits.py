"""Edits: each changes one part of a version, and its text says which."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from groupcheck.model.engine.edits import (
    AddGuard,
    AddRule,
    Alone,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    FromVersion,
    ReplaceEffects,
    Toggle,
    UnknownPartError,
    edited,
    table_of,
)
from groupcheck.model.engine.rules import Effect, Guard, Version, VersionRule
from groupcheck.model.profiles import PROFILES
from groupcheck.model.rules.timers import EndlessTimersError
from groupcheck.model.state import Advance
from support.scenario import ends, join

NEW, NEWEST = (PROFILES[name].version for name in ("2.7", "4.1"))
NEVER = Guard("never", lambda _step, _subject: False)
NOTHING = Effect("do nothing", lambda _step, _subject: None)
ADDED = VersionRule("added/rule", "a test adds it", "test.py:1", (NEVER,), (NOTHING,))

both = pytest.mark.parametrize("version", [NEW, NEWEST], ids=lambda version: version.name)


def _edits_of_rules(version: Version) -> Iterator[tuple[Edit, VersionRule]]:
    """Each edit that changes a rule, for each rule, with the rule that is expected instead."""
    other = NEWEST if version is NEW else NEW
    for rule in version.rules.values():
        yield AddGuard(rule.id, NEVER), rule._replace(guards=(*rule.guards, NEVER))
        yield ReplaceEffects(rule.id, (NOTHING,)), rule._replace(effects=(NOTHING,))
        for guard in rule.guards:
            kept = tuple(each for each in rule.guards if each.words != guard.words)
            yield DropGuard(rule.id, guard.words), rule._replace(guards=kept)
        for effect in rule.effects:
            left = tuple(each for each in rule.effects if each.words != effect.words)
            yield DropEffect(rule.id, effect.words), rule._replace(effects=left)
        if rule.id in other.rules:
            yield FromVersion(rule.id, other), other.rules[rule.id]


@both
def test_an_edit_of_a_rule_changes_that_rule_and_nothing_else(version: Version) -> None:
    for edit, changed in _edits_of_rules(version):
        tables = {
            name: tuple(changed if rule.id == changed.id else rule for rule in table)
            for name, table in version.tables.items()
        }
        assert edit(version) == version._replace(tables=tables)


@both
def test_a_dropped_rule_is_gone_and_an_added_one_is_tried_just_before_another(
    version: Version,
) -> None:
    for name, table in version.tables.items():
        for at, rule in enumerate(table):
            for edit, rules in (
                (DropRule(rule.id), (*table[:at], *table[at + 1 :])),
                (AddRule(ADDED, rule.id), (*table[:at], ADDED, *table[at:])),
            ):
                tables = {**version.tables, name: rules}
                assert edit(version) == version._replace(tables=tables)


@both
def test_a_dropped_effect_of_a_procedure_changes_that_procedure_alone(version: Version) -> None:
    for name, effects in version.procedures.items():
        for effect in effects:
            kept = tuple(each for each in effects if each is not effect)
            procedures = {**version.procedures, name: kept}
            edit = DropEffect(name, effect.words)
            assert edit(version) == version._replace(procedures=procedures)


@both
def test_a_toggled_behaviour_changes_and_a_second_toggle_restores_the_version(
    version: Version,
) -> None:
    for behaviour in NEW.behaviours | NEWEST.behaviours:
        once = Toggle(behaviour)(version)
        assert (behaviour in once.behaviours) != (behaviour in version.behaviours)
        assert once._replace(behaviours=version.behaviours) == version
        assert Toggle(behaviour)(once) == version


@both
def test_a_rule_alone_is_the_only_rule_of_its_tables_and_has_no_guard(version: Version) -> None:
    for rule in version.rules.values():
        table = table_of(version, rule.id)
        tables = {**version.tables, table: (rule._replace(guards=()),)}
        assert Alone(rule.id, (table,))(version) == version._replace(tables=tables)


def test_edits_are_applied_in_their_order_and_the_version_itself_stays() -> None:
    before = dict(NEW.tables)
    edits = (AddRule(ADDED, "heartbeat/alive"), DropGuard(ADDED.id, NEVER.words))
    assert edited(NEW, edits).rules[ADDED.id].guards == ()
    assert edited(NEW, ()) is NEW
    assert NEW.tables == before


def test_a_profile_with_an_edit_has_the_edited_rules() -> None:
    profile = PROFILES["4.1"].edited(DropRule("heartbeat/alive"))
    assert "heartbeat/alive" not in profile.rules
    assert PROFILES["4.1"].deferred - profile.deferred == {"heartbeat/alive"}


@pytest.mark.parametrize(
    "edit",
    [
        DropRule("no/rule"),
        AddRule(ADDED, "no/rule"),
        DropGuard("no/rule", "never"),
        AddGuard("no/rule", NEVER),
        DropEffect("no/rule", "do nothing"),
        ReplaceEffects("no/rule", (NOTHING,)),
        Alone("no/rule", ("Heartbeat",)),
    ],
    ids=lambda edit: type(edit).__name__,
)
def test_an_edit_of_an_unknown_rule_raises_one_line_that_names_it(edit: Edit) -> None:
    with pytest.raises(UnknownPartError) as raised:
        edit(NEW)
    assert str(raised.value) == "2.7 has no rule no/rule"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            DropGuard("heartbeat/alive", "never"),
            "there is no 'never'; there are: the group is Stable or CompletingRebalance",
        ),
        (
            DropEffect("heartbeat/alive", "do nothing"),
            "there is no 'do nothing'; there are: restart the member's session timer; answer NONE",
        ),
        (
            DropEffect("remove-member", "do nothing"),
            (
                "there is no 'do nothing'; there are: answer its parked JoinGroup "
                "UNKNOWN_MEMBER_ID (KAFKA-7610); drop the member and its group.instance.id"
            ),
        ),
        (FromVersion("heartbeat/completing", NEWEST), "4.1 has no rule heartbeat/completing"),
        (Toggle("answers-never"), "there is no behaviour 'answers-never'"),
        (FromVersion("leave/batch", NEWEST), "4.1 has no rule leave/batch"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_unknown_guard_or_effect_raises_one_line_that_lists_the_known_ones(
    edit: Edit, message: str
) -> None:
    with pytest.raises(UnknownPartError) as raised:
        edit(NEW)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (DropRule("a/rule"), "no a/rule"),
        (AddRule(ADDED, "a/rule"), "added/rule before a/rule"),
        (DropGuard("a/rule", "never"), "a/rule without the guard 'never'"),
        (AddGuard("a/rule", NEVER), "a/rule only if never"),
        (DropEffect("a/rule", "do nothing"), "a/rule does not do nothing"),
        (ReplaceEffects("a/rule", (NOTHING, NOTHING)), "a/rule does: do nothing; do nothing"),
        (FromVersion("a/rule", NEWEST), "a/rule as in 4.1"),
        (Alone("a/rule", ("A table",)), "a/rule alone"),
        (Toggle("answers-wait"), "the opposite of answers-wait"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_text_of_an_edit_is_one_line(edit: Edit, text: str) -> None:
    assert str(edit) == text


def test_a_timer_that_no_rule_ends_raises_one_line_that_names_it() -> None:
    edited_profile = PROFILES["2.7"].edited(DropRule("time/initial-delay-over"))
    with pytest.raises(EndlessTimersError) as raised:
        ends(edited_profile, join(), Advance(3_000))
    assert str(raised.value) == (
        "no rule ends this without time passing: The timer of the join phase fires"
    )
