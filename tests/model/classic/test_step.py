"""Steps: choices are tried in every combination, rules in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.sources import link
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Profile, Step, outcomes
from groupcheck.model.engine.rules import Effect, Guard, Rule, Table, decide, version_of
from groupcheck.model.vocabulary import ErrorCode, HeartbeatRequest, HeartbeatResponse, Request

PROFILE = PROFILES["2.7"]
REQUEST = Request(1, 4, HeartbeatRequest("group", 0, "m"))


@given(st.lists(st.integers(1, 4), max_size=4))
def test_an_action_has_an_outcome_for_every_combination_of_its_choices(arities: list[int]) -> None:
    def act(step: Step) -> None:
        taken = [step.choose(Choice.LEADER, range(n)) for n in arities]
        step.applied.append(str(taken))

    expected = 1
    for arity in arities:
        expected *= arity
    found = outcomes(Coordinator(), PROFILE, PROFILE.config, act)
    assert len({outcome.applied for outcome in found}) == len(found) == expected


def test_choices_with_the_same_result_are_one_outcome() -> None:
    def act(step: Step) -> None:
        step.choose(Choice.LEADER, "abc")

    assert len(outcomes(Coordinator(), PROFILE, PROFILE.config, act)) == 1


def test_an_edited_rule_that_answers_a_request_that_is_not_parked_has_no_outcome() -> None:
    edited = PROFILE._replace(impossible=(LookupError,))

    def act(step: Step) -> None:
        step.answer(None, HeartbeatResponse(ErrorCode.NONE), "heartbeat/alive")

    assert outcomes(Coordinator(), edited, PROFILE.config, act) == []


def _rule(name: str, *, holds: bool) -> Rule:
    return Rule(
        name,
        "",
        {"2.7": "x"},
        (Guard("it holds", lambda _step, _request: holds),),
        (
            Effect(
                "answer",
                lambda step, request: step.answer(
                    request.request_id, HeartbeatResponse(ErrorCode.NONE)
                ),
            ),
        ),
    )


def _step_with(table: Table) -> Step:
    profile = PROFILE.of(version_of("2.7", (table,)))
    return Step(Coordinator(), profile, PROFILE.config, [])


def test_the_first_rule_whose_guard_holds_is_the_only_one_applied() -> None:
    rules = (_rule("a", holds=False), _rule("b", holds=True), _rule("c", holds=True))
    table = Table("T", "T", rules)
    step = _step_with(table)
    applied = decide(step, table, REQUEST)
    assert applied is not None
    assert applied.id == "b"
    assert step.applied == ["b"]
    assert len(step.responses) == 1


def test_no_rule_applies_if_no_guard_holds() -> None:
    table = Table("T", "T", (_rule("a", holds=False),))
    step = _step_with(table)
    assert decide(step, table, REQUEST) is None
    assert step.applied == []


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_rule_has_words_and_cites_a_line_of_kafka(profile: Profile) -> None:
    for name, rule in profile.rules.items():
        assert rule.id == name
        assert rule.words
        file, _, line = rule.source.partition(":")
        assert file.endswith((".scala", ".java"))
        assert line.isdigit()
        assert link(profile.name, rule.source).endswith(f"{file}#L{line}")
        assert all(guard.words for guard in rule.guards)
        assert all(effect.words for effect in rule.effects)
