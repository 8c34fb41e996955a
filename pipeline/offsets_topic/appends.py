"""The automaton of the records of a group: it accepts the allowed sequences of records.

The model instance with all appends is explored, and the records of each step are the symbols. The
automaton is that of one partition of a topic: commits of other partitions are not observed. A
generation is represented by its distance from the generation of the group's previous record.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from groupcheck import pipeline
from groupcheck.cache import derived
from groupcheck.model.classic.instances.inputs import TOPIC
from groupcheck.model.classic.instances.log_derived import log_instance
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import Coordinator, GroupRecord
from groupcheck.model.classic.storing.appended import (
    Appended,
    GroupRemoved,
    OffsetsRecorded,
    OffsetsRemoved,
)
from groupcheck.model.classic.transition import appending
from groupcheck.pipeline.subset_construction import Automaton, Subsets

MAX_AHEAD: Final = 2  # generations; longer distances are equal
MIN_AHEAD: Final = -1  # the generation of the group is before that of its record


class Label(NamedTuple):
    """A symbol: the kind of record, and for a group's record its generation and members."""

    kind: str
    generation: str = ""
    members: str = ""

    @property
    def text(self) -> str:
        """The label as text."""
        return ", ".join(filter(None, self))


GROUP_REMOVED: Final = Label("group removed")
COMMIT: Final = Label("offset")
PENDING: Final = Label("offset of a transaction")
OFFSET_REMOVED: Final = Label("offset removed")
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
NO_MEMBERS, SOME_MEMBERS = "without members", "with members"


class Identity(NamedTuple):
    """The identity of a member: its id, and its instance id."""

    member_id: str
    instance_id: str | None


def group_label(ahead: int, before: frozenset[Identity], after: frozenset[Identity]) -> Label:
    """The label of a group's record, `ahead` generations after the one before."""
    members = SOME_MEMBERS if after else NO_MEMBERS
    if ahead:
        generation = EARLIER if ahead < 0 else NEXT if ahead == 1 else LATER
        return Label("group", generation, members)
    if after == before:
        return Label("group", SAME, members)
    removed, added = before - after, after - before
    instance_ids = {member.instance_id for member in removed}
    is_replaced = (
        len(removed) == len(added)
        and None not in instance_ids
        and instance_ids == {member.instance_id for member in added}
    )
    return Label("group", REPLACED if is_replaced else CHANGED, members)


Records = Automaton[Label]
Sets = Subsets[Label]


@cache
def appends(profile: str) -> tuple[Records, int]:
    """The automaton of a version, and its initial state; derived once for all processes."""

    def derive() -> tuple[Records, int]:
        exploration = _Exploration(profile)
        return exploration.automaton, exploration.initial

    return derived(f"records of {profile}", derive, pipeline)


@cache
def subsets(profile: str, kinds: frozenset[str] | None = None) -> tuple[Sets, int]:
    """The sets of states in which a group may be, and the initial one.

    `kinds` are the kinds of records that a source has, if not all; then the source does not have
    transactions either.
    """
    automaton, initial = appends(profile)
    if kinds is not None:
        automaton = automaton.observed(lambda label: _observed(label, kinds))
    sets = Subsets(automaton)
    ((_, closed),) = sets.closure([initial])
    return sets, closed


def _observed(label: Label, kinds: frozenset[str]) -> Label | None:
    label = COMMIT if label == PENDING else label
    return label if label.kind in kinds else None


# The records, the generation after the step, the state after it, the rules.
_Step = tuple[tuple[Appended, ...], int, Coordinator, tuple[str, ...]]


class _Exploration:
    """Explores the instance; a state is one of the model's, with the distance of its generation.

    The distance is from the generation of the group's record, or from 0 without a record.
    """

    def __init__(self, profile: str) -> None:
        self._space = log_instance(EVERY_PROFILE[profile])
        self._config = self._space.config
        self._numbers: dict[tuple[Coordinator, int], int] = {}
        self._pending: list[tuple[Coordinator, int]] = []
        self._canonical_states: dict[Coordinator, Coordinator] = {}
        self._steps: dict[Coordinator, list[_Step]] = {}
        self.automaton: Records = Automaton()
        self.initial = self._number(self._space.initial, 0)
        while self._pending:
            self._expand(*self._pending.pop())

    def _number(self, node: Coordinator, ahead: int) -> int:
        number = self._numbers.get((node, ahead))
        if number is None:
            number = self._numbers[node, ahead] = self.automaton.new_state()
            self._pending.append((node, ahead))
        return number

    def _expand(self, node: Coordinator, ahead: int) -> None:
        start = self._numbers[node, ahead]
        for appended, generation, after, rules in self._steps_from(node):
            base = _generation(node) - ahead  # of the record
            labels = _labels(node, appended, base)
            for record in appended:
                if isinstance(record, GroupRecord):
                    base = record.generation_id
                elif isinstance(record, GroupRemoved):
                    base = 0
            ahead_after = max(min(generation - base, MAX_AHEAD), MIN_AHEAD)
            self._add(start, labels, self._number(after, ahead_after), rules)

    def _add(
        self, start: int, labels: Iterator[Label | None], target: int, rules: tuple[str, ...]
    ) -> None:
        """Add a path with these labels, through new states."""
        automaton, symbols = self.automaton, [label for label in labels if label is not None]
        for symbol in symbols[:-1]:
            intermediate = automaton.new_state()
            automaton.add(start, symbol, intermediate, rules=rules)
            start = intermediate
        automaton.add(start, symbols[-1] if symbols else None, target, rules=rules)

    def _steps_from(self, node: Coordinator) -> list[_Step]:
        steps = self._steps.get(node)
        if steps is None:
            space, config = self._space, self._config
            steps = self._steps[node] = [
                (
                    appended,
                    _generation(outcome.coordinator),
                    self._canonical(outcome.coordinator),
                    outcome.applied,
                )
                for given in space.inputs(node)
                for outcome, appended in appending(node, given, space.profile, config)
                if space.admits(outcome.coordinator)
            ]
        return steps

    def _canonical(self, state: Coordinator) -> Coordinator:
        node = self._canonical_states.get(state)
        if node is None:
            node = self._canonical_states[state] = self._space.canonical(state).node
        return node


def _generation(state: Coordinator) -> int:
    return state.group.generation_id if state.group is not None else 0


def _labels(node: Coordinator, appended: tuple[Appended, ...], base: int) -> Iterator[Label | None]:
    log = node.log
    recorded = log.group if log is not None else None
    pending = log is not None and any(each.partition[0] == TOPIC for each in log.transactions)
    for record in appended:
        if isinstance(record, GroupRecord):
            before, after = _identities(recorded), _identities(record)
            yield group_label(record.generation_id - base, before, after)
            recorded, base = record, record.generation_id
        elif isinstance(record, GroupRemoved):
            yield GROUP_REMOVED
        elif isinstance(record, OffsetsRecorded):
            label = COMMIT if record.producer_id is None else PENDING
            yield label if any(topic == TOPIC for topic, _ in record.partitions) else None
        elif isinstance(record, OffsetsRemoved):
            yield OFFSET_REMOVED if any(topic == TOPIC for topic, _ in record.partitions) else None
        elif pending:
            yield COMMITTED if record.committed else ABORTED


def _identities(record: GroupRecord | None) -> frozenset[Identity]:
    members = () if record is None else record.members
    return frozenset(Identity(each.member_id, each.group_instance_id) for each in members)
