"""The sums of a check: those of the partitions of events are added up."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from groupcheck.pipeline.history_replay import FindingRow, Row, Rows
from groupcheck.pipeline.schemas import REBALANCES
from groupcheck.pipeline.transitions import Transition, transitions

MOST_FINDINGS: Final = 20
MOST_REASONS: Final = 5
MOST_NAMED: Final = 3  # groups of those that rebalance most
MOST_GROUPS: Final = 40  # of the rebalance timeline
MOST_REBALANCES: Final = 500  # of a group: the first of them

History = tuple[str, int, str]  # source, session, group


class Rebalancing(NamedTuple):
    """How often a group rebalances in all its histories, and the most frequent reason."""

    less: int  # minus the number of rebalances: the order is that of the list
    group_id: str
    reason: str


class Timeline(NamedTuple):
    """The first rebalances of a history, rows of `REBALANCES` with its end, `last_ms`."""

    less: int  # minus the number of all its rebalances
    history: History
    rows: list[Row]


@dataclass
class Summary:
    """Sums of rows of `CHECKED`.

    It lists the first findings, and the groups with most rebalances; those with as many are ordered
    by name. `transitions` counts occurrences and histories, by profile.
    """

    histories: Counter[str] = field(default_factory=Counter)  # by verdict
    events: int = 0
    accepted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)  # of `undecided`
    profiles: set[str] = field(default_factory=set)
    findings: list[FindingRow] = field(default_factory=list)
    rebalancing: list[Rebalancing] = field(default_factory=list)
    timelines: list[Timeline] = field(default_factory=list)
    transitions: dict[tuple[str, Transition], tuple[int, int]] = field(default_factory=dict)

    def add(self, other: Summary) -> None:
        """Add the sums of other groups."""
        self.histories += other.histories
        self.events += other.events
        self.accepted += other.accepted
        self.reasons += other.reasons
        self.profiles |= other.profiles
        self.findings = nsmallest(
            MOST_FINDINGS, self.findings + other.findings, itemgetter(0, 1, 2)
        )
        self.list_groups(other.rebalancing)
        self.list_timelines(other.timelines)
        for key, counts in other.transitions.items():
            self._count(key, *counts)

    def take(self, name: str, row: Row) -> None:
        """Add a row of a table."""
        if name == "verdict":
            self.histories[row["verdict"]] += 1
            self.events += row["events"]
            self.accepted += row["accepted"]
            self.profiles.add(row["profile"])
            if row["verdict"] == "undecided":
                self.reasons[row["reason"]] += 1
        elif name == "finding" and len(self.findings) < MOST_FINDINGS:
            self.findings.append(FindingRow._make(map(row.get, FindingRow._fields)))
        elif name == "transition":
            transition = Transition(row["before"], row["given"], tuple(row["rules"]), row["after"])
            self._count((row["profile"], transition), row["times"], row["histories"])

    def list_groups(self, more: list[Rebalancing]) -> None:
        """Add groups, and keep those that rebalance most."""
        self.rebalancing = nsmallest(MOST_NAMED, self.rebalancing + more)

    def list_timelines(self, more: list[Timeline]) -> None:
        """Add timelines of histories, and keep those with most rebalances."""
        self.timelines = nsmallest(MOST_GROUPS, self.timelines + more, itemgetter(0, 1))

    def _count(self, key: tuple[str, Transition], times: int, histories: int) -> None:
        before = self.transitions.get(key, (0, 0))
        self.transitions[key] = before[0] + times, before[1] + histories

    def transition_rows(self) -> list[Row]:
        """Rows of `TRANSITIONS`: what the histories cover, and the other explored transitions."""
        explored = {(name, each) for name in self.profiles for each in transitions(name)}
        return [
            {
                **transition._asdict(),
                "profile": profile,
                "times": times,
                "histories": histories,
                "explored": (profile, transition) in explored,
            }
            for profile, transition in sorted(explored | self.transitions.keys())
            for times, histories in [self.transitions.get((profile, transition), (0, 0))]
        ]

    def timeline(self) -> tuple[Row, ...]:
        """The rebalance timeline: in each source, the groups that rebalance most come first."""
        in_order = sorted(self.timelines, key=lambda each: (each.history[:2], each[:2]))
        return tuple(row for each in in_order for row in each.rows)


def with_summary(rows: Rows) -> Rows:
    """The rows of `CHECKED` of a partition, with one more: their summary."""
    summary = Summary()
    for group_id, of_group in groupby(rows, lambda row: row[1].get("group_id")):
        reasons: Counter[str] = Counter()
        for history, of_history in groupby(of_group, lambda row: _history(row[1])):
            timeline: list[Row] = []
            before, last_ms = reasons.total(), 0
            for name, row in of_history:
                yield name, row
                summary.take(name, row)
                if name == "rebalance":
                    reasons[row["reason"]] += 1
                    last_ms = max(last_ms, _end_ms(row))
                    timeline += [row][: MOST_REBALANCES - len(timeline)]
                elif name == "verdict":
                    last_ms = max(last_ms, row["at_ms"])
            if timeline:
                timeline.sort(key=itemgetter("began_ms"))
                empty = dict.fromkeys(REBALANCES.names)
                found = [{**empty, **row, "last_ms": last_ms} for row in timeline]
                summary.list_timelines([Timeline(before - reasons.total(), history, found)])
        if reasons:
            often = min(reasons, key=lambda reason: (-reasons[reason], reason))
            summary.list_groups([Rebalancing(-reasons.total(), str(group_id), often)])
    yield "summary", {"pickled": pickle.dumps(summary)}


def _history(row: Row) -> History:
    return row.get("source", ""), row.get("session", 0), row.get("group_id", "")


def _end_ms(rebalance: Row) -> int:
    """The last time that the row of a rebalance has."""
    times: Iterable[int | None] = map(rebalance.get, ("ended_ms", "joined_ms", "began_ms"))
    return next(ms for ms in times if ms is not None)


def added(pickled: Iterable[bytes]) -> Summary:
    """The sum of pickled summaries."""
    whole = Summary()
    for each in pickled:
        whole.add(pickle.loads(each))  # noqa: S301 - written by this process, or by its workers
    return whole
