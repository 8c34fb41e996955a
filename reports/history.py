"""The result of a history as text: the longest allowed order, and why no operation can follow."""

from __future__ import annotations

from typing import Final

from groupcheck.model.bodies import shown
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.step import Profile
from groupcheck.properties.compare import UNREVEALED
from groupcheck.properties.histories.history import NEVER, NS, Move, Operation, Refusal
from groupcheck.properties.histories.history_checker import GroupsChecked, Rejected
from groupcheck.properties.tolerances import Tolerances
from groupcheck.reports.formatting import bounded_lines, counted
from groupcheck.reports.messages import Names, answer_text, letters, step_text

MOST_MOVES: Final = 25  # of an order that are printed


def history_text(checked: GroupsChecked, tolerances: Tolerances | None) -> str:
    """The lines of `history`."""
    lines = _rejected(checked.rejected) if checked.rejected else [_accepted(checked), *checked.cut]
    if tolerances is None:
        lines.append("tolerances: none, all times are the coordinator's own")
    else:
        lines.append(_tolerances(tolerances))
    return bounded_lines(lines)


def _tolerances(tolerances: Tolerances) -> str:
    return (
        f"tolerances: a timer may fire up to {tolerances.late_ms} ms late, never early; an answer "
        f"that is missing after {tolerances.grace_ms} ms was not sent"
    )


def _accepted(checked: GroupsChecked) -> str:
    operations, groups = counted(checked.operations, "operation"), counted(checked.groups, "group")
    return f"{operations} of {groups}: every group has an order that Kafka allows"


def _rejected(rejected: Rejected) -> list[str]:
    profile, order = EVERY_PROFILE[rejected.profile], rejected.verdict.order
    requests = tuple(o.request for o in rejected.operations if not o.is_fault)
    names = {UNREVEALED: "an unknown id", **letters(requests)}
    took_effect = sum(move.operation is not None for move in order)
    group_id = shown(rejected.group_id)
    lines = [
        f"In group {group_id} no order of the operations is allowed by {profile.kafka}.",
        "",
        f"The longest allowed order has {took_effect} of {len(rejected.operations)} operations:",
    ]
    hidden = order[:-MOST_MOVES]
    if hidden:
        lines.append(f"  ... {counted(len(hidden), 'earlier step')}")
    for number, move in enumerate(order[len(hidden) :], len(hidden) + 1):
        lines += _move(number, move, rejected, profile, names)
    lines += ["", "Required next, but not allowed:"]
    for n in rejected.verdict.overdue:
        operation = rejected.operations[n]
        lines.append(f"  {_called(operation, _between(operation), names)}")
        if not operation.is_fault:
            lines.append(f"    <- {_answer(operation, names)}")
    lines += ["", f"Expected from {profile.kafka}:"]
    refusals = [_refusal(each, rejected, profile, names) for each in rejected.verdict.refusals]
    lines += [line for pair in dict.fromkeys(refusals) for line in pair]
    return [*lines, ""]


def _move(number: int, move: Move, rejected: Rejected, profile: Profile, names: Names) -> list[str]:
    """A step of the order, and the answers that it gives."""
    operations, n = rejected.operations, move.operation
    if n is None:
        stored = "an append completes" if "log/release" in move.applied else ""
        what = _because(profile, move.applied) or stored or "time passes"
    else:
        what = _called(operations[n], "", names)
    lines = [f"{number:4}. {move.at_ms:,} ms  {what}"]
    for answered in move.answered:
        operation = operations[answered]
        to = "" if answered == n else f"(to request {operation.request.request_id}) "
        lines.append(f"        <- {to}{_answer(operation, names)}")
    return lines


def _called(operation: Operation, when: str, names: Names) -> str:
    """An operation, perhaps with its time."""
    number = "" if operation.is_fault else f"request {operation.request.request_id}"
    what = step_text(operation.given, names)
    head = ", ".join(filter(None, (number, when)))
    return f"{head}: {what}" if head else what


def _between(operation: Operation) -> str:
    begins = f"{operation.begins / NS:,.3f}"
    if operation.silent is not None:
        return f"from {begins} ms, not answered until {operation.silent / NS:,.3f} ms"
    if operation.ends == NEVER:
        return f"from {begins} ms"
    return f"from {begins} to {operation.ends / NS:,.3f} ms"


def _answer(operation: Operation, names: Names) -> str:
    if operation.answer is not None:
        return answer_text(operation.answer, names)
    return "no answer" if operation.silent is not None else "an answer that was not recorded"


def _refusal(
    refusal: Refusal, rejected: Rejected, profile: Profile, names: Names
) -> tuple[str, ...]:
    """The answer that is allowed, and why."""
    about = rejected.operations[refusal.about].request.request_id
    if refusal.allowed is None:
        return (f"  request {about} has taken effect and is not answered yet",)
    if refusal.tried is None:
        when = "later"
    elif refusal.tried == refusal.about:
        when = "coming next"
    else:
        tried = rejected.operations[refusal.tried]
        comes = not tried.is_fault and f"request {tried.request.request_id} comes"
        when = f"once {comes or step_text(tried.given, names)}"
    return (
        f"  request {about}, {when}, is answered: {answer_text(refusal.allowed, names)}",
        f"    because {_because(profile, (refusal.reason,))}",
    )


def _because(profile: Profile, applied: tuple[str, ...]) -> str:
    """The rules as text, without those for the passing of time and the completion of appends."""
    rules = [profile.rules[name] for name in applied if name not in {"time/pass", "log/release"}]
    return "; ".join(f"{rule.words} [{rule.source}]" for rule in rules)
