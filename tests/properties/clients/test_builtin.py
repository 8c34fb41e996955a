"""The implementation of a consumer and its specification, which share no rule, do the same."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from groupcheck.model.member.specification import VERSIONS, Consumer, instances
from groupcheck.properties.clients.builtin import BuiltinClient
from groupcheck.properties.clients.verify import Limits, verify

CASES = [(version, name) for version in VERSIONS for name in instances(version)]


@pytest.mark.parametrize(("version", "name"), CASES)
def test_the_builtin_consumer_does_what_every_transition_says(version: str, name: str) -> None:
    instance = instances(version)[name]
    result = verify(BuiltinClient(version), name, instance, Limits())
    assert (result.findings, result.failures) == ([], {})
    assert (result.same, result.untried) == (result.transitions, 0)


def longer(version: str, name: str) -> Consumer:
    """The instance with more generations than any test has steps."""
    return replace(instances(version)[name], generations=10**6)


@pytest.mark.parametrize("steps", [20_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_the_builtin_consumer_does_what_the_specification_says_in_random_steps(steps: int) -> None:
    random = Random(steps)
    port = {version: BuiltinClient(version) for version in VERSIONS}
    done = 0
    while done < steps:
        version, name = random.choice(CASES)
        instance = longer(version, name)
        state, consumer = instance.initial, port[version].start(instance.settings)
        for _ in range(200):
            inputs = [*instance.inputs(state)]
            if not inputs:
                break
            given = random.choice(inputs)
            (outcome,) = instance.successors(state, given)
            assert (consumer.do(given, (), patience_s=0),) == outcome.responses, given
            state = outcome.state
            done += 1


class Lockstep(RuleBasedStateMachine):
    """Both take the inputs that Hypothesis draws."""

    @initialize(case=st.sampled_from(CASES))
    def start(self, case: tuple[str, str]) -> None:
        self.instance = longer(*case)
        self.state = self.instance.initial
        self.consumer = BuiltinClient(case[0]).start(self.instance.settings)

    @precondition(lambda self: any(self.instance.inputs(self.state)))
    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        given = data.draw(st.sampled_from([*self.instance.inputs(self.state)]))
        (outcome,) = self.instance.successors(self.state, given)
        assert (self.consumer.do(given, (), patience_s=0),) == outcome.responses
        self.state = outcome.state

    @precondition(lambda self: not any(self.instance.inputs(self.state)))
    @rule()
    def end(self) -> None:
        """Nothing happens to a closed consumer."""


TestLockstep = Lockstep.TestCase
TestLockstep.settings = settings(
    max_examples=60, stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow]
)
