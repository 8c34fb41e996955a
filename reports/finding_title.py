"""The title of a finding: the step at which the port differs from Kafka, and the difference."""

from __future__ import annotations

from typing import Final, TypeGuard

from groupcheck.model.bodies import camel
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import JoinGroupRequest, JoinGroupResponse, Request, ResponseBody
from groupcheck.properties.compare import differing
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.oracle import Difference
from groupcheck.reports.finding_names import FindingNames
from groupcheck.reports.formatting import bounded, passing, value
from groupcheck.reports.messages import (
    Names,
    answer_text,
    error_name,
    member,
    step_text,
    with_member_id,
)
from groupcheck.reports.state_fields import inner_state

DURING: Final = {"open": "while opening the test", "close": "while closing the test"}
# The text for a kind of difference without fields to contrast.
KINDS: Final = {"answered too early": "answered; Kafka would still be waiting"}


def title(finding: Finding) -> str:
    """The finding in one line."""
    if finding.failure is not None:
        return bounded(f"{finding.failure} ({_moment(finding)})")
    kafka = finding.sequence.model.kafka
    return bounded(f"differs from {kafka}: {_cause(finding) or difference_in_a_line(finding)}")


def _cause(finding: Finding) -> str:
    """The deviation that explains the finding; empty if none does."""
    return "" if finding.cause is None else f"behaves as if {finding.cause}"


def difference_in_a_line(finding: Finding) -> str:
    """The last step, and how its answer or the inner state differs."""
    difference, outcome = finding.difference, finding.outcome
    if difference is None or outcome is None:
        return _moment(finding)
    if difference.field is not None:
        observed, allowed = inner_state(finding, difference.field)
        contrast = f"{difference.field} {observed} instead of {allowed}"
        return f"{_moment(finding)}: inner state: {contrast}"
    contrast = _contrast(difference, FindingNames.of(finding).symbols)
    return f"{_moment(finding)}{_to(finding, difference)}: {contrast}"


def _moment(finding: Finding) -> str:
    """The last step, and the group state before it if it is known."""
    if finding.during:
        return DURING[finding.during]
    step = finding.sequence.steps[-1]
    if isinstance(step, Request):
        what = _named(step)
    else:
        what = passing(step.ms) if isinstance(step, Advance) else step_text(step, {})
    if finding.before is None:
        return what
    group = finding.before.group
    return f"{what} {'before the group exists' if group is None else f'in {group.state}'}"


def _named(request: Request) -> str:
    body = request.body
    how = f" {with_member_id(body)}" if isinstance(body, JoinGroupRequest) else ""
    return f"{request.api} v{request.api_version}{how}"


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
        return f"{answer_text(seen, names)} instead of {answer_text(allowed, names)}"
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
        field_value = getattr(body, field)
        if field in {"leader", "member_id"}:
            return member(field_value, names)
        return (
            value(field_value)
            if field_value is None or isinstance(field_value, str | bytes)
            else str(field_value)
        )

    return ", ".join(f"{camel(f)} {shown(seen, f)} instead of {shown(allowed, f)}" for f in fields)
