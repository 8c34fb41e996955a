"""Static members that rejoin without their member id (KIP-345, 2.7 GroupCoordinator.scala:1029).

A JoinGroup with a group.instance.id that belongs to a member replaces that member under a new
member id; the old id is fenced.
"""

from __future__ import annotations

from typing import Final, cast

from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.rules.guards import (
    COMPLETING,
    PREPARING,
    STABLE,
    instance_of,
    state_is,
    static_member_of,
)
from groupcheck.model.classic.rules.members import PARK_JOIN, new_id, selectable
from groupcheck.model.classic.rules.rebalance import prepare_rebalance
from groupcheck.model.classic.rules.replacement import KEEPS_IDS, replace
from groupcheck.model.classic.rules.session import restart_session
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Member, StaticAppend
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.log import store_new_id
from groupcheck.model.engine.rules import Effect, Guard, rule
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupRequest,
    JoinGroupResponse,
    Request,
)

SKIPS_SINCE: Final = 9  # the version of JoinGroup that added skip_assignment (KIP-814)


def _rejoins(step: Step, request: Request) -> bool:
    return step.existing.static(instance_of(request)) is not None


def _same_protocol_wins(step: Step, request: Request) -> bool:
    """Whether the vote would go to the same protocol as before."""
    body = cast("JoinGroupRequest", request.body)
    group = step.existing
    replaced = cast("Member", static_member_of(group, request))
    voters = group.with_member(replaced._replace(protocols=body.protocols)).members
    return step.choose(Choice.VOTE_TIE, selectable(step, voters)) == group.protocol_name


def _replace_and_park(step: Step, request: Request) -> Member:
    """Give the member a new id and park its JoinGroup (2.7 GroupMetadata.scala:305)."""
    old = cast("Member", static_member_of(step.existing, request))
    keeps_id = KEEPS_IDS(step) and step.choose("whether a member keeps its id", (True, False))
    renewed = replace(step, old, old.member_id if keeps_id else new_id(request))
    restart_session(step, renewed)
    PARK_JOIN(step, request)
    return cast("Member", step.existing.member(renewed.member_id))


def _store(step: Step, request: Request, *, current: bool) -> None:
    """Append the new id; with `current` the answer names the leader when the append completes.

    Unlike other members with a parked JoinGroup, it has a running session timer, as nothing else
    will start it. The timer keeps its length, even where the request's timeouts apply.

    Source: 2.7 GroupCoordinator.scala:1053, 4.1 GroupMetadataManager.java:7227.
    """
    before = step.existing
    old = cast("Member", static_member_of(before, request))
    member = _replace_and_park(step, request)
    alive = member._replace(session_left_ms=old.session_timeout_ms)
    step.group = step.existing.with_member(alive)
    entry = StaticAppend(member.member_id, member.member_id, before.leader, current=current)
    store_new_id(step, entry, old, before)


_REJOINS: Final = Guard("the group.instance.id belongs to a member", _rejoins)
_REPLACE: Final = Effect("give the member a new id and park its JoinGroup", _replace_and_park)
_REBALANCE: Final = Effect("prepare a rebalance", lambda step, _request: prepare_rebalance(step))
_SAME_PROTOCOL_WINS: Final = Guard("the vote would select the same protocol", _same_protocol_wins)
RULES: Final = (
    rule(
        "join/static-removed",
        "the group.instance.id still refers to a member that was removed: Kafka throws an "
        "exception",
        at("", "", "GM:312"),
        _REJOINS,
        Guard(
            "the member with the group.instance.id was removed",
            lambda step, request: static_member_of(step.existing, request) is None,
        ),
        Effect(
            "answer UNKNOWN_SERVER_ERROR",
            lambda step, request: step.answer(
                request.request_id, JoinGroupResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
            ),
        ),
    ),
    rule(
        "join/static-restarted",
        "a static member rejoins a Stable group, and the vote selects the same protocol: the "
        "member gets a new id, which is stored; from version 9 on, the leader also gets the "
        "member list and need not assign again",
        at("", "", "", "GMM:7274"),
        Guard(
            f"the request is of version {SKIPS_SINCE} or newer",
            lambda _step, request: request.api_version >= SKIPS_SINCE,
        ),
        _REJOINS,
        state_is(STABLE),
        _SAME_PROTOCOL_WINS,
        Effect(
            "give the member a new id and append it; answer with the leader at the time of the "
            "answer, and for the leader with the member list (KIP-814)",
            lambda step, request: _store(step, request, current=True),
        ),
    ),
    rule(
        "join/static-unchanged",
        "a static member rejoins a Stable group, and the vote selects the same protocol: the "
        "member gets a new id, which is stored",
        at("", "", "GC:1053", "GMM:7287"),
        Guard(
            f"the request is older than version {SKIPS_SINCE}",
            lambda _step, request: request.api_version < SKIPS_SINCE,
        ).only(at("", "", "", "GMM:7287")),
        _REJOINS,
        state_is(STABLE),
        _SAME_PROTOCOL_WINS,
        Effect(
            "give the member a new id and append it; answer with the leader at the time of the "
            "request",
            lambda step, request: _store(step, request, current=False),
        ),
    ),
    rule(
        "join/static-changed",
        "a static member rejoins a Stable group, and the vote would select another protocol",
        at("", "", "GC:1090", "GMM:7304"),
        _REJOINS,
        state_is(STABLE),
        _REPLACE,
        _REBALANCE,
    ),
    rule(
        "join/static-completing",
        "a static member rejoins before the assignments arrive, which will have only its old id",
        at("", "", "GC:1098", "GMM:7316"),
        _REJOINS,
        state_is(COMPLETING),
        _REPLACE,
        _REBALANCE,
    ),
    rule(
        "join/static-preparing",
        "a static member rejoins while a rebalance is being prepared, and waits for the join phase "
        "to end",
        at("", "", "GC:1102", "GMM:7326"),
        _REJOINS,
        state_is(PREPARING),
        _REPLACE,
    ),
)
