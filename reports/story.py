"""A finding as a story: numbered steps, what came back, what should have, and why."""

from __future__ import annotations

from collections.abc import Iterable

from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Group
from groupcheck.model.step import Outcome, Profile
from groupcheck.model.vocabulary import GroupView, Request, ResponseBody
from groupcheck.properties.finding import Exchange, Finding, differing
from groupcheck.properties.oracle import Difference
from groupcheck.reports.words import Names, answer_in_words, error_name, letters, step_in_words


def title(finding: Finding) -> str:
    """The finding in one line."""
    if finding.failure is not None:
        return str(finding.failure)
    kafka = PROFILES[finding.sequence.profile].kafka
    return f"not as {kafka}: {_difference_in_a_line(finding)}"


def story(finding: Finding) -> str:
    """The finding in full, for a person."""
    names = letters(finding.sequence.steps)
    lines = [f"Finding {finding.finding_id}: {title(finding)}", ""]
    numbers = {
        e.given.request_id: n
        for n, e in enumerate(finding.exchanges, 1)
        if isinstance(e.given, Request)
    }
    shown = {real: names.get(symbol, symbol) for real, symbol in finding.names.items()} | names
    for number, exchange in enumerate(finding.exchanges, 1):
        lines.append(f"{number:3}. {step_in_words(exchange.given, names)}")
        last = number == len(finding.exchanges)
        lines += _answers(exchange, numbers, shown, silent_is_odd=last)
    lines += ["", *_verdict(finding, numbers, names, shown)]
    return "\n".join(lines) + "\n"


def _answers(
    exchange: Exchange, numbers: dict[int, int], names: Names, *, silent_is_odd: bool
) -> list[str]:
    own = exchange.given.request_id if isinstance(exchange.given, Request) else None
    lines = []
    for response in exchange.seen.responses:
        number = numbers[response.request_id]
        to = "" if response.request_id == own else f"(to step {number}) "
        lines.append(f"       <- {to}{answer_in_words(response.body, names)}")
    if own is not None and own not in {r.request_id for r in exchange.seen.responses}:
        lines.append("       .. no answer" + ("" if silent_is_odd else " yet"))
    return lines


def _difference_in_a_line(finding: Finding) -> str:
    difference, outcome = finding.difference, finding.outcome
    step = finding.sequence.steps[-1]
    if difference is None or outcome is None:
        return step_in_words(step, {})
    names = letters(finding.sequence.steps)
    if difference.field is not None:
        view = next(iter(finding.exchanges[-1].seen.groups or ()), None)
        shown = {real: names.get(symbol, symbol) for real, symbol in finding.names.items()}
        return (
            f"{difference.field} of the inner state is"
            f" {_view_field(view, difference.field, shown)} instead of"
            f" {_group_field(outcome.coordinator.group, difference.field, names)}"
        )
    answered = [
        s
        for s in finding.sequence.steps
        if isinstance(s, Request) and s.request_id == difference.request_id
    ]
    what = " ".join(f"{request.api} v{request.api_version}:" for request in answered)
    return f"{what} {_contrast(difference, names)}"


def _contrast(difference: Difference, names: Names) -> str:
    lawful, seen = difference.lawful, difference.seen
    if lawful is None or seen is None:
        return difference.kind
    fields = differing(lawful, seen)
    if fields[0] == "error_code":
        codes = [error_name(getattr(body, "error_code")) for body in (seen, lawful)]  # noqa: B009 - of any answer that has one
        return " instead of ".join(codes)
    if fields == ["topics"]:
        return f"{answer_in_words(seen, names)} instead of {answer_in_words(lawful, names)}"
    return ", ".join(
        f"{field} {getattr(seen, field)!r} instead of {getattr(lawful, field)!r}"
        for field in fields
        if field != "members"
    ) or "a member list" + (" for a follower" if seen.members else " is missing")  # type: ignore[union-attr]


def _verdict(finding: Finding, numbers: dict[int, int], names: Names, shown: Names) -> list[str]:
    if finding.failure is not None:
        lines = [f"The port failed: {finding.failure.reason}."]
        if finding.failure.detail:
            said = finding.failure.detail.splitlines()
            lines += ["What it said last:", *(f"  | {line}" for line in said)]
        return lines + _instead(finding, numbers, names)
    profile = PROFILES[finding.sequence.profile]
    differences = finding.rejection.differences if finding.rejection else ()
    lawful = dict.fromkeys(
        f"  {_lawful(difference, outcome, numbers, names)}\n"
        f"    because {_because(profile, difference, outcome)}"
        for outcome, difference in zip(finding.lawful, differences, strict=True)
    )
    return [
        "What came back:",
        f"  {_seen(finding, numbers, shown)}",
        f"What {profile.kafka} does here:",
        "\n  or\n".join(lawful),
    ]


