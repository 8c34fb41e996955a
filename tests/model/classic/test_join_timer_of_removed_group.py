"""4.1: the join timer of a group that a failed append removed, and the group created after it."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.inputs import commit
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, Coordinator, Crash, FailAppends, Load, Unload
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import NO_GENERATION, NO_MEMBER_ID, ErrorCode, Request
from support.requests import REBALANCE_MS, join
from support.scenario import DELAY, Broker

RULE = "time/removed-group-join-timer"
FAIL = FailAppends(1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
COMMIT = commit(NO_GENERATION, NO_MEMBER_ID)
LEFT_MS = 1_000


def forgotten() -> Broker:
    """A coordinator that has forgotten a group whose join timer is about to fire."""
    broker = Broker(PROFILES["4.1"])
    assert broker.do(FAIL, join()).error_code is not ErrorCode.NONE
    assert broker.coordinator.group is None
    broker.do(Advance(DELAY.ms - LEFT_MS))
    return broker


def test_the_timer_raises_the_generation_of_an_empty_group_created_by_a_commit() -> None:
    broker = forgotten()
    broker.do(COMMIT)
    (early,) = broker.outcomes(Advance(LEFT_MS - 1))
    assert (RULE in early.applied, broker.group.generation_id) == (False, 0)
    (due,) = broker.outcomes(Advance(1))
    assert (RULE in due.applied, broker.group.generation_id, broker.state) == (True, 1, "Empty")
    broker.do(join(), DELAY)
    assert broker.group.generation_id == 2


def test_the_timer_raises_the_generation_of_a_group_that_waits_for_an_id_it_gave_out() -> None:
    broker = forgotten()
    answer = broker.do(Request(broker.requests + 1, 4, join()))
    assert answer.error_code is ErrorCode.MEMBER_ID_REQUIRED
    broker.do(Advance(LEFT_MS))
    assert (broker.group.generation_id, len(broker.group.pending)) == (1, 1)


def test_the_timer_finds_no_group_and_never_fires_again() -> None:
    broker = forgotten()
    broker.do(Advance(LEFT_MS), COMMIT, Advance(DELAY.ms))
    assert broker.group.generation_id == 0


def test_the_next_join_phase_replaces_the_timer() -> None:
    broker = forgotten()
    broker.do(join(), Advance(LEFT_MS))
    assert broker.group.generation_id == 0
    broker.do(Advance(DELAY.ms - LEFT_MS))
    assert broker.group.generation_id == 1
    broker.do(Advance(REBALANCE_MS - LEFT_MS))
    assert broker.group.generation_id == 1


@pytest.mark.parametrize("moves", [(Crash(),), (Unload(), Load())], ids=str)
def test_the_timer_is_gone_after_a_load(moves: tuple[Input, ...]) -> None:
    broker = forgotten()
    broker.do(*moves, COMMIT, Advance(LEFT_MS))
    assert broker.group.generation_id == 0


def test_a_second_failure_before_a_join_phase_keeps_the_timer() -> None:
    broker = forgotten()
    broker.do(FAIL, COMMIT)
    assert broker.coordinator.group is None
    broker.do(COMMIT, Advance(LEFT_MS))
    assert broker.group.generation_id == 1


@pytest.mark.parametrize("name", ["0.10.0", "0.10.2", "2.7"])
def test_before_4_1_no_group_is_forgotten(name: str) -> None:
    broker = Broker(PROFILES[name])
    broker.do(FAIL, join())
    assert broker.coordinator.group is not None
    assert broker.coordinator.removed_group_join_ms == Coordinator().removed_group_join_ms
