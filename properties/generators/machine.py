"""The test of a port as a Hypothesis state machine: model and port run in lockstep.

Hypothesis chooses which of the actions run (a random subset in each test: its swarm), their order
and their values, and prefers tests that cover more kinds of transitions. It covers what the model
instances, which are explored exhaustively, leave out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import ClassVar

from hypothesis import HealthCheck, Phase, configuration, seed, settings, target
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.reporting import with_reporter
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from groupcheck.model.classic.step import Profile
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.actions import ACTIONS, Action
from groupcheck.properties.generators.context import CHOICES, Capabilities, capabilities_of
from groupcheck.properties.generators.fuzzing import FuzzTest, fuzz_test
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError

any_choice = st.integers(0, CHOICES - 1)


class HungError(BaseException):
    """The port hung; not an Exception, since Hypothesis would retry it and wait each time."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.key)
        self.finding = finding


class CoordinatorMachine(RuleBasedStateMachine):
    """Drives one port; made concrete by `lockstep`. Its rules are the actions, added below."""

    port: ClassVar[Port]
    profile: ClassVar[Profile]
    capabilities: ClassVar[Capabilities]
    known: ClassVar[Container[tuple[str, ...]]]
    tally: ClassVar[list[Callable[[int], None]]]
    found: ClassVar[list[Finding]]
    applied: ClassVar[Counter[str]]

    def __init__(self) -> None:
        super().__init__()
        self.over = False
        self.test: FuzzTest | None = None
        self.kinds: set[tuple[object, ...]] = set()

    @initialize(choice=any_choice)
    def begin(self, choice: int) -> None:
        """Start the test, with some of the broker's settings other than Kafka's defaults."""
        try:
            self.test = fuzz_test(self.port, self.profile, self.capabilities, choice)
        except FoundError as found:
            self._found(found)

    def may(self, action: Action) -> bool:
        """Whether an action is useful now."""
        return not self.over and self.test is not None and action.may(self.test.context)

    def do(self, action: Action, choice: int) -> None:
        """One step of both; ends the test at a finding that is already known."""
        if self.over or self.test is None:
            return
        before = self.test.context.group.state
        try:
            self.test.do(action, choice)
        except FoundError as found:
            self._found(found)
        else:
            oracle = self.test.run.oracle
            self.kinds.add((before, oracle.applied))
            self.over = oracle.is_unknown

    def _found(self, found: FoundError) -> None:
        self.over = True
        if found.finding.key not in self.known:
            self.found.append(found.finding)
            if found.finding.hung:
                raise HungError(found.finding)
            raise found

    def teardown(self) -> None:
        """End the test."""
        if self.test is None:
            return
        for count in self.tally:
            count(len(self.test.run.exchanges))
        self.applied.update(self.test.applied)
        try:
            self.test.run.close()
        except FoundError as found:
            self._found(found)
        target(float(len(self.kinds)), label="kinds of transitions")


def _rule_of(action: Action) -> Callable[..., None]:
    def step(self: CoordinatorMachine, choice: int) -> None:
        self.do(action, choice)

    step.__name__ = step.__qualname__ = action.name
    made: Callable[..., None] = rule(choice=any_choice)(step)
    if action.name == "advance":
        return made  # at least one rule is always enabled, if only to end the test
    guarded: Callable[..., None] = precondition(lambda self: self.may(action))(made)
    return guarded


for _move in ACTIONS:
    setattr(CoordinatorMachine, _move.name, _rule_of(_move))


def lockstep(  # noqa: PLR0913 - keyword settings
    port: Port,
    profile: Profile,
    *,
    examples: int,
    steps: int,
    seed_number: int,
    known: Container[tuple[str, ...]],
    tally: Callable[[int], None],
    applied: Counter[str] | None = None,
) -> Finding | None:
    """Run the state machine; the first finding that is not known yet, if there is one.

    It is as Hypothesis generated it: `shrink` needs far fewer tests than Hypothesis to minimise a
    finding, as it knows traces to the transition, and it minimises those of other generators, too.

    `tally` receives the number of steps of each test; `applied` counts how often each rule may have
    been applied. Several threads may each run one; see `storing_nothing`.
    """
    found: list[Finding] = []
    attributes = {
        "port": port,
        "profile": profile,
        "capabilities": capabilities_of(port, profile),
        "known": known,
        "tally": [tally],
        "found": found,
        "applied": Counter() if applied is None else applied,
    }
    machine = seed(seed_number)(type("Lockstep", (CoordinatorMachine,), attributes))
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    with with_reporter(lambda _text: None):
        try:
            run_state_machine_as_test(machine, settings=chosen)
        except (FoundError, HungError) as first:
            return first.finding
        except Flaky:  # the port is not deterministic: keep the shortest finding
            return min(found, key=lambda finding: len(finding.sequence.steps))
    return None


@contextmanager
def storing_nothing() -> Iterator[None]:
    """Hypothesis writes its files to a temporary directory, not to the current one.

    All threads share the directory. Asking Hypothesis for its directory would set it, so this reads
    its private variable.
    """
    before = vars(configuration).get("__hypothesis_home_directory")
    with TemporaryDirectory(prefix="groupcheck-", ignore_cleanup_errors=True) as directory:
        configuration.set_hypothesis_home_dir(directory)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(before)
