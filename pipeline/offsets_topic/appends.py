"""The automaton of the records of a group: which records may follow which.

The model instance with all appends is explored, and of each step only the records are kept: they
are the symbols. The automaton is that of one partition of a topic; commits of other partitions are
not seen. A generation is its distance from the generation of the group's record before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from groupcheck.model.instances.inputs import TOPIC
from groupcheck.model.instances.log_derived import log_instance
from groupcheck.model.profiles.minors import EVERY_PROFILE
from groupcheck.model.state import Coordinator, GroupRecord, Member
from groupcheck.model.storing.appended import (
    Appended,
    GroupRemoved,
    OffsetsRecorded,
    OffsetsRemoved,
)
from groupcheck.model.transition import appending
from groupcheck.pipeline.subset_construction import Automaton, Subsets

FAR: Final = 2  # all longer distances are equal
BEFORE: Final = -1  # the group's generation is before that of its record


class Label(NamedTuple):
    """A symbol: the kind of record, and of a group's record its generation and members."""

    what: str
    generation: str = ""
    members: str = ""

    @property
    def words(self) -> str:
        """The label as text."""
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
    """The identity of a member: its id, and its instance id."""

    member_id: str
    instance_id: str | None


def group_label(ahead: int, before: frozenset[Who], after: frozenset[Who]) -> Label:
    """The label of a group's record, `ahead` generations after the one before."""
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


Records = Automaton[Label]
Sets = Subsets[Label]


@cache
def appends(profile: str) -> tuple[Records, int]:
    """The automaton of a version, and its initial state."""
    walk = _Walk(profile)
    return walk.automaton, walk.initial


@cache
def subsets(profile: str, sees: frozenset[str] | None = None) -> tuple[Sets, int]:
    """The sets of states in which a group may be, and the initial one.

    `sees` are the kinds of records that a source has, if not all; then the source does not have
    transactions either.
    """
    automaton, initial = appends(profile)
    if sees is not None:
        automaton = automaton.seen_as(lambda label: _partially(label, sees))
    sets = Subsets(automaton)
    ((_, closed),) = sets.closed([initial])
    return sets, closed


def _partially(label: Label, sees: frozenset[str]) -> Label | None:
    label = COMMIT if label == PENDING else label
    return label if label.what in sees else None


_Way = tuple[tuple[Appended, ...], int, Coordinator, tuple[str, ...]]


class _Walk:
    """Explores the instance; a state is one of the model's, with the distance of its generation.

    The distance is from the generation of the group's record, or from 0 without a record.
    """

    def __init__(self, profile: str) -> None:
        self._space = log_instance(EVERY_PROFILE[profile])
        self._config = self._space.config
        self._numbers: dict[tuple[Coordinator, int], int] = {}
        self._open: list[tuple[Coordinator, int]] = []
        self._frames: dict[Coordinator, Coordinator] = {}
        self._known: dict[Coordinator, list[_Way]] = {}
        self.automaton: Records = Automaton()
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
            self._add(start, labels, self._place(after, further), rules)

    def _add(
        self, start: int, labels: Iterator[Label | None], target: int, rules: tuple[str, ...]
    ) -> None:
        """Add a path with these labels, through new states."""
        automaton, seen = self.automaton, [label for label in labels if label is not None]
        for label in seen[:-1]:
            between = automaton.new()
            automaton.add(start, label, between, rules=rules)
            start = between
        automaton.add(start, seen[-1] if seen else None, target, rules=rules)

    def _ways(self, node: Coordinator) -> list[_Way]:
        """The steps from a state: the records, the generation after, the state after, the rules."""
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
            node = self._frames[state] = self._space.canonical(state).node
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
