"""Fuzzing: random walks beyond the explored model instances, without Hypothesis.

They take the actions of the state machine, with every version, unusual values, other settings of
the broker, and any time. The oracle checks each step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from random import Random
from types import MappingProxyType
from typing import Final, NamedTuple

from groupcheck.model.classic.state import Advance, Group
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.actions import ACTIONS, Action
from groupcheck.properties.generators.context import CHOICES, Capabilities, Choices, Context
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import Checks, FoundError, Run, UnfairError

# Half of the walks leave out half of the actions, but never these, which are also more likely:
# without them no group forms.
ALWAYS: Final = ("join", "join_again", "sync", "advance", *["next_request"] * 3)

# The number of last requests that may be sent again.
REMEMBERED: Final = 8

# Adapts a generated step to the port; None if that is not possible.
Adapt = Callable[[Input, int], Input | None]


class FuzzTest:
    """A running test of random actions.

    `applied` counts the rules that may have been applied; on a real clock, where many outcomes
    match, those that were.
    """

    def __init__(
        self, run: Run, context: Context, adapt: Adapt = lambda given, _choice: given
    ) -> None:
        self.applied: Counter[str] = Counter()
        self.run = run
        self.context = context
        self._adapt = adapt

    def do(self, action: Action, choice: int) -> None:
        """Run one step, unless the action has nothing to do.

        Raises:
            FoundError: the port has left the model, or failed.
        """
        context, oracle = self.context, self.run.oracle
        built = action.build(context, Choices(choice))
        given = None if built is None else self._adapt(built, choice)
        if given is None:
            return
        try:
            unsupported = self.run.step(given)
        except UnfairError:  # of a loaded member whose id was never revealed
            return
        if isinstance(given, Request) and unsupported is None:
            context.sent = [*context.sent[1 - REMEMBERED :], given]
        self._count()
        if self.run.port.real_time and any(_is_due(state.group) for state in oracle.states):
            self.run.step(Advance(0))  # else the responses might arrive after the next request
            self._count()
        context.learn(oracle.states[0], oracle.names)

    def _count(self) -> None:
        applied = self.run.oracle.applied
        if len(applied) == 1 or not self.run.port.real_time:
            for rules in applied:
                self.applied.update(rules)


def _is_due(group: Group | None) -> bool:
    """Whether the group waits only for an initial delay of length 0."""
    timer = group.join_timer if group else None
    return timer is not None and timer.initial and not timer.round_ms


def fuzz_test(port: Port, profile: Profile, capabilities: Capabilities, choice: int) -> FuzzTest:
    """Begin a test; the choice selects the settings of the broker.

    Raises:
        FoundError: the port failed.
    """
    choices = Choices(choice)
    run = Run(port, profile, capabilities.broker(choices))
    return FuzzTest(run, Context(capabilities, hasty=choices.of(2) == 0))


class Fuzzed(NamedTuple):
    """The number of steps of a walk, its finding, the rules that it applied, and its checks."""

    steps: int
    finding: Finding | None = None
    applied: Mapping[str, int] = MappingProxyType({})
    checks: Checks | None = None


def fuzz(
    port: Port, profile: Profile, capabilities: Capabilities, random: Random, limit: int
) -> Fuzzed:
    """Run one walk of at most `limit` steps."""
    actions = swarm(random)
    choice = random.randrange(CHOICES)
    return walk(lambda: fuzz_test(port, profile, capabilities, choice), actions, random, limit)


def walk(
    begin: Callable[[], FuzzTest],
    actions: tuple[Action, ...],
    random: Random,
    limit: int,
    tries: int = 0,
) -> Fuzzed:
    """Run random actions, at most `limit` steps in at most `tries` (0: `limit`) attempts."""
    try:
        test = begin()
    except FoundError as found:
        return Fuzzed(0, found.finding)
    exchanges, finding = test.run.exchanges, None
    try:
        for _ in range(tries or limit):  # some actions have nothing to do
            if len(exchanges) >= limit or test.run.oracle.is_unknown:
                break
            action = actions[random.randrange(len(actions))]
            if action.may(test.context):
                test.do(action, random.randrange(CHOICES))
        test.run.close()
    except FoundError as found:
        finding = found.finding
    return Fuzzed(len(exchanges), finding, test.applied, test.run)


def swarm(random: Random, excluded: Collection[str] = ()) -> tuple[Action, ...]:
    """All actions, or with probability 1/2 only half of the optional ones."""
    share = 1.0 if random.random() < 0.5 else 0.5
    allowed = {action.name: action for action in ACTIONS if action.name not in excluded}
    optional = [action for name, action in allowed.items() if name not in ALWAYS]
    return (
        *(allowed[name] for name in ALWAYS if name in allowed),
        *(action for action in optional if random.random() < share),
    )
