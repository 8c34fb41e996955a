"""The records of one group held to what the model appends, each partition of a topic by itself.

What is not seen is not held against the group: the log shows what was stored, and not why.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from groupcheck.model.profiles import PROFILES
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
from groupcheck.pipeline.offsets_topic.subsets import NOWHERE

INSTANCES_SINCE: Final = 3  # the version of a group's value from which on static members are told
Where = tuple[str, int]


class Refused(NamedTuple):
    """A record that nothing leads to: what it is, and what else might have come."""

    label: Label
    where: Where | None
    lawful: dict[Label, set[str]]
    rules: set[str]
    states: int

    @property
    def words(self) -> str:
        """What is not lawful, as a person reads it."""
        of = f" of {self.where[0]}-{self.where[1]}" if self.where is not None else ""
        return f"{self.label.words}{of}"


class Recorded(NamedTuple):
    """What the log said last of the group itself."""

    generation: int
    members: frozenset[Who]


NOTHING: Final = Recorded(0, frozenset())


class RecordJudge:
    """What the records of a group leave of the model's states, for each partition of a topic.

    `None` stands for all partitions of which nothing was seen.
    """

    def __init__(self, profile: str, sees: frozenset[str] | None, *, before: bool) -> None:
        self._automaton = profile, sees
        self._subsets = subsets(profile, sees)
        self._removal_ends = PROFILES[profile].traits.tombstones_end_transactions
        start = self._subsets.anywhere if before else self._subsets.initial
        self._at: dict[Where | None, int] = {None: start}
        self._last: Recorded | None = None if before else NOTHING
        self._pending: dict[Where, set[int]] = {}  # the producers with open transactions

    def __getstate__(self) -> dict[str, Any]:
        at = {where: self._subsets.told(number) for where, number in self._at.items()}
        return {name: each for name, each in vars(self).items() if name != "_subsets"} | {"_at": at}

    def __setstate__(self, told: dict[str, Any]) -> None:
        vars(self).update(told)
        self._subsets = subsets(*self._automaton)
        self._at = {where: self._subsets.known(each) for where, each in told["_at"].items()}

    def widen(self) -> None:
        """Something may be missing: the group may be in any state there is."""
        self._at = {None: self._subsets.anywhere}
        self._last = None
        self._pending.clear()

    def group(self, value: Json | None) -> Refused | None:
        """A record of the group, without a value its removal."""
        if value is None:
            self._last = NOTHING
            return self._step((REMOVED,), tuple(self._at))
        last = self._last
        labels, self._last = self._labels(value)
        if self._last == last and last is not NOTHING:
            return None  # as when the leader syncs again before the record is committed
        return self._step(labels, tuple(self._at))

    def _labels(self, value: Json) -> tuple[tuple[Label, ...], Recorded]:
        told, version, last = value["data"], value.get("version"), self._last
        members = frozenset(
            Who(each["memberId"], each.get("groupInstanceId")) for each in told["members"]
        )
        found = Recorded(told["generation"], members)
        if last is None:
            said = SOMEBODY if members else NOBODY
            return tuple(Label("group", each, said) for each in GENERATIONS), found
        label = group_label(found.generation - last.generation, last.members, members)
        dim = version is not None and version < INSTANCES_SINCE
        if dim and label.generation in SAME_GENERATION:
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
            self._at[where] = self._subsets.anywhere
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
                self._at[where] = self._subsets.anywhere
            else:
                self._step((label,), (where,))

    def _step(
        self, labels: tuple[Label, ...], of: Iterable[Where | None], *, blames: bool = False
    ) -> Refused | None:
        """All of these partitions go along one of the labels.

        A record is refused by what was seen of the group, or if it `blames`, of its partition. What
        was committed before may have been on its way while something else was stored, which the
        space does not have: such a partition may be in any state then.
        """
        chosen = frozenset(labels)
        refused: Refused | None = None
        for where in of:
            number = self._at[where]
            found = self._subsets.step(number, chosen)
            if found == NOWHERE and (where is None or blames):
                refused = self._refused(labels[0], where, number)
            self._at[where] = self._subsets.anywhere if found == NOWHERE else found
        return refused

    def _refused(self, label: Label, where: Where | None, number: int) -> Refused:
        lawful = self._subsets.next(number)
        rules = self._subsets.next(self._subsets.anywhere).get(label, set())
        return Refused(label, where, lawful, rules, self._subsets.size(number))
