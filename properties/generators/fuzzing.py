"""Fuzzing: random walks beyond the explored model instances, without Hypothesis.

They take the actions of the state machine, with every version, unusual values, other settings of
the broker, and any time. The oracle checks each step.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final, NamedTuple

from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.actions import ACTIONS, Action
from groupcheck.properties.generators.context import CHOICES, Capabilities, Choices, Context
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run, UnfairError

# Every other walk leaves out half of the actions, but none of these, which are also more likely:
# without them no group forms.
ALWAYS: Final = ("join", "join_again", "sync", "advance", "carry_on", "carry_on", "carry_on")

# The number of last requests that may be sent again.
REMEMBERED: Final = 8


class FuzzTest:
    """A test of random actions under way: its context, and how it runs an action."""

    def __init__(
        self, port: Port, profile: Profile, capabilities: Capabilities, choice: int
    ) -> None:
        self.applied: Counter[str] = Counter()
        choices = Choices(choice)
        self.run = Run(port, profile, capabilities.broker(choices))
        self.context = Context(capabilities, hasty=choices.of(2) == 0)

    def do(self, action: Action, choice: int) -> None:
        """Run one step, if the action has anything to do.

        Raises:
            FoundError: the port has left the model, or failed.
        """
        context = self.context
        given = action.build(context, Choices(choice))
        if given is None:
            return
        try:
            unsupported = self.run.step(given)
        except UnfairError:  # of a loaded member whose id was never revealed
            return
        if isinstance(given, Request) and unsupported is None:
            context.sent = [*context.sent[1 - REMEMBERED :], given]
        oracle = self.run.oracle
        for fired in oracle.fired:
            self.applied.update(fired)
        context.learn(oracle.states[0], oracle.names)


class Fuzzed(NamedTuple):
    """How far a walk went, what it found, and how often it may have applied each rule."""

    steps: int
    finding: Finding | None
    applied: Counter[str]


def fuzz(
    port: Port, profile: Profile, capabilities: Capabilities, random: Random, limit: int
) -> Fuzzed:
    """Run one walk of at most `limit` steps."""
    actions = _swarm(random)
    try:
        test = FuzzTest(port, profile, capabilities, random.randrange(CHOICES))
    except FoundError as found:  # it could not even begin
        return Fuzzed(0, found.finding, Counter())
    finding = None
    try:
        for _ in range(limit):
            action = actions[random.randrange(len(actions))]
            if action.may(test.context):
                test.do(action, random.randrange(CHOICES))
        test.run.close()
    except FoundError as found:
        finding = found.finding
    return Fuzzed(len(test.run.exchanges), finding, test.applied)


def _swarm(random: Random) -> tuple[Action, ...]:
    share = 1.0 if random.random() < 0.5 else 0.5
    likely = {action.name: action for action in ACTIONS}
    return (
        *(likely[name] for name in ALWAYS),
        *(m for m in ACTIONS if m.name not in ALWAYS and random.random() < share),
    )
