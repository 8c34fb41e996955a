"""The automaton of a log, derived from the model: which lines may follow which.

Small model instances of a version are explored, and every step is projected to the log events that
a broker would print (`log_events`): they are the symbols. The states are those of the model as far
as logs show them: the group's state, whether there are members, and whether the partition is
served. A step that prints nothing is a move without a symbol. A log is checked by subset
construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property, reduce
from typing import Any, Final, NamedTuple

from groupcheck.model.engine.exploration import Frontier, Seen
from groupcheck.model.exploring.projection import ABSENT, state_of
from groupcheck.model.instances.instance import Instance, instances
from groupcheck.model.profiles.minors import EVERY_PROFILE
from groupcheck.model.state import Coordinator, Serving
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.pipeline.logs.log_events import LogEvent, printed
from groupcheck.pipeline.subset_construction import SAME, Automaton, Count, Subsets
from groupcheck.pipeline.transitions import Transition, state_name

Row = dict[str, Any]
MEMBERS: Final = 2  # with two every rule is reached
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
SPACES: Final = {
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
    """What a line tells of its log event: without a state, or rules, it may be any."""

    what: str
    state: str | None = None
    rules: frozenset[str] | None = None

    def matches(self, event: LogEvent) -> bool:
        """Whether the line may be of that event."""
        return (
            event.what == self.what
            and self.state in {None, event.state}
            and (self.rules is None or event.why in self.rules)
        )


class Projected(NamedTuple):
    """A state as far as a log shows it; `unwritten` as in `Group`."""

    state: str
    members: bool
    unwritten: bool
    serving: Serving
    active: bool


def projected(coordinator: Coordinator) -> Projected:
    """The projection of a state."""
    group = coordinator.group
    return Projected(
        state_of(coordinator),
        bool(group and group.members),
        bool(group and group.unwritten),
        coordinator.serving,
        coordinator.active,
    )


class Shown(NamedTuple):
    """What a log shows of a step."""

    before: Projected
    events: tuple[tuple[LogEvent, Count], ...]
    last: Count
    after: Projected
    together: bool
    transition: Transition


class LogAutomaton(Automaton[LogEvent]):
    """The automaton of a version, and its sets of states."""

    def __init__(self, steps: Iterator[Shown]) -> None:
        super().__init__()
        self._numbers: dict[object, int] = {}
        self._ends: dict[int, Transition] = {}  # where a step ends, before its last count
        for step in steps:
            self._add(step)
        self.sets = Subsets(self, self._steps_ended)

    @cached_property
    def lost(self) -> int:
        """The states of a group that another coordinator has had until now."""
        unserved = (
            number
            for state, number in self._numbers.items()
            if isinstance(state, Projected) and state.serving is not Serving.SERVED
        )
        return reduce(self.sets.union, (number for _, number in self.sets.closed(unserved)))

    def _steps_ended(self, targets: frozenset[int]) -> frozenset[Transition] | None:
        """The steps that end in these states; None if a step may not have ended."""
        if not targets <= self._ends.keys():
            return None
        return frozenset(self._ends[each] for each in targets)

    def _number(self, state: object) -> int:
        if state not in self._numbers:
            self._numbers[state] = self.new()
        return self._numbers[state]

    def _add(self, step: Shown) -> None:
        before, after = self._number(step.before), self._number(step.after)
        if not step.events:
            if (before, step.last) != (after, SAME):
                self.add(before, None, after, step.last)
            return
        rests = (step.events[at:] for at in range(1, len(step.events)))
        chain = [before]
        chain += [self._number((rest, step.last, step.after, step.transition)) for rest in rests]
        end = self._number((step.transition, step.last, step.after))
        self._ends[end] = step.transition
        self.add(end, None, after, step.last)
        chain.append(end)
        for at, (event, count) in enumerate(step.events):
            self.add(chain[at], event, chain[at + 1], count)
            if step.together and event.what in BATCH:
                again = self._number(
                    (step.events[at:], step.last, step.after, step.transition, "again")
                )
                self._add_more((chain[at], again, chain[at + 1]), event, count)

    def _add_more(self, states: tuple[int, int, int], event: LogEvent, count: Count) -> None:
        """More than two members may leave together."""
        start, again, following = states
        for what in BATCH:
            other = event._replace(what=what)
            self.add(start, other, again, count)
            self.add(again, other, again)
            self.add(again, other, following)


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

    def lost(self) -> None:
        """Another coordinator has had the group until now."""
        self._at = {None: self._automaton.lost}

    def __len__(self) -> int:
        return sum(map(self._sets.size, self._at.values()))

    def take(self, line: EventPattern, generation: int | None) -> frozenset[Transition] | None:
        """Take a line with this generation, or none; None if no state allows it.

        Returns the transitions that may end with the line; none if one of them may continue.
        """
        found: dict[int | None, int] = {}
        ended: set[frozenset[Transition] | None] = set()
        for before, states in self._at.items():
            for reached in self._sets.step(states, line, line.matches):
                at = reached.change.of(before)
                if generation is not None and at not in {None, generation}:
                    continue
                ended.add(reached.about)
                for count, more in reached.then:
                    after = count.of(at if generation is None else generation)
                    found[after] = self._sets.union(found.get(after, more), more)
        if not found:
            return None
        self._at = found
        if None in ended:
            return frozenset()
        return frozenset(each for one in ended for each in one or ())

    def next(self) -> Iterator[tuple[LogEvent, Row]]:
        """The log events that may come next, with what their lines would tell."""
        for generation, states in self._at.items():
            for event, moves in sorted(self._sets.next(states).items()):
                for count in {count for count, _ in moves}:
                    row = {"what": event.what, "generation": count.of(generation)}
                    yield event, {**row, "state": event.state, "because": event.why}


@cache
def automaton(name: str) -> LogAutomaton:
    """The automaton of a version; a process makes it once."""
    return LogAutomaton(_all_shown(EVERY_PROFILE[name]))


def _all_shown(profile: Profile) -> Iterator[Shown]:
    found = instances(profile, MEMBERS)
    seen: set[Shown] = set()
    for name in SPACES[profile.name]:
        for step in steps_of(found[name]):
            if step not in seen:
                seen.add(step)
                yield step


def steps_of(instance: Instance) -> Iterator[Shown]:
    """What a log shows of each step of a model instance; some more than once.

    Raises:
        AssertionError: the generation after a step is not what its rules count.
    """
    found: list[Shown] = []

    def see(number: int, seen: Seen) -> None:
        before, (after, _, fired, _) = frontier.nodes[number], seen.outcome
        found.append(_step(instance.profile, before, seen.given, after, fired))

    frontier = Frontier(instance, see)
    frontier.place(instance.initial)
    for number, _ in enumerate(frontier.nodes):  # which grows meanwhile
        frontier.expand(number)
        yield from found
        found.clear()


def _step(
    profile: Profile, before: Coordinator, given: Input, after: Coordinator, fired: tuple[str, ...]
) -> Shown:
    events = list(printed(profile, before, given, fired))
    generation = before.group.generation_id if before.group else 0
    counted: int | None = generation
    for _, count in events:
        counted = count.of(counted)
    if (
        after.group is not None
        and state_of(after) != ABSENT
        and counted not in {None, after.group.generation_id}
    ):
        msg = f"{fired} counts {counted} and not {after.group.generation_id}"
        raise AssertionError(msg)
    name = given.api if isinstance(given, Request) else type(given).__name__
    rules = tuple(dict.fromkeys(fired))
    transition = Transition(state_name(before.group), name, rules, state_name(after.group))
    return Shown(
        projected(before),
        tuple((event, count) for event, count in events[:-1] if event is not None),
        events[-1][1],
        projected(after),
        "leave/together" in fired,
        transition,
    )
