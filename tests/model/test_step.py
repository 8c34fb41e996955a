"""The transcription runtime: choices are tried in every combination, rules in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupcheck.model.nondeterminism import Open
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Coordinator
from groupcheck.model.step import Rule, Step, decide, outcomes
from groupcheck.model.vocabulary import ErrorCode, HeartbeatRequest, HeartbeatResponse, Request

PROFILE = PROFILES["2.7"]
REQUEST = Request(1, 4, HeartbeatRequest("group", 0, "m"))


@given(st.lists(st.integers(1, 4), max_size=4))
def test_an_action_has_an_outcome_for_every_combination_of_its_choices(arities: list[int]) -> None:
    def act(step: Step) -> None:
        taken = [step.choose(Open.LEADER, range(n)) for n in arities]
        step.fired.append(str(taken))

    expected = 1
    for arity in arities:
        expected *= arity
    found = outcomes(Coordinator(), PROFILE, PROFILE.config, act)
    assert len({outcome.fired for outcome in found}) == len(found) == expected


def test_choices_that_come_to_the_same_are_one_outcome() -> None:
    def act(step: Step) -> None:
        step.choose(Open.LEADER, "abc")

    assert len(outcomes(Coordinator(), PROFILE, PROFILE.config, act)) == 1


def test_the_first_rule_whose_guard_holds_is_the_only_one_applied() -> None:
    def rule(name: str, *, holds: bool) -> Rule:
        def then(step: Step, request: Request) -> None:
            step.answer(request.request_id, HeartbeatResponse(ErrorCode.NONE))

        return Rule(name, "", "", when=lambda _s, _r: holds, then=then)

    step = Step(Coordinator(), PROFILE, PROFILE.config, [])
    rules = (rule("a", holds=False), rule("b", holds=True), rule("c", holds=True))
    assert decide(step, REQUEST, rules)
    assert step.fired == ["b"]
    assert len(step.responses) == 1


def test_no_rule_applies_if_no_guard_holds() -> None:
    step = Step(Coordinator(), PROFILE, PROFILE.config, [])
    assert not decide(step, REQUEST, ())
    assert step.fired == []


def test_every_rule_says_when_it_holds_and_cites_a_line_of_kafka() -> None:
    for name, rule in PROFILE.rules.items():
        assert rule.name == name
        assert rule.says
        file, _, line = rule.source.partition(":")
        assert file.endswith(".scala")
        assert line.isdigit()
