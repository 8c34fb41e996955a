"""Compares a result with a baseline: new, known and fixed findings, and lost coverage."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.properties.coverage.kind import SHOWN
from groupcheck.properties.result import InstanceCoverage
from groupcheck.reports.formatting import counted
from groupcheck.reports.merging import key, same_graph
from groupcheck.reports.record import FindingRecord, ResultRecord


class Lost(NamedTuple):
    """The transitions of an instance that the baseline covers and the result does not."""

    name: str
    transitions: tuple[int, ...]

    @property
    def how_many(self) -> str:
        """The number of transitions, as text."""
        return counted(len(self.transitions), "transition")


class Changes(NamedTuple):
    """The changes since the baseline. A known deviation of the port is a known finding, too.

    `not_compared` are instances whose model has changed; `lost_fails` says whether lost coverage
    is a failure.
    """

    new: tuple[FindingRecord, ...]
    known: tuple[FindingRecord, ...] = ()
    gone: tuple[FindingRecord, ...] = ()
    lost: tuple[Lost, ...] = ()
    not_compared: tuple[str, ...] = ()
    compared: bool = False
    lost_fails: bool = False

    @property
    def listed(self) -> list[tuple[FindingRecord, bool]]:
        """The findings of the result, the new ones first, and whether each is known."""
        return [*((each, False) for each in self.new), *((each, True) for each in self.known)]

    @property
    def fails(self) -> bool:
        """Whether CI should fail."""
        return bool(self.new or (self.lost and self.lost_fails))


def changes(now: ResultRecord, before: ResultRecord | None, *, lost_fails: bool = False) -> Changes:
    """Compare a result with a baseline, if there is one."""
    old_ids = {finding.id for finding in before.findings} if before else set()
    known = tuple(each for each in now.findings if each.known or each.id in old_ids)
    new = tuple(each for each in now.findings if each not in known)
    if before is None:
        return Changes(new, known)
    ids = {finding.id for finding in now.findings}
    lost, not_compared = _lost(now, before)
    return Changes(
        new,
        known,
        tuple(finding for finding in before.findings if finding.id not in ids),
        lost,
        not_compared,
        compared=True,
        lost_fails=lost_fails,
    )


def _lost(now: ResultRecord, before: ResultRecord) -> tuple[tuple[Lost, ...], tuple[str, ...]]:
    instances = {key(each): each for each in now.instances}
    lost, not_compared = [], []
    for old in before.instances:
        new = instances.get(key(old))
        if new is not None and not same_graph(old, new):
            not_compared.append(old.label)
        elif numbers := _lost_of(old, new):
            lost.append(Lost(old.label, numbers))
    return tuple(lost), tuple(not_compared)


def _lost_of(old: InstanceCoverage, new: InstanceCoverage | None) -> tuple[int, ...]:
    """The numbers of the transitions that are covered in the old instance alone."""
    outcomes = "u" * len(old.outcomes) if new is None else new.outcomes
    return tuple(
        number
        for number, (was, now_is) in enumerate(zip(old.outcomes, outcomes, strict=True))
        if was in SHOWN and now_is not in SHOWN
    )


def lines(changed: Changes) -> list[str]:
    """The changes as lines for the console; none without a baseline."""
    if not changed.compared:
        return []
    findings = {"new": changed.new, "known": changed.known, "gone": changed.gone}
    found = [
        f"{name:<11}{counted(len(each), 'finding')}: {', '.join(f.id for f in each)}"
        for name, each in findings.items()
        if each
    ]
    found += [
        f"lost       {each.name}: {each.how_many} covered by the baseline" for each in changed.lost
    ]
    if changed.not_compared:
        names = ", ".join(changed.not_compared)
        found.append(f"skipped    not comparable, the model has changed: {names}")
    return found or ["baseline   no change"]
