"""Checks the records of one group against the records of the model, partition by partition.

The log has the stored values, and not the requests and timers that caused them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.storing.records import TOMBSTONES_END_TRANSACTIONS
from groupcheck.pipeline.offsets_topic.appends import (
    ABORTED,
    COMMIT,
    COMMITTED,
    GENERATIONS,
    GROUP_REMOVED,
    NO_MEMBERS,
    OFFSET_REMOVED,
    PENDING,
    SAME_GENERATION,
    SOME_MEMBERS,
    Identity,
    Label,
    group_label,
    subsets,
)
from groupcheck.pipeline.offsets_topic.group_records import Json

INSTANCES_SINCE: Final = 3  # the version of a group's value from which on it has static members
Where = tuple[str, int]


class Refused(NamedTuple):
    """A record that no state allows, and the records that are allowed instead, with their rules."""

    label: Label
    where: Where | None
    allowed: dict[Label, set[str]]
    rules: set[str]
    states: int

    @property
    def text(self) -> str:
        """The record as text."""
        partition = f" of {self.where[0]}-{self.where[1]}" if self.where is not None else ""
        return f"{self.label.text}{partition}"


class Recorded(NamedTuple):
    """The last record of the group itself."""

    generation: int
    members: frozenset[Identity]


NOTHING: Final = Recorded(0, frozenset())


class RecordChecker:
    """The states that the records of a group allow, for each partition of a topic.

    The key None has the states for all partitions without a record so far.
    """

    def __init__(self, profile: str, kinds: frozenset[str] | None, *, before: bool) -> None:
        self._automaton = profile, kinds
        self._sets, initial = subsets(profile, kinds)
        version = EVERY_PROFILE[profile].version
        self._tombstones_end_transactions = TOMBSTONES_END_TRANSACTIONS.holds_in(version)
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
            return self._step((GROUP_REMOVED,), tuple(self._at))
        last = self._last
        labels, self._last = self._labels(value)
        if self._last == last and last is not NOTHING:
            return None  # the leader syncs again before the record is committed
        return self._step(labels, tuple(self._at))

    def _labels(self, value: Json) -> tuple[tuple[Label, ...], Recorded]:
        data, version, last = value["data"], value.get("version"), self._last
        members = frozenset(
            Identity(each["memberId"], each.get("groupInstanceId")) for each in data["members"]
        )
        found = Recorded(data["generation"], members)
        if last is None:
            has_members = SOME_MEMBERS if members else NO_MEMBERS
            return tuple(Label("group", each, has_members) for each in GENERATIONS), found
        label = group_label(found.generation - last.generation, last.members, members)
        lacks_instances = version is not None and version < INSTANCES_SINCE
        if lacks_instances and label.generation in SAME_GENERATION:
            return tuple(label._replace(generation=each) for each in SAME_GENERATION), found
        return (label,), found

    def offset(self, where: Where, producer_id: int | None, *, removed: bool) -> Refused | None:
        """A commit of an offset, or its removal."""
        is_known = where in self._at
        self._at.setdefault(where, self._at[None])
        producers = self._pending.setdefault(where, set())
        if producer_id is not None:
            producers.add(producer_id)
        if removed:
            if self._tombstones_end_transactions and producer_id is None:
                producers.clear()
            label = OFFSET_REMOVED
        else:
            label = COMMIT if producer_id is None else PENDING
        if len(producers) > 1:  # the model has one producer
            self._at[where] = self._sets.all
            return None
        return self._step((label,), (where,), is_checked=not is_known)

    def marker(self, producer_id: int, *, committed: bool) -> None:
        """The end of a transaction."""
        label = COMMITTED if committed else ABORTED
        for where, producers in self._pending.items():
            if producer_id not in producers:
                continue
            several = len(producers) > 1
            producers.discard(producer_id)
            if several:
                self._at[where] = self._sets.all
            else:
                self._step((label,), (where,))

    def _step(
        self, labels: tuple[Label, ...], of: Iterable[Where | None], *, is_checked: bool = False
    ) -> Refused | None:
        """Take one of the labels in all of these partitions.

        The states of the group decide whether a record is refused, or those of its partition if it
        `is_checked`. A record may be stored between a commit's request and its append, which the
        model instance does not have: then the partition may be in any state.
        """
        chosen = frozenset(labels)
        refused: Refused | None = None
        for where in of:
            number = self._at[where]
            found = self._sets.step(number, chosen, chosen.__contains__)
            if not found and (where is None or is_checked):
                refused = self._refused(labels[0], where, number)
            self._at[where] = found[0].closure[0][1] if found else self._sets.all
        return refused

    def _refused(self, label: Label, where: Where | None, number: int) -> Refused:
        allowed, anywhere = self._rules(number), self._rules(self._sets.all)
        return Refused(label, where, allowed, anywhere.get(label, set()), self._sets.size(number))

    def _rules(self, number: int) -> dict[Label, set[str]]:
        """The records that are allowed next, each with its rules."""
        symbols = self._sets.next_symbols(number)
        return {label: set().union(*targets.values()) for label, targets in symbols.items()}
