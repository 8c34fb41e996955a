"""DescribeGroups (2.7 GroupCoordinator.scala:820)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.rules.guards import (
    NO_GROUP,
    STABLE,
    Checks,
    group_id_of,
    replies,
    state_is,
    state_is_not,
)
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Member
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.committed import read
from groupcheck.model.engine.rules import Behaviour, Effect, Guard, rule, table
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request

API: Final = "DescribeGroups"

AWAITING_SYNC: Final = Behaviour(
    "completing-is-awaiting-sync",
    API,
    "CompletingRebalance is called AwaitingSync",
    at("GM:56", "GM:58"),
)


def describe_groups(step: Step, request: Request) -> None:
    """The API; the model holds one group, so a request names one."""
    read(step, DESCRIBE, request)


def state_name(step: Step, state: GroupState) -> str:
    """The name of a state in the version of the step."""
    if state is GroupState.COMPLETING_REBALANCE and AWAITING_SYNC(step):
        return "AwaitingSync"
    return state.value


def _answer(step: Step, request: Request, described: kafka.DescribedGroup) -> None:
    step.answer(request.request_id, kafka.DescribeGroupsResponse((described,)))


def _refuse(step: Step, request: Request, error: ErrorCode) -> None:
    _answer(step, request, kafka.DescribedGroup(error, group_id_of(request)))


_check: Final = Checks(replies(_refuse))


def _answer_dead(step: Step, request: Request, error: ErrorCode = ErrorCode.NONE) -> None:
    _answer(step, request, kafka.DescribedGroup(error, group_id_of(request), GroupState.DEAD.value))


def _answer_not_found(step: Step, request: Request) -> None:
    newest = request.api_version >= 6
    _answer_dead(step, request, ErrorCode.GROUP_ID_NOT_FOUND if newest else ErrorCode.NONE)


def _answer_in_full(step: Step, request: Request) -> None:
    name = step.existing.protocol_name or ""
    _describe(step, request, name, lambda member: member.metadata(name))


def _answer_without_metadata(step: Step, request: Request) -> None:
    # Versions that do not return assignments here clear them when the group leaves Stable.
    _describe(step, request, "", lambda _member: b"")


def _describe(
    step: Step, request: Request, protocol_data: str, metadata: Callable[[Member], bytes]
) -> None:
    group = step.existing
    members = tuple(
        kafka.DescribedGroupMember(
            m.member_id,
            m.group_instance_id,
            m.client_id,
            m.client_host,
            metadata(m),
            m.assignment,
        )
        for m in group.members
    )
    described = kafka.DescribedGroup(
        ErrorCode.NONE,
        group_id_of(request),
        state_name(step, group.state),
        group.protocol_type or "",
        protocol_data,
        members,
    )
    _answer(step, request, described)


def _answer_unwritten(step: Step, request: Request) -> None:
    # The model has no writes of other groups. Without assignments this group is not Stable.
    if step.choose(Choice.NOT_PERSISTED, [True, False]):
        _answer_not_found(step, request)
    else:
        step.group = step.existing._replace(not_persisted=False)
        _answer_without_metadata(step, request)


DESCRIBE: Final = table(
    "DescribeGroups",
    API,
    _check("describe/not-active", at("GC:455", "GC:483", "GC:859", "GCS:1274")),
    _check("describe/loading", at("", "", "GC:861", "CR:2207")),
    _check("describe/not-coordinator", at("GC:457", "GC:485", "GC:863", "CR:2209")),
    rule(
        "describe/no-group",
        "a group that does not exist is described as Dead",
        at("GC:463", "GC:491", "GC:825"),
        NO_GROUP,
        Effect("answer NONE and the state Dead", _answer_dead),
    ),
    rule(
        "describe/not-found",
        "a group that does not exist is described as Dead; from version 6 on, the answer also "
        "has an error",
        at("", "", "", "GMM:774"),
        NO_GROUP,
        Effect(
            "answer with the state Dead and GROUP_ID_NOT_FOUND, NONE before version 6",
            _answer_not_found,
        ),
    ),
    rule(
        "describe/not-persisted",
        "a refused commit created the group, and no record of it is written, so it is not "
        "described",
        at("", "", "", "GMM:745"),
        Guard(
            "no record of the group is written", lambda step, _request: step.existing.not_persisted
        ),
        Effect(
            "answer as if the group did not exist, or describe it if a record of another group "
            "was written",
            _answer_unwritten,
        ),
    ),
    rule(
        "describe/stable",
        "a Stable group is described with its protocol, metadata and assignments",
        at("GM:221", "GM:255", "GM:561", "GMM:747"),
        state_is(STABLE),
        Effect("describe the group with metadata and assignments", _answer_in_full),
    ),
    rule(
        "describe/unstable",
        "outside Stable, only the ids and clients of members are described",
        at("GM:225", "GM:259", "GM:568", "GMM:763"),
        state_is_not(STABLE),
        Effect("describe the group without metadata", _answer_without_metadata),
        words_of={
            "4.1": "outside Stable, members are described with assignments, but without metadata"
        },
    ),
)
PARTS: Final = (AWAITING_SYNC, DESCRIBE)
