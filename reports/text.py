"""A finding as text: numbered steps, the observed and the expected answer, and the reasons."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, TypeGuard

from groupcheck.model.bodies import Json, camel, encode
from groupcheck.model.engine.edits import Sometimes
from groupcheck.model.engine.rules import Behaviour, VersionRule
from groupcheck.model.exploring.canonical import rename
from groupcheck.model.profiles import PARTS
from groupcheck.model.profiles.minors import EVERY_PROFILE
from groupcheck.model.state import Advance
from groupcheck.model.step import Outcome, Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
    ResponseBody,
)
from groupcheck.properties.compare import UNREVEALED, differing
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import Difference
from groupcheck.properties.sequence import step_message
from groupcheck.reports import explanations
from groupcheck.reports.formatting import bounded, bounded_lines, passing, value
from groupcheck.reports.internal_state import group_field, view_field
from groupcheck.reports.messages import (
    Names,
    answer_in_words,
    answers_in_lines,
    error_name,
    letters,
    member,
    numbered_step,
    step_in_words,
    with_member_id,
)

DURING = {"open": "while opening the test", "close": "while closing the test"}
# The text for a kind of difference without fields to contrast.
KINDS = {"answered too early": "answered; Kafka would still be waiting"}


class Labels(NamedTuple):
    """The names of the members and requests of a finding.

    `letters` are those of members by symbol, `shown` also by the port's member ids; `steps` has the
    step of each request, from 1.
    """

    letters: dict[str, str]
    shown: dict[str, str]
    steps: dict[int, int]

    @classmethod
    def of(cls, finding: Finding) -> Labels:
        """Those of a finding."""
        return cls.made(finding.sequence.steps, finding.exchanges, finding.names)

    @classmethod
    def made(
        cls, given: tuple[Input, ...], exchanges: tuple[Exchange, ...], symbols: Names
    ) -> Labels:
        """Those of some steps; `symbols` maps member ids to symbols."""
        names = {UNREVEALED: "an unknown id", **letters(given)}
        shown = {real: names.get(symbol, symbol) for real, symbol in symbols.items()} | names
        done = [exchange.given for exchange in exchanges]
        steps = {s.request_id: n for n, s in enumerate(done, 1) if isinstance(s, Request)}
        return cls(names, shown, steps)


def title(finding: Finding) -> str:
    """The finding in one line."""
    if finding.failure is not None:
        return bounded(f"{finding.failure} ({_moment(finding)})")
    kafka = finding.sequence.model.kafka
    return bounded(f"differs from {kafka}: {cause(finding) or _difference_in_a_line(finding)}")


def cause(finding: Finding) -> str:
    """The deviation that explains the finding; empty if none does."""
    return "" if finding.cause is None else f"behaves as if {finding.cause}"


def story(finding: Finding) -> str:
    """The finding in full. Lines have no control characters and are cut where they are long."""
    labels = Labels.of(finding)
    lines = [f"Finding {finding.finding_id}: {title(finding)}", *_cause(finding), ""]
    lines += [*_broker(finding), *_excused(finding)]
    for number, exchange in enumerate(finding.exchanges, 1):
        last = number == len(finding.exchanges)
        lines += _step(number, exchange, labels, labels.letters, silent_is_odd=last)
    if finding.exchanges:
        lines.append("")
    return bounded_lines([*lines, *verdict(finding), *explanations.lines(finding)])


def answers_in_words(exchanges: tuple[Exchange, ...], symbols: Names) -> list[str]:
    """The answers to the last of some steps; `symbols` maps member ids to symbols."""
    if not exchanges:
        return []
    lines = _answers(exchanges[-1], _labels_of(exchanges, symbols), silent_is_odd=True)
    return [line.removeprefix("<- ").removeprefix(".. ") for line in lines]


def steps_in_words(exchanges: tuple[Exchange, ...], symbols: Names) -> list[str]:
    """Conforming steps with their answers; `symbols` is as in `answers_in_words`."""
    labels = _labels_of(exchanges, symbols)
    return [
        bounded(line)
        for number, exchange in enumerate(exchanges, 1)
        for line in _step(number, exchange, labels, labels.shown, silent_is_odd=False)
    ]


def raw_messages(exchanges: tuple[Exchange, ...], symbols: Names) -> list[str]:
    """The messages in the form of the port protocol; `symbols` is as in `answers_in_words`."""
    real = {symbol: member_id for member_id, symbol in symbols.items()}
    versions: dict[int, int] = {}
    lines: list[str] = []
    for given, seen in exchanges:
        sent = given
        if isinstance(given, Request):
            versions[given.request_id] = given.api_version
            sent = given._replace(body=rename(given.body, real, 0))
        lines.append(f"> {_json(step_message(sent))}")
        for request_id, body in seen.responses:
            encoded = encode(body, versions[request_id])
            message = {"type": "response", "id": request_id, "body": encoded}
            lines.append(f"< {_json(message)}")
    return lines


def _json(message: Json) -> str:
    return json.dumps(message, separators=(",", ":"))


def _labels_of(exchanges: tuple[Exchange, ...], symbols: Names) -> Labels:
    return Labels.made(tuple(exchange.given for exchange in exchanges), exchanges, symbols)


def _step(
    number: int, exchange: Exchange, labels: Labels, names: Names, *, silent_is_odd: bool
) -> list[str]:
    answers = _answers(exchange, labels, silent_is_odd=silent_is_odd)
    return numbered_step(number, step_in_words(exchange.given, names), answers)


def _answers(exchange: Exchange, labels: Labels, *, silent_is_odd: bool) -> list[str]:
    given, responses = exchange.given, exchange.seen.responses
    lines = answers_in_lines(given, responses, labels.shown, labels.steps)
    if isinstance(given, Request) and given.request_id not in {r.request_id for r in responses}:
        lines.append(".. no answer" + ("" if silent_is_odd else " yet"))
    return lines


def _cause(finding: Finding) -> list[str]:
    """The rules that a deviation edits, and the difference by which the last step shows it."""
    if finding.cause is None:
        return []
    return [*map(_stated, rules_of(finding)), f"Seen: {_difference_in_a_line(finding)}"]


def _stated(rule: VersionRule) -> str:
    if not rule.source:
        return f"`{rule.id}` is not Kafka's: {rule.words}"
    return f"Kafka: `{rule.id}`: {rule.words} [{rule.source}]"


def rules_of(finding: Finding) -> list[VersionRule]:
    """Kafka's rules, procedure or behaviour that the deviation of a finding edits.

    A part that the version lacks has no source.
    """
    version = finding.sequence.profile
    known = EVERY_PROFILE[version].rules
    edit = finding.cause.of if isinstance(finding.cause, Sometimes) else finding.cause
    names = [getattr(edit, each, "") for each in ("rule", "first", "second", "behaviour")]
    found = [known[each] for each in names if each in known]
    others = (part for part in PARTS if isinstance(part, Behaviour) and part.name in names)
    found += (VersionRule(p.name, p.words, p.sources.get(version, ""), (), ()) for p in others)
    return found


def _excused(finding: Finding) -> list[str]:
    """The other deviations of the port that the steps show."""
    others = finding.sequence.deviations
    if not others:
        return []
    return ["On the way the port also behaves as if", *(f"  {other}" for other in others), ""]


def _broker(finding: Finding) -> list[str]:
    """The broker settings that differ from the defaults of the version."""
    defaults = finding.sequence.model.config._asdict()
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


def _difference_in_a_line(finding: Finding) -> str:
    difference, outcome = finding.difference, finding.outcome
    if difference is None or outcome is None:
        return _moment(finding)
    if difference.field is not None:
        observed, allowed = internal_state(finding, difference.field)
        return (
            f"{_moment(finding)}: {difference.field} of the internal state is {observed} instead of"
            f" {allowed}"
        )
    contrast = _contrast(difference, Labels.of(finding).letters)
    return f"{_moment(finding)}{_to(finding, difference)}: {contrast}"


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
    labels = Labels.of(finding)
    if finding.failure is not None:
        when = f" {DURING[finding.during]}" if finding.during else ""
        lines = [f"The port failed{when}: {finding.failure.reason}."]
        if finding.failure.detail:
            said = finding.failure.detail.splitlines()
            lines += ["Its last output:", *(f"  | {line}" for line in said)]
        return lines + _instead(finding, labels)
    profile = finding.sequence.model
    differences = finding.rejection.differences if finding.rejection else ()
    allowed = dict.fromkeys(
        (
            f"  {_allowed(difference, outcome, labels)}",
            f"    because {_because(profile, difference, outcome)}",
        )
        for outcome, difference in zip(finding.allowed, differences, strict=True)
    )
    alternatives = [line for pair in allowed for line in ("  or", *pair)]
    return [
        "Observed:",
        f"  {_seen(finding, labels)}",
        f"Expected from {profile.kafka}:",
        *alternatives[1:],
    ]


def _instead(finding: Finding, labels: Labels) -> list[str]:
    """What Kafka allows at the step at which the port failed."""
    profile = finding.sequence.model
    allowed = dict.fromkeys(
        (
            f"  {_answer(response.request_id, response.body, labels.steps, labels.letters)}",
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


def _seen(finding: Finding, labels: Labels) -> str:
    difference = finding.difference
    if difference is not None and difference.field is not None:
        observed, _ = internal_state(finding, difference.field)
        return f"internal state: {difference.field} is {observed}"
    if difference is None or difference.request_id is None:
        return "more than one answer"
    return _answer(difference.request_id, difference.seen, labels.steps, labels.shown)


def internal_state(finding: Finding, field: str) -> tuple[str, str]:
    """A field of the internal state: the value of the port, and that of Kafka."""
    labels = Labels.of(finding)
    view = next(iter(finding.exchanges[-1].seen.groups or ()), None)
    group = finding.outcome.coordinator.group if finding.outcome else None
    return view_field(view, field, labels.shown), group_field(group, field, labels.letters)


def _allowed(difference: Difference, outcome: Outcome, labels: Labels) -> str:
    if difference.field is not None:
        value = group_field(outcome.coordinator.group, difference.field, labels.letters)
        return f"internal state: {difference.field} is {value}"
    if difference.request_id is None:
        return "one answer"
    return _answer(difference.request_id, difference.allowed, labels.steps, labels.letters)


def _answer(request_id: int, body: ResponseBody | None, steps: dict[int, int], names: Names) -> str:
    what = "no answer" if body is None else answer_in_words(body, names)
    return f"to step {steps[request_id]}: {what}"


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
    applied = tuple(rules)
    others = [name for name in applied if name != "time/pass"]
    if not applied:
        return "no rule applies"
    if not others:
        return f"time passes and no timer expires [{profile.rules['time/pass'].source}]"
    return "; ".join(f"{profile.rules[r].words} [{profile.rules[r].source}]" for r in others)
