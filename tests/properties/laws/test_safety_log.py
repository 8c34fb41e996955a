"""The laws of the log: every version keeps them, and each is broken by a fault made for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupcheck.model.apis import offset_commit
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.instances.instance import feature_instances, virtual_time_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.rules import rebalance
from groupcheck.model.state import Append, HeldAnswer, OffsetsAppend, Serving
from groupcheck.model.step import Profile, Step
from groupcheck.model.storing import failover, log, revert
from groupcheck.model.storing.records import next_error, record_offsets
from groupcheck.model.vocabulary import ErrorCode, GroupState
from groupcheck.properties.laws import safety
from groupcheck.properties.laws.law import Broken

NEW, NEWEST = PROFILES["2.7"], PROFILES["4.1"]


def explored(profile: Profile, name: str, members: int = 1) -> StateSpace:
    return explore(feature_instances(profile, members)[name])


def by_law(space: StateSpace) -> dict[str, Broken]:
    return {found.law.name: found for found in safety.broken(space)}


def _spoilt(**changes: Any) -> Callable[[Step], None]:
    """Load the group, and change it."""
    right = failover._load

    def load(step: Step) -> None:
        right(step)
        if step.group is not None:
            step.group = step.group._replace(**changes)

    return load


_LOAD = failover._load


def _load_tired(step: Step) -> None:
    _LOAD(step)
    if step.group is not None:
        members = (m._replace(session_left_ms=1) for m in step.group.members)
        step.group = step.group._replace(members=tuple(members))


@pytest.mark.parametrize(
    ("law", "load", "steps"),
    [
        ("offsets-survive", _spoilt(offsets=()), 2),
        ("restored-as-recorded", _spoilt(protocol_type="connect"), 4),
        ("restored-as-recorded", _spoilt(members=()), 4),
        ("restored-sessions", _load_tired, 4),
        ("restored-generation", _spoilt(generation_id=7), 2),
    ],
)
def test_a_load_that_forgets_or_makes_something_up_breaks_a_law(
    law: str, load: Callable[[Step], None], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failover, "_load", load)
    found = by_law(explored(NEW, "failover"))[law]
    assert (len(found.hops), found.known) == (steps, None)


def test_a_commit_that_is_acknowledged_and_not_recorded_breaks_the_law_of_offsets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "record_offsets", lambda _step, _offsets: None)
    assert len(by_law(explored(NEW, "failover"))["offsets-survive"].hops) == 1


def test_a_commit_that_fails_and_is_recorded_breaks_the_law_of_failing_appends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def store(step: Step, entry: OffsetsAppend) -> None:
        record_offsets(step, entry)
        log.append(step, entry._replace(error=next_error(step)))

    monkeypatch.setattr(offset_commit, "store_offsets", store)
    assert len(by_law(explored(NEW, "failing"))["failed-appends-leave-nothing"].hops) == 2


def test_an_unload_that_tells_nobody_breaks_the_law_of_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unload(step: Step) -> None:
        step.group, step.appends, step.serving = None, (), Serving.UNLOADED

    monkeypatch.setattr(failover, "_unload", unload)
    assert len(by_law(explored(NEW, "failover"))["lost-are-told"].hops) == 2


def test_a_shutdown_that_unloads_and_tells_nobody_breaks_the_law_of_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "lost-are-told" not in by_law(explored(NEWEST, "failover"))

    def unload(step: Step) -> None:
        step.group, step.serving = None, Serving.UNLOADED

    monkeypatch.setattr(failover, "_unload", unload)
    assert len(by_law(explored(NEWEST, "failover"))["lost-are-told"].hops) == 2


def test_answers_that_wait_and_are_lost_without_a_word_break_the_law_of_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lose(step: Step, _error: ErrorCode) -> None:
        step.appends = ()

    monkeypatch.setattr(failover, "lose", lose)
    assert len(by_law(explored(NEWEST, "failover"))["lost-are-told"].hops) == 3


def test_answers_that_wait_and_are_forgotten_at_the_release_break_the_law_of_the_unanswered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    complete = log.complete_append

    def forget(step: Step, entry: Append) -> None:
        if not isinstance(entry, HeldAnswer):
            complete(step, entry)

    monkeypatch.setattr(log, "complete_append", forget)
    found = by_law(explored(NEWEST, "failover"))["unanswered"]
    assert (len(found.hops), found.known) == (3, None)


def test_a_failed_append_that_forgets_a_group_that_was_written_is_no_break_kafka_is_known_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = by_law(explored(NEWEST, "failing"))["only-empty-groups-go"].known
    assert known is not None
    assert known.profile == "4.1"

    def settle(step: Step, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE:
            revert.forget(step)

    monkeypatch.setattr(log, "settle", settle)
    assert by_law(explored(NEWEST, "failing"))["only-empty-groups-go"].known is None


def test_a_commit_that_is_taken_by_the_wrong_coordinator_breaks_the_law_of_who_refuses() -> None:
    rules = tuple(r for r in NEW.offset_commit if r.name != "commit/not-coordinator")
    found = by_law(explored(NEW._replace(offset_commit=rules), "failover"))
    assert len(found["refused-elsewhere"].hops) == 2


def test_a_dead_group_that_keeps_its_generation_breaks_the_law_of_the_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def bury(step: Step) -> None:
        step.group = step.existing._replace(state=GroupState.DEAD, join_timer=None)

    monkeypatch.setattr(rebalance, "bury", bury)
    space = explore(virtual_time_instances(PROFILES["0.10.0"], 1)["metadata"])
    broken = by_law(space)["dead-is-final"]
    assert broken.known is None
    assert len(broken.hops) == 3
