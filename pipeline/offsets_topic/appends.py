"""Which records of a group may follow which, as the model appends them.

The space of all that is ever appended is walked whole, and of each step only the records are kept.
It is seen from one partition of a topic: what is committed of others is not seen. A generation is
known by how far it is from that of the group's record before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import TOPIC
from groupcheck.model.spaces.recorded_space import recorded_space
from groupcheck.model.state import Coordinator, GroupRecord, Member
from groupcheck.model.storing.appended import (
    Appended,
    GroupRemoved,
    OffsetsRecorded,
    OffsetsRemoved,
)
from groupcheck.model.transition import appending
from groupcheck.pipeline.offsets_topic.subsets import Automaton, Subsets

FAR: Final = 2  # generations that are no longer told apart
BEFORE: Final = -1  # the group's generation is before that of its record


class Label(NamedTuple):
    """A record: what it is, and of a group's which generation and members it has."""

    what: str
    generation: str = ""
    members: str = ""

    @property
    def words(self) -> str:
        """As a person reads it."""
        return ", ".join(filter(None, self))


REMOVED: Final = Label("group removed")
COMMIT: Final = Label("offset")
PENDING: Final = Label("offset of a transaction")
FORGOTTEN: Final = Label("offset removed")
COMMITTED: Final = Label("commit marker")
ABORTED: Final = Label("abort marker")

EARLIER, SAME, CHANGED, REPLACED, NEXT, LATER = (
    "an earlier generation",
    "the same generation and members",
    "the same generation with other members",
    "the same generation with a static member's new id",
    "the next generation",
    "a later generation",
)
GENERATIONS: Final = (EARLIER, SAME, CHANGED, REPLACED, NEXT, LATER)
SAME_GENERATION: Final = (SAME, CHANGED, REPLACED)
NOBODY, SOMEBODY = "without members", "with members"


class Who(NamedTuple):
    """A member as far as it tells whether it is another: its id, and whose name it has."""

    member_id: str
    instance_id: str | None


def group_label(ahead: int, before: frozenset[Who], after: frozenset[Who]) -> Label:
    """The label of a group's record, so many generations after the one before."""
    members = SOMEBODY if after else NOBODY
    if ahead:
        said = EARLIER if ahead < 0 else NEXT if ahead == 1 else LATER
        return Label("group", said, members)
    if after == before:
        return Label("group", SAME, members)
    gone, come = before - after, after - before
    names = {who.instance_id for who in gone}
    replaced = len(gone) == len(come) and None not in names
    same = replaced and names == {who.instance_id for who in come}
    return Label("group", REPLACED if same else CHANGED, members)


@cache
def appends(profile: str) -> tuple[Automaton[Label], int]:
    """The automaton of a version, and its initial state."""
    walk = _Walk(profile)
    return walk.automaton, walk.initial


@cache
def subsets(profile: str, sees: frozenset[str] | None = None) -> Subsets[Label]:
    """Where a group may be after the records that were seen.

    `sees` are the records that can be seen at all, if not all; then a commit does not tell whether
    it is part of a transaction.
    """
    automaton, initial = appends(profile)
    if sees is not None:
        automaton = automaton.seen_as(lambda label: _dimly(label, sees))
    return Subsets(automaton, initial)


def _dimly(label: Label, sees: frozenset[str]) -> Label | None:
    label = COMMIT if label == PENDING else label
    return label if label.what in sees else None


_Way = tuple[tuple[Appended, ...], int, Coordinator, tuple[str, ...]]


class _Walk:
    """The walk through the space; a state is one of the space's, with how far its group is ahead.

    That is by how many generations the group is ahead of its record, or of 0 if it has none.
    """

    def __init__(self, profile: str) -> None:
        self._space = recorded_space(PROFILES[profile])
        self._config = self._space.config
        self._numbers: dict[tuple[Coordinator, int], int] = {}
        self._open: list[tuple[Coordinator, int]] = []
        self._frames: dict[Coordinator, Coordinator] = {}
        self._known: dict[Coordinator, list[_Way]] = {}
        self.automaton: Automaton[Label] = Automaton()
        self.initial = self._place(self._space.initial, 0)
        while self._open:
            self._expand(*self._open.pop())

    def _place(self, node: Coordinator, ahead: int) -> int:
        number = self._numbers.get((node, ahead))
        if number is None:
            number = self._numbers[node, ahead] = self.automaton.new()
            self._open.append((node, ahead))
        return number

    def _expand(self, node: Coordinator, ahead: int) -> None:
        start = self._numbers[node, ahead]
        for appended, generation, after, rules in self._ways(node):
            base = _generation(node) - ahead  # of the record
            labels = _labels(node, appended, base)
            for record in appended:
                if isinstance(record, GroupRecord):
                    base = record.generation_id
                elif isinstance(record, GroupRemoved):
                    base = 0
            further = max(min(generation - base, FAR), BEFORE)
            self.automaton.add(start, labels, self._place(after, further), rules)

    def _ways(self, node: Coordinator) -> list[_Way]:
        """All that may come of a state: what is appended, the generation then, and the state."""
        ways = self._known.get(node)
        if ways is None:
            space, config = self._space, self._config
            ways = self._known[node] = [
                (
                    appended,
                    _generation(outcome.coordinator),
                    self._frame(outcome.coordinator),
                    outcome.fired,
                )
                for given in space.inputs(node)
                for outcome, appended in appending(node, given, space.profile, config)
                if space.admits(outcome.coordinator)
            ]
        return ways

    def _frame(self, state: Coordinator) -> Coordinator:
        node = self._frames.get(state)
        if node is None:
            node = self._frames[state] = self._space.frame(state).node
        return node


def _generation(state: Coordinator) -> int:
    return state.group.generation_id if state.group is not None else 0


def _labels(
    before: Coordinator, appended: tuple[Appended, ...], base: int
) -> Iterator[Label | None]:
    log = before.log
    recorded = log.group if log is not None else None
    pending = log is not None and any(each.partition[0] == TOPIC for each in log.transactions)
    for record in appended:
        if isinstance(record, GroupRecord):
            members = recorded.members if recorded is not None else ()
            yield group_label(record.generation_id - base, _who(members), _who(record.members))
            recorded, base = record, record.generation_id
        elif isinstance(record, GroupRemoved):
            yield REMOVED
        elif isinstance(record, OffsetsRecorded):
            own = any(topic == TOPIC for topic, _ in record.partitions)
            yield (PENDING if record.producer_id is not None else COMMIT) if own else None
        elif isinstance(record, OffsetsRemoved):
            yield FORGOTTEN if any(topic == TOPIC for topic, _ in record.partitions) else None
        elif pending:
            yield COMMITTED if record.committed else ABORTED


def _who(members: tuple[Member, ...]) -> frozenset[Who]:
    return frozenset(Who(each.member_id, each.group_instance_id) for each in members)
