"""A finding as text: numbered steps, the observed and the expected answer, and the reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from groupcheck.model.bodies import camel
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, Group, Offset
from groupcheck.model.step import Outcome, Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    GroupView,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberView,
    Request,
    ResponseBody,
)
from groupcheck.properties.compare import UNREVEALED, differing
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import Difference
from groupcheck.reports import explanations
from groupcheck.reports.formatting import (
    Names,
    answer_in_words,
    bounded,
    error_name,
    letters,
    member,
    passing,
    step_in_words,
    value,
    with_member_id,
    word,
)

REPORTED_SEPARATELY = "!! differs from Kafka: reported as a finding of its own"
DURING = {"open": "while opening the test", "close": "while closing the test"}
# The text for a kind of difference without fields to contrast.
KINDS = {"answered too early": "answered; Kafka would still be waiting"}


def title(finding: Finding) -> str:
    """The finding in one line."""
    if finding.failure is not None:
        return bounded(f"{finding.failure} ({_moment(finding)})")
    kafka = PROFILES[finding.sequence.profile].kafka
    return bounded(f"differs from {kafka}: {_difference_in_a_line(finding)}")


def story(finding: Finding) -> str:
    """The finding in full. Lines have no control characters and are cut where they are long."""
    names, shown = letters_of(finding), shown_names(finding)
    lines = [f"Finding {finding.finding_id}: {title(finding)}", "", *_broker(finding)]
    numbers = numbers_of(finding)
    for number, exchange in enumerate(finding.exchanges, 1):
        last = number == len(finding.exchanges)
        lines.append(f"{number:3}. {step_in_words(exchange.given, names)}")
        lines += _answers(exchange, numbers, shown, silent_is_odd=last)
        if exchange.passed_over:
            lines.append(f"       {REPORTED_SEPARATELY}")
    if finding.exchanges:
        lines.append("")
    lines += [*verdict(finding), *explanations.lines(finding)]
    return "".join(f"{bounded(line)}\n" for line in lines)


def answers_in_words(exchanges: tuple[Exchange, ...], symbols: Names) -> list[str]:
    """The answers to the last of some steps; `symbols` maps member ids to symbols."""
    names, numbers = _called(exchanges, symbols)
    if not exchanges:
        return []
    lines = _answers(exchanges[-1], numbers, names, silent_is_odd=True)
    return [line.strip().removeprefix("<- ").removeprefix(".. ") for line in lines]


def steps_in_words(exchanges: tuple[Exchange, ...], symbols: Names) -> list[str]:
    """Conforming steps with their answers; `symbols` is as in `answers_in_words`."""
    names, numbers = _called(exchanges, symbols)
    lines = []
    for number, exchange in enumerate(exchanges, 1):
        lines.append(f"{number:3}. {step_in_words(exchange.given, names)}")
        lines += _answers(exchange, numbers, names, silent_is_odd=False)
    return [bounded(line) for line in lines]


def _called(
    exchanges: tuple[Exchange, ...], symbols: Names
) -> tuple[dict[str, str], dict[int, int]]:
    """The letters of members, by symbol and by the port's ids, and the step of each request."""
    steps = tuple(exchange.given for exchange in exchanges)
    names = {UNREVEALED: "an unknown id", **letters(steps)}
    names = {real: names.get(symbol, symbol) for real, symbol in symbols.items()} | names
    return names, {s.request_id: n for n, s in enumerate(steps, 1) if isinstance(s, Request)}


def letters_of(finding: Finding) -> dict[str, str]:
    """The letters of members, by symbol."""
    return {UNREVEALED: "an unknown id", **letters(finding.sequence.steps)}


def shown_names(finding: Finding) -> dict[str, str]:
    """The same, also by the port's member ids."""
    names = letters_of(finding)
    return {real: names.get(symbol, symbol) for real, symbol in finding.names.items()} | names


def numbers_of(finding: Finding) -> dict[int, int]:
    """The step of each request, from 1."""
    return {
        e.given.request_id: n
        for n, e in enumerate(finding.exchanges, 1)
        if isinstance(e.given, Request)
    }


def _broker(finding: Finding) -> list[str]:
    """The broker settings that differ from the defaults of the version."""
    defaults = PROFILES[finding.sequence.profile].config._asdict()
    other = [
        f"{name} = {setting}"
        for name, setting in finding.sequence.broker.items()
        if setting != defaults[name.replace(".", "_")]
    ]
    return [f"Broker settings: {', '.join(other)}", ""] if other else []


def _moment(finding: Finding) -> str:
    """The last step, and the group state before it if it is known."""
    if finding.during:
        return DURING[finding.during]
    step = finding.sequence.steps[-1]
    if isinstance(step, Request):
        what = _named(step)
    else:
        what = passing(step.ms) if isinstance(step, Advance) else step_in_words(step, {})
    if finding.before is None:
        return what
    group = finding.before.group
    return f"{what} {'before the group exists' if group is None else f'in {group.state}'}"


