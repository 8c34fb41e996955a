"""The automaton of the logs of a version, derived from the model: it accepts the allowed logs.

Small model instances of a version are explored, and every step is projected to the log events that
a broker would print (`log_events`): they are the symbols. The states are projections of the model's
states: the group's state, whether there are members, and whether the partition is served. A step
that prints nothing is an epsilon transition. A log is checked by subset construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, cached_property, reduce
from typing import Any, Final, NamedTuple

from groupcheck import pipeline
from groupcheck.cache import derived
from groupcheck.model.classic.exploring.group_graph import ABSENT, state_of
from groupcheck.model.classic.instances.instance import Instance, instances
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import Coordinator, Serving
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.exploration import Frontier, Seen
from groupcheck.model.vocabulary import Request
from groupcheck.pipeline.logs.log_events import LogEvent, printed
from groupcheck.pipeline.subset_construction import UNCHANGED, Automaton, CounterChange, Subsets
from groupcheck.pipeline.transitions import Transition, state_name

Row = dict[str, Any]
MEMBERS: Final = 2  # two members reach every rule
# Without these, steps are missing; the other instances add no step to them
# (python bench/pipeline.py --instances).
_OLD: Final = (
    "metadata",
    "membership",
    "administration",
    "storing",
    "failover",
    "failover-administration",
    "expiry-failing",
)
INSTANCES: Final = {
    "0.10.0": _OLD,
    "0.10.2": _OLD,
    "2.7": (
        "metadata",
        "membership",
        "crowded",
        "reload",
        "expiry",
        "static-storing",
        "failover-static",
        "failover-administration",
        "failing-administration",
    ),
    "4.1": (
        "metadata",
        "membership",
        "order",
        "administration",
        "static",
        "crowded",
        "expiry",
        "failing",
        "failover",
        "failover-administration",
        "failing-administration",
    ),
}
# A LeaveGroup may name many members (4.1), and the instances have only two.
BATCH: Final = frozenset({"left", "pending left"})


class EventPattern(NamedTuple):
    """The log events that a line matches: those of any state, or rule, if the line has none."""

    name: str
    state: str | None = None
    rules: frozenset[str] | None = None

    def matches(self, event: LogEvent) -> bool:
        """Whether the line may be of that event."""
        return (
            event.name == self.name
            and self.state in {None, event.state}
            and (self.rules is None or event.rule in self.rules)
        )


class Projected(NamedTuple):
    """The part of a state that decides the log events; `not_persisted` as in `Group`."""

    state: str
    members: bool
    not_persisted: bool
    serving: Serving
    active: bool


def projected(coordinator: Coordinator) -> Projected:
    """The state of the group, and the other parts of a state that the log shows."""
    group = coordinator.group
    return Projected(
        state_of(coordinator),
        bool(group and group.members),
        bool(group and group.not_persisted),
        coordinator.serving,
        coordinator.active,
    )


class ProjectedStep(NamedTuple):
    """The log events of a step, each with the change of the generation before it.

    `last` is the change after the last event. If `batch`, several members leave at once.
    """

    before: Projected
    events: tuple[tuple[LogEvent, CounterChange], ...]
    last: CounterChange
    after: Projected
    batch: bool
    transition: Transition


class LogAutomaton(Automaton[LogEvent]):
    """The automaton of a version, and its sets of states."""

    def __init__(self, steps: Iterable[ProjectedStep]) -> None:
        super().__init__()
        self._numbers: dict[object, int] = {}
        self._ends: dict[int, Transition] = {}  # by state: a step that lacks only its last change
        for step in steps:
            self._add(step)
        self.sets = Subsets(self, self._ended_steps)

    @cached_property
    def moved(self) -> int:
        """The states of a group that another coordinator has served until now."""
        unserved = (
            number
            for state, number in self._numbers.items()
            if isinstance(state, Projected) and state.serving is not Serving.SERVED
        )
        return reduce(self.sets.union, (number for _, number in self.sets.closure(unserved)))

    def _ended_steps(self, targets: frozenset[int]) -> frozenset[Transition] | None:
        """The steps that end in these states; None if one of them may continue."""
        if not targets <= self._ends.keys():
            return None
        return frozenset(self._ends[target] for target in targets)

    def _number(self, state: object) -> int:
        if state not in self._numbers:
            self._numbers[state] = self.new_state()
        return self._numbers[state]

    def _add(self, step: ProjectedStep) -> None:
        before, after = self._number(step.before), self._number(step.after)
        if not step.events:
            if (before, step.last) != (after, UNCHANGED):
                self.add(before, None, after, step.last)
            return
        suffixes = [step.events[at:] for at in range(len(step.events))]
        chain = [before]
        chain += [
            self._number((suffix, step.last, step.after, step.transition))
            for suffix in suffixes[1:]
        ]
        end = self._number((step.transition, step.last, step.after))
        self._ends[end] = step.transition
        self.add(end, None, after, step.last)
        chain.append(end)
        for at, (event, change) in enumerate(step.events):
            start, target = chain[at], chain[at + 1]
            self.add(start, event, target, change)
            if step.batch and event.name in BATCH:
                loop = self._number(
                    (suffixes[at], step.last, step.after, step.transition, "repeated")
                )
                # More than two members may leave at once.
                for other in (event._replace(name=name) for name in BATCH):
                    self.add(start, other, loop, change)
                    self.add(loop, other, loop)
                    self.add(loop, other, target)


class StateSets:
    """The state sets that the lines so far allow; at first any state, in any generation."""

    def __init__(self, automaton: LogAutomaton) -> None:
        self._automaton = automaton
        self._sets = automaton.sets
        self._at: dict[int | None, int] = {}
        self.any_state()

    def any_state(self) -> None:
        """The group may be in any state."""
        self._at = {None: self._sets.all}

    def moved(self) -> None:
        """Another coordinator has served the group until now."""
        self._at = {None: self._automaton.moved}

    def __len__(self) -> int:
        return sum(map(self._sets.size, self._at.values()))

    def take(self, line: EventPattern, generation: int | None) -> frozenset[Transition] | None:
        """Take a line with this generation, or none; None if no state allows it.

        Returns the transitions that may end with the line; none if one of them may continue.
        """
        reached: dict[int | None, int] = {}
        ended: set[frozenset[Transition] | None] = set()
        for before, states in self._at.items():
            for step in self._sets.step(states, line, line.matches):
                at = step.change.of(before)
                if generation is not None and at not in {None, generation}:
                    continue
                ended.add(step.description)
                for change, targets in step.closure:
                    after = change.of(at if generation is None else generation)
                    reached[after] = self._sets.union(reached.get(after, targets), targets)
        if not reached:
            return None
        self._at = reached
        if None in ended:
            return frozenset()
        return frozenset(transition for steps in ended for transition in steps or ())

    def next_events(self) -> Iterator[tuple[LogEvent, Row]]:
        """The log events that are allowed next, with the fields of their lines."""
        for generation, states in self._at.items():
            for event, targets in sorted(self._sets.next_symbols(states).items()):
                for change in {change for change, _ in targets}:
                    row = {"what": event.name, "generation": change.of(generation)}
                    yield event, {**row, "state": event.state, "because": event.rule}


@cache
def automaton(name: str) -> LogAutomaton:
    """The automaton of a version; the steps are derived once for all processes."""
    profile = EVERY_PROFILE[name]
    return LogAutomaton(
        derived(f"logs of {name}", lambda: list(_projected_steps(profile)), pipeline)
    )


def _projected_steps(profile: Profile) -> Iterator[ProjectedStep]:
    by_name = instances(profile, MEMBERS)
    names = INSTANCES[profile.name]
    yield from dict.fromkeys(step for name in names for step in steps_of(by_name[name]))


def steps_of(instance: Instance) -> Iterator[ProjectedStep]:
    """The projection of each step of a model instance; equal ones may be repeated.

    Raises:
        AssertionError: the generation after a step is not the one that its log events determine.
    """
    found: list[ProjectedStep] = []

    def see(number: int, seen: Seen) -> None:
        before, (after, _, applied, _) = frontier.nodes[number], seen.outcome
        found.append(_step(instance.profile, before, seen.given, after, applied))

    frontier = Frontier(instance, see)
    frontier.place(instance.initial)
    for number, _ in enumerate(frontier.nodes):  # `expand` adds nodes
        frontier.expand(number)
        yield from found
        found.clear()


def _step(
    profile: Profile,
    before: Coordinator,
    given: Input,
    after: Coordinator,
    rules: tuple[str, ...],
) -> ProjectedStep:
    events = list(printed(profile, before, given, rules))
    generation = before.group.generation_id if before.group else 0
    counted: int | None = generation
    for _, change in events:
        counted = change.of(counted)
    if (
        after.group is not None
        and state_of(after) != ABSENT
        and counted not in {None, after.group.generation_id}
    ):
        msg = f"{rules} leads to generation {after.group.generation_id}, not {counted}"
        raise AssertionError(msg)
    name = given.api if isinstance(given, Request) else type(given).__name__
    once = tuple(dict.fromkeys(rules))
    transition = Transition(state_name(before.group), name, once, state_name(after.group))
    return ProjectedStep(
        projected(before),
        tuple((event, change) for event, change in events[:-1] if event is not None),
        events[-1][1],
        projected(after),
        "leave/together" in rules,
        transition,
    )
