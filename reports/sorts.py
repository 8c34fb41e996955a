"""What results that are of no verification say for themselves: a verdict, a line or two, cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from groupcheck.reports.saved import Found, Saved
from groupcheck.reports.words import counted


class Case(NamedTuple):
    """Something that was looked at by itself; what was `skipped` of it has a reason."""

    sort: str
    name: str
    skipped: str = ""


def verdict(result: Saved) -> str:
    """The verdict in one line."""
    found = counted(len(result.findings) + result.more_findings, "finding")
    if result.check is not None:
        check = result.check
        return (
            f"{counted(check.groups, 'group')}: {check.accepted:,} accepted,"
            f" {check.rejected:,} rejected, {check.undecided:,} undecided"
        )
    if result.exploration is not None:
        return (
            f"{found} in {result.port}" if result.findings else f"{result.port} is as it should be"
        )
    if result.findings:
        return f"diverges from {result.kafka}: {found}"
    return f"{_ran(result)}, each answered as Kafka would"


def lines(result: Saved) -> list[str]:
    """What was done, and what was told of it."""
    judged = "" if result.exploration else f", judged as {result.kafka}"
    return [f"{result.command:<11}{result.port}{judged}", *result.lines]


def briefly(result: Saved, findings: tuple[Found, ...]) -> tuple[Found, ...]:
    """Those of the findings that are told in full on a screen, beside the lines of the result.

    Whole histories of groups are long, and what is wrong with the model is in the lines.
    """
    if result.exploration is not None:
        return ()
    return findings[:1] if result.check is not None else findings


def figure(result: Saved) -> str:
    """It in a few words, as a badge has them."""
    if result.check is not None:
        rejected = f", {result.check.rejected:,} rejected" if result.check.rejected else ""
        return f"{counted(result.check.groups, 'group')}{rejected}"
    found = counted(len(result.findings), "finding") if result.findings else ""
    if result.exploration is None:
        return found or counted(result.steps, "step")
    states = counted(sum(space.states for space in result.exploration.spaces), "state")
    return f"{states}, {found}" if found else states


def cases(result: Saved) -> Iterator[Case]:
    """Beside the run and what was found: spaces and laws of the model, groups of a check."""
    if result.exploration is not None:
        explored = result.exploration
        yield from (Case("spaces", f"{each.name}/{explored.members}") for each in explored.spaces)
        for law in explored.laws or ():
            if law.holds or law.known:
                why = "" if law.holds else "broken, as Kafka of this version is known to"
                yield Case("laws", law.name, why)
    if result.check is not None:
        check = result.check
        yield Case("groups", f"{counted(check.accepted, 'group')} accepted")
        for reason, times in check.reasons.items():
            yield Case("groups", f"{counted(times, 'group')} undecided", reason)


def _ran(result: Saved) -> str:
    steps = counted(result.steps, "step")
    return f"{steps} of {counted(result.sequences, 'group')}" if result.sequences else steps