def _instead(finding: Finding, numbers: dict[int, int], names: Names) -> list[str]:
    """What Kafka does at the step at which a port failed."""
    profile = PROFILES[finding.sequence.profile]
    lawful = dict.fromkeys(
        f"  {_answer(response.request_id, response.body, numbers, names)}\n"
        f"    because {_cited(profile, [reason])}"
        for outcome in finding.lawful
        for response, reason in zip(outcome.responses, outcome.reasons, strict=True)
    )
    lawful = lawful or dict.fromkeys(
        f"  no answer yet\n    because {_cited(profile, outcome.fired)}"
        for outcome in finding.lawful
    )
    return [f"What {profile.kafka} does here:", *lawful] if lawful else []


def _seen(finding: Finding, numbers: dict[int, int], names: Names) -> str:
    difference = finding.difference
    if difference is not None and difference.field is not None:
        view = next(iter(finding.exchanges[-1].seen.groups or ()), None)
        return f"inner state: {difference.field} is {_view_field(view, difference.field, names)}"
    if difference is None or difference.request_id is None:
        return "more than one answer"
    return _answer(difference.request_id, difference.seen, numbers, names)


def _lawful(difference: Difference, outcome: Outcome, numbers: dict[int, int], names: Names) -> str:
    if difference.field is not None:
        value = _group_field(outcome.coordinator.group, difference.field, names)
        return f"inner state: {difference.field} is {value}"
    if difference.request_id is None:
        return "one answer"
    return _answer(difference.request_id, difference.lawful, numbers, names)


def _answer(
    request_id: int, body: ResponseBody | None, numbers: dict[int, int], names: Names
) -> str:
    what = "no answer" if body is None else answer_in_words(body, names)
    return f"to step {numbers[request_id]}: {what}"


def _because(profile: Profile, difference: Difference, outcome: Outcome) -> str:
    """The rule that gave the lawful answer; if there is none to give, all that were applied."""
    rules = [
        reason
        for response, reason in zip(outcome.responses, outcome.reasons, strict=True)
        if response.request_id == difference.request_id
    ]
    return _cited(profile, rules or outcome.fired)


def _cited(profile: Profile, rules: Iterable[str]) -> str:
    return "; ".join(f"{profile.rules[r].says} [{profile.rules[r].source}]" for r in rules)


def _group_field(group: Group | None, field: str, names: Names) -> str:
    if group is None:
        return "absent: there is no such group"
    values = {
        "state": group.state.value,
        "generationId": group.generation_id,
        "protocolType": group.protocol_type,
        "protocolName": group.protocol_name,
        "leader": names.get(group.leader or "", group.leader),
        "members": [
            f"{names.get(m.member_id, m.member_id)}"
            f"{' (in join)' if m.awaiting_join is not None else ''}"
            f"{' (in sync)' if m.awaiting_sync is not None else ''}"
            f"{f' assigned {m.assignment!r}' if m.assignment else ''}"
            for m in group.members
        ],
        "pendingMembers": [names.get(p.member_id, p.member_id) for p in group.pending],
        "offsets": [f"{t}/{i}: {o.committed_offset}" for (t, i), o in group.offsets],
    }
    return _plain(values.get(field, group.state.value))


def _view_field(view: GroupView | None, field: str | None, names: Names) -> str:
    if view is None:
        return "absent: the port shows no such group"
    values = {
        "state": view.state,
        "generationId": view.generation_id,
        "protocolType": view.protocol_type,
        "protocolName": view.protocol_name,
        "leader": names.get(view.leader or "", view.leader),
        "members": [
            f"{names.get(m.member_id, m.member_id)}"
            f"{' (in join)' if m.awaiting_join else ''}"
            f"{' (in sync)' if m.awaiting_sync else ''}"
            f"{f' assigned {m.assignment!r}' if m.assignment else ''}"
            for m in view.members or ()
        ],
        "pendingMembers": [names.get(p, p) for p in view.pending_members or ()],
        "offsets": [
            f"{t.name}/{p.partition_index}: {p.committed_offset}"
            for t in view.offsets or ()
            for p in t.partitions
        ],
    }
    return _plain(values.get(field or "", view.state))


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "empty"
    return "none" if value is None else str(value)
