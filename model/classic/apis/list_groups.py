"""ListGroups (2.7 GroupCoordinator.scala:806): at most the one group of the model is listed."""

from __future__ import annotations

from typing import Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.rules.guards import Checks, body_of, reply_with
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.committed import read
from groupcheck.model.engine.rules import Effect, Guard, rule, table
from groupcheck.model.vocabulary import ErrorCode, Request

API: Final = "ListGroups"


def list_groups(step: Step, request: Request) -> None:
    """The API."""
    read(step, LIST, request)


# From this version on, groups are listed with their type, and requests may filter by it (KIP-848).
TYPES_SINCE: Final = 5
CLASSIC: Final = "classic"

# The characters that Java's trim removes from the ends of a string: the space and all below it.
BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))

_body: Final = body_of(kafka.ListGroupsRequest)


def _is_other_state(step: Step, request: Request) -> bool:
    wanted = _body(request).states_filter
    return bool(wanted) and step.existing.state.value not in wanted


def _is_other_state_in_any_case(step: Step, request: Request) -> bool:
    wanted = {state.lower().strip(BLANKS) for state in _body(request).states_filter}
    return bool(wanted) and step.existing.state.value.lower() not in wanted


def _is_other_type(_step: Step, request: Request) -> bool:
    wanted = {name.lower() for name in _body(request).types_filter}
    return bool(wanted) and CLASSIC not in wanted


_reply: Final = reply_with(kafka.ListGroupsResponse)
_check: Final = Checks(_reply)


def _list(step: Step, request: Request, *groups: kafka.ListedGroup) -> None:
    step.answer(request.request_id, kafka.ListGroupsResponse(ErrorCode.NONE, groups))


def _list_group(step: Step, request: Request) -> None:
    group = step.existing
    group_type = CLASSIC if request.api_version >= TYPES_SINCE else ""
    protocol_type = group.protocol_type or ""
    _list(step, request, kafka.ListedGroup(GROUP_ID, protocol_type, group.state.value, group_type))


def _list_unwritten(step: Step, request: Request) -> None:
    # The state as DescribeGroups returns it.
    if step.choose(Choice.NOT_PERSISTED, [True, False]):
        _list(step, request)
    else:
        step.group = step.existing._replace(not_persisted=False)
        _list_group(step, request)


_LIST_NOTHING: Final = Effect("list no group", _list)
LIST: Final = table(
    "ListGroups",
    API,
    # A broker lists its own groups, and need not be the coordinator of any group.
    _check("list/not-active", at("GC:447", "GC:475", "GC:859", "GCS:1040")),
    _check("list/loading", at("GC:449", "GC:477", "GC:810", "CR:2207")),
    _check("list/no-group", at("GC:450", "GC:478", "GC:813", "GMM:627"), _LIST_NOTHING),
    rule(
        "list/other-state",
        "the group's state is not among the requested states (case-sensitive)",
        at("", "", "GC:815", "GMM:621"),
        Guard("the group's state is not among the requested states", _is_other_state).only(
            at("", "", "GC:815")
        ),
        Guard(
            "the group's state is not among the requested states, ignoring case",
            _is_other_state_in_any_case,
        ).only(at("", "", "", "GMM:610")),
        _LIST_NOTHING,
        words_of={"4.1": "the group's state is not among the requested states (case-insensitive)"},
    ),
    rule(
        "list/other-type",
        "the requested types do not include classic",
        at("", "", "", "GMM:622"),
        Guard("the requested types do not include classic", _is_other_type),
        _LIST_NOTHING,
    ),
    rule(
        "list/not-persisted",
        "a refused commit created the group, and no record of it is written, so it is not listed",
        at("", "", "", "GMM:627"),
        Guard(
            "no record of the group is written", lambda step, _request: step.existing.not_persisted
        ),
        Effect(
            "list no group, or the group if a record of another group was written", _list_unwritten
        ),
    ),
    rule(
        "list/group",
        "the group is listed with its protocol type",
        at("GC:450", "GC:478", "GC:816", "GMM:631"),
        Effect("list the group", _list_group),
    ),
)
PARTS: Final = (LIST,)
