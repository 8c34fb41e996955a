"""What lines may follow each other in a log: an automaton that is derived from the model.

Small spaces of a version are explored, and every step in them is projected to the signs that a log
would show of it (`log_signs`). Its states are those of the model, but for all that no log shows:
the group's state, whether there are members, and whether the partition is served.
Steps that print nothing are moves without a sign. A log is held to it by subset construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from typing import Final, NamedTuple

from groupcheck.model.exploring.projection import ABSENT, state_of
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import Instance, spaces
from groupcheck.model.state import Coordinator, Serving
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import Request
from groupcheck.pipeline.logs.signs import SAME, Count, Sign, shown
from groupcheck.pipeline.recordings.observed import Edge, state_name

MEMBERS: Final = 2  # with two every rule is reached
# Those without which steps are missed; the others show nothing that is not in one of these
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
# What a member does in one LeaveGroup of many, of which spaces have no more than two (4.1).
BATCH: Final = frozenset({"left", "pending left"})

States = frozenset[int]


class Letter(NamedTuple):
    """What a line says, as far as it is told: of the rules it may be any."""

    what: str
    state: str | None = None
    rules: frozenset[str] | None = None

    def is_shown_by(self, sign: Sign) -> bool:
        """Whether the line may be of that sign."""
        return (
            sign.what == self.what
            and self.state in {None, sign.state}
            and (self.rules is None or sign.why in self.rules)
        )


class Projected(NamedTuple):
    """A state as far as a log shows it in the end; `unwritten` as in `Group`."""

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


class Reached(NamedTuple):
    """Where a line leads from states: what is `counted`, then each set after more was.

    `edges` are the steps that are over by it, `open` says whether some are not.
    """

    counted: Count
    then: tuple[tuple[Count, States], ...]
    edges: frozenset[Edge]
    open: bool


class _Shown(NamedTuple):
    """What a step shows."""

    before: Projected
    signs: tuple[tuple[Sign, Count], ...]
    last: Count
    after: Projected
    together: bool
    edge: Edge


class Automaton:
    """The automaton of a version."""

    def __init__(self, steps: Iterator[_Shown]) -> None:
        self._numbers: dict[object, int] = {}
        self._moves: list[dict[Sign, set[tuple[Count, int]]]] = []
        self._silent: list[set[tuple[Count, int]]] = []
        self._ends: dict[int, Edge] = {}  # where a step is over, before what it counts last
        for step in steps:
            self._add(step)
        self._offers: dict[States, dict[Sign, frozenset[Count]]] = {}
        self._reached: dict[tuple[States, Letter], tuple[Reached, ...]] = {}
        self._closed: dict[States, tuple[tuple[Count, States], ...]] = {}
        self.any = frozenset(range(len(self._moves)))

    @cached_property
    def lost(self) -> States:
        """Where a group is whose partition was served by another coordinator until now."""
        unserved = (
            number
            for place, number in self._numbers.items()
            if isinstance(place, Projected) and place.serving is not Serving.SERVED
        )
        return frozenset().union(*(each for _, each in self._close(frozenset(unserved))))

    def after(self, states: States, letter: Letter) -> tuple[Reached, ...]:
        """Where a line leads."""
        key = states, letter
        if key not in self._reached:
            if len(self._reached) > 100_000:
                self._reached.clear()
            self._reached[key] = tuple(self._after(states, letter))
        return self._reached[key]

    def offers(self, states: States) -> dict[Sign, frozenset[Count]]:
        """The signs that may come in states, with what is counted until then."""
        if states not in self._offers:
            found: dict[Sign, set[Count]] = {}
            for state in states:
                for sign, moves in self._moves[state].items():
                    found.setdefault(sign, set()).update(count for count, _ in moves)
            self._offers[states] = {sign: frozenset(each) for sign, each in found.items()}
        return self._offers[states]

    def _after(self, states: States, letter: Letter) -> Iterator[Reached]:
        found: dict[Count, set[int]] = {}
        for state in states:
            for sign, moves in self._moves[state].items():
                if letter.is_shown_by(sign):
                    for count, target in moves:
                        found.setdefault(count, set()).add(target)
        for count, targets in found.items():
            edges = frozenset(self._ends[each] for each in targets if each in self._ends)
            is_open = any(each not in self._ends for each in targets)
            yield Reached(count, self._close(frozenset(targets)), edges, is_open)

    def _close(self, states: States) -> tuple[tuple[Count, States], ...]:
        """All that may have become of states without a sign."""
        if states not in self._closed:
            seen = {(SAME, state) for state in states}
            todo = list(seen)
            while todo:
                before, state = todo.pop()
                for count, target in self._silent[state]:
                    after = before.then(count)
                    if (after, target) not in seen and after.grows < 2:
                        seen.add((after, target))
                        todo.append((after, target))
            sets: dict[Count, set[int]] = {}
            for count, state in seen:
                sets.setdefault(count, set()).add(state)
            self._closed[states] = tuple((c, frozenset(each)) for c, each in sets.items())
        return self._closed[states]

    def _number(self, place: object) -> int:
        number = self._numbers.setdefault(place, len(self._moves))
        if number == len(self._moves):
            self._moves.append({})
            self._silent.append(set())
        return number

    def _add(self, step: _Shown) -> None:
        before, after = self._number(step.before), self._number(step.after)
        if not step.signs:
            if (before, step.last) != (after, SAME):
                self._silent[before].add((step.last, after))
            return
        rests = (step.signs[at:] for at in range(1, len(step.signs)))
        chain = [before]
        chain += [self._number((rest, step.last, step.after, step.edge)) for rest in rests]
        end = self._number((step.edge, step.last, step.after))
        self._ends[end] = step.edge
        self._silent[end].add((step.last, after))
        chain.append(end)
        for at, (sign, count) in enumerate(step.signs):
            self._moves[chain[at]].setdefault(sign, set()).add((count, chain[at + 1]))
            if step.together and sign.what in BATCH:
                self._more((chain[at], chain[at + 1]), sign, count, step.signs[at:], step)

    def _more(
        self,
        ends: tuple[int, int],
        sign: Sign,
        count: Count,
        rest: tuple[tuple[Sign, Count], ...],
        step: _Shown,
    ) -> None:
        """Members that leave together may be more than two."""
        place, following = ends
        again = self._number((rest, step.last, step.after, step.edge, "again"))
        for what in BATCH:
            like = sign._replace(what=what)
            self._moves[place].setdefault(like, set()).add((count, again))
            self._moves[again].setdefault(like, set()).update({(SAME, again), (SAME, following)})


@cache
def automaton(name: str) -> Automaton:
    """The automaton of a version, made once in a process."""
    return Automaton(_all_shown(PROFILES[name]))


def _all_shown(profile: Profile) -> Iterator[_Shown]:
    found = spaces(profile, MEMBERS)
    seen: set[_Shown] = set()
    for name in SPACES[profile.name]:
        for step in steps_of(found[name]):
            if step not in seen:
                seen.add(step)
                yield step


def steps_of(instance: Instance) -> Iterator[_Shown]:
    """What each step of a space shows, some of them often.

    Raises:
        AssertionError: a step counts generations otherwise than its rules do.
    """
    profile, config = instance.profile, instance.config
    nodes = {instance.initial: None}
    todo = [instance.initial]
    while todo:
        node = todo.pop()
        for given in instance.inputs(node):
            for after, _, fired, _ in successors(node, given, profile, config):
                if not instance.admits(after):
                    continue
                yield _step(profile, node, given, after, fired)
                frame = instance.frame(after).node
                if frame not in nodes:
                    nodes[frame] = None
                    todo.append(frame)


def _step(
    profile: Profile, before: Coordinator, given: Input, after: Coordinator, fired: tuple[str, ...]
) -> _Shown:
    signs = list(shown(profile, before, given, fired))
    generation = before.group.generation_id if before.group else 0
    counted: int | None = generation
    for _, count in signs:
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
    edge = Edge(state_name(before.group), name, rules, state_name(after.group))
    return _Shown(
        projected(before),
        tuple((sign, count) for sign, count in signs[:-1] if sign is not None),
        signs[-1][1],
        projected(after),
        "leave/together" in fired,
        edge,
    )
