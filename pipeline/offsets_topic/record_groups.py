"""Checks the records of one group against the records of the model, partition by partition.

Only the records count: the log has the stored values, not their causes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from groupcheck.model.profiles.minors import EVERY_PROFILE
from groupcheck.model.storing.records import TOMBSTONES_END_TRANSACTIONS
from groupcheck.pipeline.offsets_topic.appends import (
    ABORTED,
    COMMIT,
    COMMITTED,
    FORGOTTEN,
    GENERATIONS,
    NOBODY,
    PENDING,
    REMOVED,
    SAME_GENERATION,
    SOMEBODY,
    Label,
    Who,
    group_label,
    subsets,
)
from groupcheck.pipeline.offsets_topic.group_records import Json

INSTANCES_SINCE: Final = 3  # the version of a group's value from which on it has static members
Where = tuple[str, int]


class Refused(NamedTuple):
    """A record that no state allows, and the records that are allowed instead."""

    label: Label
    where: Where | None
    allowed: dict[Label, set[str]]
    rules: set[str]
    states: int

    @property
    def words(self) -> str:
        """The record as text."""
        of = f" of {self.where[0]}-{self.where[1]}" if self.where is not None else ""
        return f"{self.label.words}{of}"


class Recorded(NamedTuple):
    """The last record of the group itself."""

    generation: int
    members: frozenset[Who]


NOTHING: Final = Recorded(0, frozenset())


class RecordChecker:
    """The states that the records of a group allow, for each partition of a topic.

    `None` stands for all partitions without a record so far.
    """

    def __init__(self, profile: str, sees: frozenset[str] | None, *, before: bool) -> None:
        self._automaton = profile, sees
        self._sets, initial = subsets(profile, sees)
        self._removal_ends = TOMBSTONES_END_TRANSACTIONS.holds_in(EVERY_PROFILE[profile].version)
        start = self._sets.all if before else initial
        self._at: dict[Where | None, int] = {None: start}
        self._last: Recorded | None = None if before else NOTHING
        self._pending: dict[Where, set[int]] = {}  # the producers with open transactions

    def __getstate__(self) -> dict[str, Any]:
        at = {where: self._sets.packed(number) for where, number in self._at.items()}
        return {name: each for name, each in vars(self).items() if name != "_sets"} | {"_at": at}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._sets, _ = subsets(*self._automaton)
        self._at = {where: self._sets.unpacked(each) for where, each in state["_at"].items()}

    def gap(self) -> None:
        """Records may be missing: the group may be in any state."""
        self._at = {None: self._sets.all}
        self._last = None
        self._pending.clear()

    def group(self, value: Json | None) -> Refused | None:
        """A record of the group; without a value, its removal."""
        if value is None:
            self._last = NOTHING
            return self._step((REMOVED,), tuple(self._at))
        last = self._last
        labels, self._last = self._labels(value)
        if self._last == last and last is not NOTHING:
            return None  # the leader syncs again before the record is committed
        return self._step(labels, tuple(self._at))

    def _labels(self, value: Json) -> tuple[tuple[Label, ...], Recorded]:
        data, version, last = value["data"], value.get("version"), self._last
        members = frozenset(
            Who(each["memberId"], each.get("groupInstanceId")) for each in data["members"]
        )
        found = Recorded(data["generation"], members)
        if last is None:
            said = SOMEBODY if members else NOBODY
            return tuple(Label("group", each, said) for each in GENERATIONS), found
        label = group_label(found.generation - last.generation, last.members, members)
        partial = version is not None and version < INSTANCES_SINCE
        if partial and label.generation in SAME_GENERATION:
            return tuple(label._replace(generation=each) for each in SAME_GENERATION), found
        return (label,), found

    def offset(self, where: Where, producer_id: int | None, *, removed: bool) -> Refused | None:
        """A commit of an offset, or its removal."""
        known = where in self._at
        self._at.setdefault(where, self._at[None])
        open_ones = self._pending.setdefault(where, set())
        if producer_id is not None:
            open_ones.add(producer_id)
        if removed:
            if self._removal_ends and producer_id is None:
                open_ones.clear()
            label = FORGOTTEN
        else:
            label = COMMIT if producer_id is None else PENDING
        if len(open_ones) > 1:  # the model has one producer
            self._at[where] = self._sets.all
            return None
        return self._step((label,), (where,), blames=not known)

    def marker(self, producer_id: int, *, committed: bool) -> None:
        """The end of a transaction."""
        label = COMMITTED if committed else ABORTED
        for where, open_ones in self._pending.items():
            if producer_id not in open_ones:
                continue
            several = len(open_ones) > 1
            open_ones.discard(producer_id)
            if several:
                self._at[where] = self._sets.all
            else:
                self._step((label,), (where,))

    def _step(
        self, labels: tuple[Label, ...], of: Iterable[Where | None], *, blames: bool = False
    ) -> Refused | None:
        """Take one of the labels in all of these partitions.

        A record is refused by the states of the group, or if it `blames`, of its partition. An
        earlier commit may have been on its way while something else was stored, which the model
        instance does not have: then the partition may be in any state.
        """
        chosen = frozenset(labels)
        refused: Refused | None = None
        for where in of:
            number = self._at[where]
            found = self._sets.step(number, chosen, chosen.__contains__)
            if not found and (where is None or blames):
                refused = self._refused(labels[0], where, number)
            self._at[where] = found[0].then[0][1] if found else self._sets.all
        return refused

    def _refused(self, label: Label, where: Where | None, number: int) -> Refused:
        allowed, anywhere = self._rules(number), self._rules(self._sets.all)
        return Refused(label, where, allowed, anywhere.get(label, set()), self._sets.size(number))

    def _rules(self, number: int) -> dict[Label, set[str]]:
        """The records that may come next, each with its rules."""
        moves = self._sets.next(number)
        return {label: set().union(*of.values()) for label, of in moves.items()}
