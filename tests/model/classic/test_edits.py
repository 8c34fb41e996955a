"""Edits: each changes one part of a version, and its text says which."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules.timers import EndlessTimersError, due
from groupcheck.model.classic.state import STOPPED_MS, Advance, Coordinator, Group, JoinTimer
from groupcheck.model.classic.transition import successors
from groupcheck.model.engine.edits import (
    ANY,
    AddEffect,
    AddGuard,
    AddRule,
    Alone,
    ChangeAnswer,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    Exchange,
    FromVersion,
    ReplaceEffects,
    RequireGuard,
    SetBehaviour,
    UnknownPartError,
    edited,
    table_of,
)
from groupcheck.model.engine.rules import Effect, Guard, Version, VersionRule
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request
from support.requests import NEW_JOIN, join
from support.scenario import end

OLDEST, NEW, NEWEST = (PROFILES[name].version for name in ("0.10.0", "2.7", "4.1"))
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
            twice = (*rule.effects, effect)
            yield AddEffect(rule.id, effect.words, rule.id), rule._replace(effects=twice)
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
def test_a_behaviour_is_set_and_nothing_else_changes(version: Version) -> None:
    for behaviour in version.known_behaviours:
        for holds in (True, False):
            edited = SetBehaviour(behaviour, holds)(version)
            assert (behaviour in edited.behaviours) is holds
            assert edited.behaviours ^ version.behaviours <= {behaviour}
            assert edited._replace(behaviours=version.behaviours) == version


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


@both
def test_two_exchanged_rules_are_tried_in_the_other_order(version: Version) -> None:
    for name, table in version.tables.items():
        for at, (first, second) in enumerate(pairwise(table)):
            rules = (*table[:at], second, first, *table[at + 2 :])
            expected = version._replace(tables={**version.tables, name: rules})
            assert Exchange(first.id, second.id)(version) == expected


def test_a_value_that_may_be_anything_equals_every_value() -> None:
    values: tuple[Any, ...] = (None, 0, "", b"", (), ErrorCode.NONE)
    for value in values:
        assert value == ANY
        assert (1, value) == (1, ANY)
        assert {ANY, ANY} == {ANY}
    assert deepcopy(ANY) is pickle.loads(pickle.dumps(ANY)) is ANY  # noqa: S301 - made here


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
        RequireGuard("no/rule", "the group is Stable", holds=True),
        DropEffect("no/rule", "do nothing"),
        AddEffect("heartbeat/alive", "do nothing", "no/rule"),
        ReplaceEffects("no/rule", (NOTHING,)),
        Alone("no/rule", ("Heartbeat",)),
        Exchange("no/rule", "heartbeat/alive"),
        ChangeAnswer("no/rule", ()),
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
            AddEffect("heartbeat/alive", "do nothing", "heartbeat/fenced"),
            "2.7: heartbeat/fenced does not do nothing",
        ),
        (
            DropEffect("remove-member", "do nothing"),
            (
                "there is no 'do nothing'; there are: answer its parked JoinGroup "
                "with UNKNOWN_MEMBER_ID (KAFKA-7610); remove the member and its group.instance.id"
            ),
        ),
        (RequireGuard("heartbeat/alive", "never", holds=True), "2.7 has no guard 'never'"),
        (FromVersion("heartbeat/completing", NEWEST), "4.1 has no rule heartbeat/completing"),
        (SetBehaviour("answers-never", holds=True), "there is no behaviour 'answers-never'"),
        (FromVersion("leave/batch", NEWEST), "4.1 has no rule leave/batch"),
        (
            Exchange("heartbeat/alive", "heartbeat/preparing"),
            "2.7 does not try heartbeat/preparing after heartbeat/alive",
        ),
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
        (DropRule("a/rule"), "rule `a/rule` did not exist"),
        (AddRule(ADDED, "a/rule"), "rule `added/rule` existed, tried before `a/rule`"),
        (DropGuard("a/rule", "it is so"), "`a/rule` did not require that it is so"),
        (AddGuard("a/rule", NEVER), "`a/rule` also required that never"),
        (RequireGuard("a/rule", "it is so", holds=True), "`a/rule` also required that it is so"),
        (RequireGuard("a/rule", "it is so", holds=False), "`a/rule` did not apply if it is so"),
        (DropEffect("a/rule", "do nothing"), "`a/rule` did not do nothing"),
        (
            AddEffect("a/rule", "do nothing", "b/rule"),
            "`a/rule` did also do nothing, as `b/rule` does",
        ),
        (
            ReplaceEffects("a/rule", (NOTHING, NOTHING)),
            "`a/rule` did only this: do nothing; do nothing",
        ),
        (ReplaceEffects("a/rule", ()), "`a/rule` did only this: nothing"),
        (FromVersion("a/rule", NEWEST), "`a/rule` was as in 4.1"),
        (Alone("a/rule", ("A table",)), "`a/rule` was the only rule"),
        (Exchange("a/rule", "b/rule"), "`b/rule` was tried before `a/rule`"),
        (
            ChangeAnswer("a/rule", (("error_code", ErrorCode.NONE), ("leader", ""), ("n", ANY))),
            "`a/rule` answered error_code=NONE, leader='', n=anything",
        ),
        (
            SetBehaviour("answers-are-deferred", holds=True),
            "behaviour `answers-are-deferred` applied",
        ),
        (
            SetBehaviour("answers-are-deferred", holds=False),
            "behaviour `answers-are-deferred` did not apply",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_text_of_an_edit_is_one_line_to_be_read_after_behaves_as_if(
    edit: Edit, text: str
) -> None:
    assert str(edit) == text


@pytest.mark.parametrize(
    ("dropped", "inputs"),
    [
        (("time/initial-delay-over",), [join()]),
        (("time/pending-expired",), [Request(1, NEW_JOIN, join())]),
        (("time/session-expired", "time/new-member-expired"), [join(), Advance(3_000)]),
        (("time/syncs-expired", "time/replaced-member-sync-expired"), [join(), Advance(3_000)]),
    ],
    ids=["join phase", "pending id", "session", "sync"],
)
def test_a_timer_that_fires_without_any_rule_does_not_fire_again(
    dropped: tuple[str, ...], inputs: list[Any]
) -> None:
    profile = PROFILES["4.1"].edited(*map(DropRule, dropped))
    before, after = end(profile, *inputs), end(profile, *inputs, Advance(10**7))
    for outcome, runs in ((before, True), (after, False)):
        timers = due(outcome.coordinator, STOPPED_MS - 1)
        rules = {rule.id for timer in timers for rule in timer.table.rules}
        assert (dropped[0] in rules) is runs


def test_a_timer_that_no_rule_ends_raises_one_line_that_names_it() -> None:
    version = DropEffect("time/orphaned-timer-expired", "discard the timer")(OLDEST)
    group = Group(GroupState.EMPTY, orphaned_timers=(3_000,))
    with pytest.raises(EndlessTimersError) as raised:
        successors(Coordinator(group), Advance(3_000), PROFILES["0.10.0"].of(version), Config())
    assert str(raised.value) == (
        "no rule ends this without time passing: The session timer of a removed member fires"
    )


def test_a_join_phase_that_restarts_alone_is_skipped_to_the_same_state_at_once() -> None:
    leader_absent = "the leader, a static member, has not rejoined"
    profile = PROFILES["2.7"].of(DropGuard("rebalance/no-member-rejoined", leader_absent)(NEW))
    preparing = Group(GroupState.PREPARING_REBALANCE, generation_id=3, join_timer=JoinTimer(7))
    for ms in (6, 7, 8, 9, 49, 50, 10**9):
        (outcome,) = successors(Coordinator(preparing), Advance(ms), profile, Config())
        step_by_step = Coordinator(preparing)
        for _ in range(min(ms, 50)):
            (each,) = successors(step_by_step, Advance(1), profile, Config())
            step_by_step = each.coordinator
        assert outcome.coordinator == step_by_step
        assert len(outcome.applied) < 10
