"""The verdict, summary and test cases of a `replay`, `check` or `explore` result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from groupcheck.reports.formatting import counted
from groupcheck.reports.record import FindingRecord, ResultRecord


class Case(NamedTuple):
    """A test case of JUnit XML; `skipped` has the reason if it is."""

    kind: str
    name: str
    skipped: str = ""


def verdict(result: ResultRecord) -> str:
    """The verdict in one line."""
    found = counted(len(result.new) + result.findings_truncated, "finding")
    if result.check is not None:
        check = result.check
        return (
            f"{counted(check.groups, 'group')}: {check.accepted:,} accepted,"
            f" {check.rejected:,} rejected, {check.undecided:,} undecided"
        )
    if result.exploration is not None:
        return f"{found if result.new else 'no errors'} in {result.port}"
    if result.findings:
        return f"diverges from {result.kafka}: {found}"
    return f"{_ran(result)}, each answered as Kafka would"


def lines(result: ResultRecord) -> list[str]:
    """The lines before the verdict."""
    against = "" if result.exploration else f", checked against {result.kafka}"
    return [f"{result.command:<11}{result.port}{against}", *result.lines]


def briefly(result: ResultRecord, findings: tuple[FindingRecord, ...]) -> tuple[FindingRecord, ...]:
    """The findings to print in full: histories of groups are long, errors are in the lines."""
    if result.exploration is not None:
        return ()
    return findings[:1] if result.check is not None else findings


def figure(result: ResultRecord) -> str:
    """The result in a few words, for a badge."""
    if result.check is not None:
        rejected = f", {result.check.rejected:,} rejected" if result.check.rejected else ""
        return f"{counted(result.check.groups, 'group')}{rejected}"
    found = counted(len(result.new), "finding") if result.new else ""
    if result.exploration is None:
        return found or counted(result.steps, "step")
    states = counted(sum(each.states for each in result.exploration.instances), "state")
    return f"{states}, {found}" if found else states


def cases(result: ResultRecord) -> Iterator[Case]:
    """The cases beside the run and its findings: instances, properties, groups."""
    if result.exploration is not None:
        explored = result.exploration
        yield from (
            Case("instances", f"{each.name}/{explored.members}") for each in explored.instances
        )
        yield from (Case("properties", p.name) for p in explored.properties or () if p.holds)
    if result.check is not None:
        check = result.check
        yield Case("groups", f"{counted(check.accepted, 'group')} accepted")
        for reason, times in check.reasons.items():
            yield Case("groups", f"{counted(times, 'group')} undecided", reason)


def _ran(result: ResultRecord) -> str:
    steps = counted(result.steps, "step")
    return f"{steps} of {counted(result.sequences, 'group')}" if result.sequences else steps
