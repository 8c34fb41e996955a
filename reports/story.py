"""A finding as a story: numbered steps, what came back, what should have, and why."""

from __future__ import annotations

from groupcheck.model.profiles import PROFILES, Profile
from groupcheck.model.state import Group
from groupcheck.model.step import Outcome
from groupcheck.model.vocabulary import GroupView, Request, Response
from groupcheck.properties.compare import normal
from groupcheck.properties.finding import Exchange, Finding, differing
from groupcheck.reports.words import Names, answer_in_words, letters, step_in_words


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
    requests = {
        e.given.request_id: e.given for e in finding.exchanges if isinstance(e.given, Request)
    }
    shown = {real: names.get(symbol, symbol) for real, symbol in finding.names.items()} | names
    for number, exchange in enumerate(finding.exchanges, 1):
        lines.append(f"{number:3}. {step_in_words(exchange.given, names)}")
        last = number == len(finding.exchanges)
        lines += _answers(exchange, requests, numbers, shown, silent_is_odd=last)
    lines += ["", *_verdict(finding, requests, numbers, names, shown)]
    return "\n".join(lines) + "\n"


def _answers(
    exchange: Exchange,
    requests: dict[int, Request],
    numbers: dict[int, int],
    names: Names,
    *,
    silent_is_odd: bool,
) -> list[str]:
    own = exchange.given.request_id if isinstance(exchange.given, Request) else None
    lines = []
    for response in exchange.seen.responses:
        number = numbers[response.request_id]
        to = "" if response.request_id == own else f"(to step {number}) "
        lines.append(f"       <- {to}{answer_in_words(response.body, names)}")
    if own is not None and own not in {r.request_id for r in exchange.seen.responses}:
        lines.append("       .. no answer" + ("" if silent_is_odd else " yet"))
    del requests
    return lines


def _difference_in_a_line(finding: Finding) -> str:
    difference = finding.difference
    if difference is None:
        return "unexplained"
    step = finding.sequence.steps[-1]
    names = letters(finding.sequence.steps)
    after = step_in_words(step, names) if isinstance(step, Request) else "time passes"
    if difference.kind == "another answer" and difference.lawful and difference.seen:
        fields = ", ".join(differing(difference.lawful, difference.seen))
        return f"{fields} of the answer when {after}"
    if difference.kind == "another inner state":
        return f"{difference.field} of the inner state after {after}"
    return f"{difference.kind} when {after}"


def _verdict(
    finding: Finding,
    requests: dict[int, Request],
    numbers: dict[int, int],
    names: Names,
    shown: Names,
) -> list[str]:
    if finding.failure is not None:
        lines = [f"The port failed: {finding.failure.reason}."]
        if finding.failure.detail:
            lines += [
                "What it said last:",
                *(f"  | {x}" for x in finding.failure.detail.splitlines()),
            ]
        return lines
    profile = PROFILES[finding.sequence.profile]
    lines = ["What came back:", f"  {_seen(finding, requests, numbers, shown)}"]
    lines.append(f"What {profile.kafka} does here:")
    said: dict[str, None] = {}
    for outcome, difference in zip(
        finding.lawful, finding.rejection.differences if finding.rejection else (), strict=True
    ):
        if difference.kind == "another inner state":
            lawful = _inner_state(outcome, difference.field or "", names)
        else:
            lawful = _lawful(outcome, requests, numbers, names)
        because = "; ".join(_reason(profile, name) for name in outcome.fired)
        said[f"  {lawful}\n    because {because}"] = None
    return [*lines, *said]


def _seen(
    finding: Finding, requests: dict[int, Request], numbers: dict[int, int], names: Names
) -> str:
    exchange = finding.exchanges[-1]
    difference = finding.difference
    if difference is not None and difference.kind == "another inner state":
        view = next(iter(exchange.seen.groups or ()), None)
        return f"inner state: {difference.field} is {_view_field(view, difference.field, names)}"
    return _responses(exchange.seen.responses, requests, numbers, names)


def _lawful(
    outcome: Outcome, requests: dict[int, Request], numbers: dict[int, int], names: Names
) -> str:
    return _responses(outcome.responses, requests, numbers, names)


def _responses(
    responses: tuple[Response, ...],
    requests: dict[int, Request],
    numbers: dict[int, int],
    names: Names,
) -> str:
    identity = {name: name for name in names}
    texts = []
    for response in responses:
        request = requests[response.request_id]
        body = normal(response.body, {**identity}, request.api_version)
        texts.append(f"to step {numbers[response.request_id]}: {answer_in_words(body, names)}")
    return "; ".join(texts) or "no answer"


def _reason(profile: Profile, name: str) -> str:
    rule = profile.rules[name]
    return f"{rule.says} [{rule.source}]"


def _inner_state(outcome: Outcome, field: str, names: Names) -> str:
    group = outcome.coordinator.group
    return f"inner state: {field} is {_group_field(group, field, names)}"


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
