"""The actions of random sequences: each builds the next step from a choice and the state.

Hypothesis (`machine`) and random walks (`fuzzing`) choose among them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.generators import (
    actions_faults,
    actions_groups,
    actions_members,
    actions_offsets,
)
from groupcheck.properties.generators.context import Choices, Context


class Action(NamedTuple):
    """One kind of step; `may` says whether it is useful now.

    `build` returns None if the action has nothing to do.
    """

    name: str
    build: Callable[[Context, Choices], Input | None]
    may: Callable[[Context], bool]


def asks(api: str) -> Callable[[Context], bool]:
    """Whether the port supports an API."""
    return lambda context: bool(context.capabilities.versions.get(api))


def again(context: Context, choices: Choices) -> Input | None:
    """Send an earlier request again, unchanged."""
    return context.renumbered(context.sent[-1 - choices.of(len(context.sent))])


def omit_group_id(context: Context, choices: Choices) -> Input | None:
    """A request has an empty group id."""
    builds = [action.build for action in ACTIONS if action.name in NAMING and action.may(context)]
    given = builds[choices.of(len(builds))](context, choices) if builds else None
    if not isinstance(given, Request):
        return None
    body: Any = given.body
    return given._replace(body=body._replace(group_id=""))


def write_late(context: Context, choices: Choices) -> None:
    """Build a request of a member, to be sent after later ones."""
    builds = [action.build for action in ACTIONS if action.name in LATE and action.may(context)]
    given = builds[choices.of(len(builds))](context, choices) if builds else None
    if given is not None:
        context.late.append(given)  # type: ignore[arg-type]


def come_late(context: Context, choices: Choices) -> Input | None:
    """Send a request that was built earlier."""
    return context.renumbered(context.late.pop(choices.of(len(context.late))))


def _has_next_request(context: Context) -> bool:
    return all(
        context.capabilities.versions.get(api) for api in ("JoinGroup", "SyncGroup", "Heartbeat")
    )


# The requests that may arrive late: they name a member and a generation.
LATE: Final = ("sync", "heartbeat", "leave", "commit")
NAMING: Final = ("join", "commit_in_transaction", "end_transaction", "delete_offsets", *LATE[:3])

ACTIONS: Final = (
    Action("join", actions_members.join, asks("JoinGroup")),
    Action("join_again", actions_members.join_again, asks("JoinGroup")),
    Action("next_request", actions_members.next_request, _has_next_request),
    Action("sync", actions_members.sync, asks("SyncGroup")),
    Action("heartbeat", actions_members.heartbeat, asks("Heartbeat")),
    Action("leave", actions_members.leave, asks("LeaveGroup")),
    Action("commit", actions_offsets.commit, asks("OffsetCommit")),
    Action("fetch", actions_offsets.fetch, asks("OffsetFetch")),
    Action("commit_in_transaction", actions_offsets.txn_commit, asks("TxnOffsetCommit")),
    Action("end_transaction", actions_offsets.end_txn, asks("EndTxn")),
    Action("describe", actions_groups.describe, asks("DescribeGroups")),
    Action("list_groups", actions_groups.list_groups, asks("ListGroups")),
    Action("delete_group", actions_groups.delete_group, asks("DeleteGroups")),
    Action("delete_offsets", actions_offsets.delete, asks("OffsetDelete")),
    Action("advance", actions_faults.advance, lambda _context: True),
    Action("hold", actions_faults.hold, actions_faults.may_hold),
    Action("release", actions_faults.release, actions_faults.may_release),
    Action("fail", actions_faults.fail, actions_faults.may_fail),
    Action("happen", actions_faults.happen, actions_faults.may_happen),
    Action("again", again, lambda context: bool(context.sent)),
    Action("omit_group_id", omit_group_id, lambda _context: True),
    Action("write_late", write_late, lambda _context: True),
    Action("come_late", come_late, lambda context: bool(context.late)),
)