def _named(request: Request) -> str:
    body = request.body
    how = f" {with_member_id(body)}" if isinstance(body, JoinGroupRequest) else ""
    return f"{request.api} v{request.api_version}{how}"


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
    if difference is None or outcome is None:
        return _moment(finding)
    names = letters_of(finding)
    if difference.field is not None:
        view = next(iter(finding.exchanges[-1].seen.groups or ()), None)
        shown = shown_names(finding)
        return (
            f"{_moment(finding)}: {difference.field} of the internal state is"
            f" {_view_field(view, difference.field, shown)} instead of"
            f" {_group_field(outcome.coordinator.group, difference.field, names)}"
        )
    return f"{_moment(finding)}{_to(finding, difference)}: {_contrast(difference, names)}"


def _to(finding: Finding, difference: Difference) -> str:
    """The request with the differing answer, if it is not the last step."""
    *earlier, _last = finding.sequence.steps
    return "".join(
        f", answer to {_named(step)}"
        for step in earlier
        if _is_request(step, difference.request_id)
    )


def _is_request(step: Input, request_id: int | None) -> TypeGuard[Request]:
    return isinstance(step, Request) and step.request_id == request_id


def _contrast(difference: Difference, names: Names) -> str:
    allowed, seen = difference.allowed, difference.seen
    if allowed is None or seen is None:
        return KINDS.get(difference.kind, difference.kind)
    fields = differing(allowed, seen)
    if fields[0] == "error_code":
        codes = [error_name(getattr(body, "error_code")) for body in (seen, allowed)]  # noqa: B009 - of any answer that has one
        return " instead of ".join(codes)
    if isinstance(allowed, JoinGroupResponse) and isinstance(seen, JoinGroupResponse):
        return _contrast_of_joins(fields, allowed, seen, names)
    if any(isinstance(getattr(seen, field), tuple) for field in fields):
        return f"{answer_in_words(seen, names)} instead of {answer_in_words(allowed, names)}"
    return _contrast_of_fields(fields, allowed, seen, names)


def _contrast_of_joins(
    fields: list[str], allowed: JoinGroupResponse, seen: JoinGroupResponse, names: Names
) -> str:
    if fields != ["members"]:
        fields = [field for field in fields if field != "members"]
        return _contrast_of_fields(fields, allowed, seen, names)
    if not seen.members:
        return "the member list is missing"
    return "a different member list" if allowed.members else "a member list for a follower"


def _contrast_of_fields(
    fields: list[str], allowed: ResponseBody, seen: ResponseBody, names: Names
) -> str:
    def shown(body: ResponseBody, field: str) -> str:
        said = getattr(body, field)
        if field in {"leader", "member_id"}:
            return member(said, names)
        return value(said) if said is None or isinstance(said, str | bytes) else str(said)

    return ", ".join(f"{camel(f)} {shown(seen, f)} instead of {shown(allowed, f)}" for f in fields)


def verdict(finding: Finding) -> list[str]:
    """The observed answer, and what Kafka allows."""
    numbers, names, shown = numbers_of(finding), letters_of(finding), shown_names(finding)
    if finding.failure is not None:
        when = f" {DURING[finding.during]}" if finding.during else ""
        lines = [f"The port failed{when}: {finding.failure.reason}."]
        if finding.failure.detail:
            said = finding.failure.detail.splitlines()
            lines += ["Its last output:", *(f"  | {line}" for line in said)]
        return lines + _instead(finding, numbers, names)
    profile = PROFILES[finding.sequence.profile]
    differences = finding.rejection.differences if finding.rejection else ()
    allowed = dict.fromkeys(
        (
            f"  {_allowed(difference, outcome, numbers, names)}",
            f"    because {_because(profile, difference, outcome)}",
        )
        for outcome, difference in zip(finding.allowed, differences, strict=True)
    )
    alternatives = [line for pair in allowed for line in ("  or", *pair)]
    return [
        "Observed:",
        f"  {_seen(finding, numbers, shown)}",
        f"Expected from {profile.kafka}:",
        *alternatives[1:],
    ]


def _instead(finding: Finding, numbers: dict[int, int], names: Names) -> list[str]:
    """What Kafka allows at the step at which the port failed."""
    profile = PROFILES[finding.sequence.profile]
    allowed = dict.fromkeys(
        (
            f"  {_answer(response.request_id, response.body, numbers, names)}",
            f"    because {_cited(profile, [reason])}",
        )
        for outcome in finding.allowed
        for response, reason in zip(outcome.responses, outcome.reasons, strict=True)
    )
    allowed = allowed or dict.fromkeys(
        ("  no answer yet", f"    because {_cited(profile, outcome.fired)}")
        for outcome in finding.allowed
    )
    lines = [line for pair in allowed for line in pair]
    return [f"Expected from {profile.kafka}:", *lines] if lines else []


