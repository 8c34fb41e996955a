"""Safety of the log: a fault made for each property violates it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from groupcheck.model.classic.apis.offset_commit import offsets_of
from groupcheck.model.classic.instances.instance import feature_instances, virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Log, OffsetsAppend, Serving
from groupcheck.model.classic.step import Profile, Step
from groupcheck.model.classic.storing import rollback
from groupcheck.model.classic.storing.records import record_offsets
from groupcheck.model.engine.edits import DropEffect, DropRule, ReplaceEffects
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.rules import Effect
from groupcheck.model.vocabulary import GroupState, Request
from groupcheck.properties.temporal import safety
from groupcheck.properties.temporal.property import Violation
from support.edits import replace_effect
from support.spaces import whole, within

NEW, NEWEST = PROFILES["2.7"], PROFILES["4.1"]
STORE = "append the offsets"


def explored(profile: Profile, name: str, steps: int) -> StateSpace:
    return within(feature_instances(profile, 1)[name], steps)


def by_name(space: StateSpace) -> dict[str, Violation]:
    return {found.property.name: found for found in safety.violations(space)}


def storing(profile: Profile, effect: Effect) -> Profile:
    """The profile in which every rule of OffsetCommit that stores offsets has this effect."""
    rules = [
        r.id for r in profile.rules.values() if r.id.startswith("commit/") and _stores(r.effects)
    ]
    return profile.edited(*(replace_effect(profile, rule, STORE, effect) for rule in rules))


def _stores(effects: tuple[Effect, ...]) -> bool:
    return any(each.words == STORE for each in effects)


def _store(profile: Profile) -> Effect:
    return profile.rules["commit/simple-empty"].effects[-1]


def _changed(**changes: Any) -> Effect:
    """Change the group that was loaded."""

    def apply(step: Step, _log: Log) -> None:
        step.group = step.existing._replace(**changes)

    return Effect(f"set {', '.join(changes)} of the group", apply)


@partial(Effect, "let the session timers have 1 ms left")
def _shorten_sessions(step: Step, _log: Log) -> None:
    members = tuple(m._replace(session_left_ms=1) for m in step.members)
    step.group = step.existing._replace(members=members)


@pytest.mark.parametrize(
    ("prop", "effect", "steps"),
    [
        ("offsets-durable", _changed(offsets=()), 2),
        ("restored-as-recorded", _changed(protocol_type="connect"), 4),
        ("restored-as-recorded", _changed(members=()), 4),
        ("restored-sessions", _shorten_sessions, 4),
        ("restored-generation", _changed(generation_id=7), 2),
    ],
    ids=lambda value: getattr(value, "words", None),
)
def test_a_load_that_changes_what_was_recorded_violates_a_property(
    prop: str, effect: Effect, steps: int
) -> None:
    rules = ("failover/restored", "failover/restored-empty")
    profile = NEW.edited(
        *(ReplaceEffects(rule, (*NEW.rules[rule].effects, effect)) for rule in rules)
    )
    found = by_name(explored(profile, "failover", steps))[prop]
    assert (len(found.path), found.known) == (steps, None)


@pytest.mark.exhaustive
def test_a_load_of_too_many_members_without_a_rebalance_violates_size_on_load() -> None:
    rule = "failover/too-large"
    kept = NEW.edited(ReplaceEffects(rule, ()))
    space = within(feature_instances(kept, 2)["failover-crowded"], 8)
    found = by_name(space)["size-on-load"]
    assert (len(found.path), found.known) == (8, None)


def test_a_commit_that_is_acknowledged_and_not_recorded_violates_offsets_durable() -> None:
    @partial(Effect, "append the offsets, which are not in the log")
    def lose(step: Step, request: Request) -> None:
        log, appended = step.log, step.appended
        _store(NEW).apply(step, request)
        step.log, step.appended = log, appended

    assert len(by_name(explored(storing(NEW, lose), "failover", 1))["offsets-durable"].path) == 1


def test_a_commit_that_fails_and_is_recorded_violates_failed_append_without_effect() -> None:
    @partial(Effect, "record the offsets, although the append may fail")
    def record(step: Step, request: Request) -> None:
        if step.failing is not None:
            offsets = tuple(offsets_of(step, request))
            record_offsets(step, OffsetsAppend(request.request_id, offsets, ()))
        _store(NEW).apply(step, request)

    found = by_name(explored(storing(NEW, record), "failing", 2))
    assert len(found["failed-append-without-effect"].path) == 2


def test_an_unload_that_answers_no_parked_request_violates_unload_answers_requests() -> None:
    @partial(Effect, "unload the partition without an answer")
    def unload(step: Step, _subject: object) -> None:
        step.group, step.appends, step.serving = None, (), Serving.UNLOADED

    silent = NEW.edited(ReplaceEffects("failover/unload", (unload,)))
    assert len(by_name(explored(silent, "failover", 2))["unload-answers-requests"].path) == 2


def test_a_shutdown_that_unloads_without_an_answer_violates_unload_answers_requests() -> None:
    kafka = whole(feature_instances(NEWEST, 1)["failover"])
    assert "unload-answers-requests" not in by_name(kafka)

    @partial(Effect, "unload the partition without an answer")
    def unload(step: Step, _subject: object) -> None:
        step.group = None

    silent = NEWEST.edited(
        replace_effect(NEWEST, "failover/shutdown", "unload the partition", unload)
    )
    assert len(by_name(explored(silent, "failover", 2))["unload-answers-requests"].path) == 2


def test_deferred_answers_that_are_lost_without_an_answer_violate_unload_answers_requests() -> None:
    @partial(Effect, "forget every request that waits")
    def forget(step: Step, _error: object) -> None:
        step.appends = ()

    silent = NEWEST.edited(ReplaceEffects("log/deferred-responses-failed", (forget,)))
    assert len(by_name(explored(silent, "failover", 3))["unload-answers-requests"].path) == 3


def test_deferred_answers_that_are_not_sent_at_the_release_violate_unanswered_requests() -> None:
    silent = NEWEST.edited(DropEffect("log/deferred-response-sent", "send the answer"))
    found = by_name(explored(silent, "failover", 3))["unanswered-requests"]
    assert (len(found.path), found.known) == (3, None)


def test_a_failed_append_that_removes_a_group_that_was_written_is_an_unexpected_violation() -> None:
    kafka = whole(feature_instances(NEWEST, 1)["failing"])
    known = by_name(kafka)["only-empty-groups-removed"].known
    assert known is not None
    assert known.sources.keys() == {"4.1"}

    @partial(Effect, "append the offsets, and remove the group if that fails")
    def forget(step: Step, request: Request) -> None:
        failing = step.failing is not None
        _store(NEWEST).apply(step, request)
        if failing and step.group is not None:
            rollback.undo_creation(step)

    forgetful = storing(NEWEST, forget)
    found = by_name(explored(forgetful, "failing", 4))["only-empty-groups-removed"]
    assert found.known is None


def test_a_commit_that_another_coordinator_accepts_violates_unavailable_changes_nothing() -> None:
    accepting = NEW.edited(DropRule("commit/not-coordinator"))
    assert len(by_name(explored(accepting, "failover", 2))["unavailable-changes-nothing"].path) == 2


def test_a_dead_group_that_keeps_its_generation_violates_dead_is_final() -> None:
    @partial(Effect, "move to Dead")
    def move(step: Step, _subject: object) -> None:
        step.group = step.existing._replace(state=GroupState.DEAD, join_timer=None)

    oldest = PROFILES["0.10.0"].edited(ReplaceEffects("rebalance/complete-dead", (move,)))
    broken = by_name(explore(virtual_time_instances(oldest, 1)["metadata"]))["dead-is-final"]
    assert broken.known is None
    assert len(broken.path) == 3