def _seen(finding: Finding, numbers: dict[int, int], names: Names) -> str:
    difference = finding.difference
    if difference is not None and difference.field is not None:
        view = next(iter(finding.exchanges[-1].seen.groups or ()), None)
        return f"internal state: {difference.field} is {_view_field(view, difference.field, names)}"
    if difference is None or difference.request_id is None:
        return "more than one answer"
    return _answer(difference.request_id, difference.seen, numbers, names)


def internal_state(finding: Finding, field: str) -> tuple[str, str]:
    """A field of the internal state: the value of the port, and that of Kafka."""
    view = next(iter(finding.exchanges[-1].seen.groups or ()), None)
    group = finding.outcome.coordinator.group if finding.outcome else None
    return (
        _view_field(view, field, shown_names(finding)),
        _group_field(group, field, letters_of(finding)),
    )


def _allowed(
    difference: Difference, outcome: Outcome, numbers: dict[int, int], names: Names
) -> str:
    if difference.field is not None:
        value = _group_field(outcome.coordinator.group, difference.field, names)
        return f"internal state: {difference.field} is {value}"
    if difference.request_id is None:
        return "one answer"
    return _answer(difference.request_id, difference.allowed, numbers, names)


def _answer(
    request_id: int, body: ResponseBody | None, numbers: dict[int, int], names: Names
) -> str:
    what = "no answer" if body is None else answer_in_words(body, names)
    return f"to step {numbers[request_id]}: {what}"


def _because(profile: Profile, difference: Difference, outcome: Outcome) -> str:
    """The rule that gives the allowed answer; all applied rules if no answer is due."""
    rules = [
        reason
        for response, reason in zip(outcome.responses, outcome.reasons, strict=True)
        if response.request_id == difference.request_id
    ]
    return _cited(profile, rules or outcome.fired)


def _cited(profile: Profile, rules: Iterable[str]) -> str:
    """The rules in words; the passing of time only if no other rule applies."""
    telling = [name for name in rules if name != "time/pass"]
    if not telling:
        return f"time passes and no timer expires [{profile.rules['time/pass'].source}]"
    return "; ".join(f"{profile.rules[r].words} [{profile.rules[r].source}]" for r in telling)


def _group_field(group: Group | None, field: str, names: Names) -> str:
    if group is None:
        return "absent: the group does not exist"
    values = {
        "groupId": f"present, in state {group.state}",
        "state": group.state.value,
        "generationId": group.generation_id,
        "protocolType": word(group.protocol_type),
        "protocolName": word(group.protocol_name),
        "leader": _leader(group.leader, names),
        "members": [
            _member_field(
                MemberView(
                    m.member_id,
                    None,
                    m.session_timeout_ms,
                    m.rebalance_timeout_ms,
                    m.awaiting_join is not None,
                    m.awaiting_sync is not None,
                    m.assignment,
                ),
                names,
            )
            for m in group.members
        ],
        "pendingMembers": [member(p.member_id, names) for p in group.pending],
        "offsets": [_offset_field(t, i, offset) for (t, i), offset in group.offsets],
    }
    return _listed(values[field])


def _view_field(view: GroupView | None, field: str, names: Names) -> str:
    if view is None:
        return "absent: the port reports no such group"
    values = {
        "groupId": f"present, in state {word(view.state)}",
        "state": word(view.state),
        "generationId": view.generation_id,
        "protocolType": word(view.protocol_type),
        "protocolName": word(view.protocol_name),
        "leader": _leader(view.leader, names),
        "members": [_member_field(m, names) for m in view.members or ()],
        "pendingMembers": [member(p, names) for p in view.pending_members or ()],
        "offsets": [
            _offset_field(
                t.name,
                p.partition_index,
                Offset(p.committed_offset, p.committed_leader_epoch, p.committed_metadata or ""),
            )
            for t in view.offsets or ()
            for p in t.partitions
        ],
    }
    return _listed(values[field])


def _leader(leader: str | None, names: Names) -> str:
    return "null" if leader is None else member(leader, names)


def _member_field(shown: MemberView, names: Names) -> str:
    """A member of the internal state, with its fields under the protocol's names."""
    fields = {camel(name): said for name, said in shown._asdict().items() if said is not None}
    del fields["memberId"]
    said = (
        f"{k} {value(v) if isinstance(v, str | bytes) else _json(v)}" for k, v in fields.items()
    )
    return f"{member(shown.member_id, names)} ({', '.join(said)})"


def _json(said: object) -> str:
    return str(said).lower() if isinstance(said, bool) else str(said)


def _offset_field(topic: str, partition: int, offset: Offset) -> str:
    return (
        f"{word(topic)}/{partition} (committedOffset {offset.committed_offset},"
        f" committedLeaderEpoch {offset.committed_leader_epoch},"
        f" committedMetadata {value(offset.metadata)})"
    )


def _listed(shown: object) -> str:
    return (", ".join(shown) or "empty") if isinstance(shown, list) else str(shown)
