"""The transition relation: state and input to every lawful state and answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from groupcheck.model.apis.delete_groups import delete_groups
from groupcheck.model.apis.describe_groups import describe_groups
from groupcheck.model.apis.end_txn import end_txn
from groupcheck.model.apis.heartbeat import heartbeat
from groupcheck.model.apis.join_group import join_group
from groupcheck.model.apis.leave_group import leave_group
from groupcheck.model.apis.list_groups import list_groups
from groupcheck.model.apis.offset_commit import offset_commit
from groupcheck.model.apis.offset_delete import offset_delete
from groupcheck.model.apis.offset_fetch import offset_fetch
from groupcheck.model.apis.sync_group import sync_group
from groupcheck.model.apis.txn_offset_commit import txn_offset_commit
from groupcheck.model.config import Config
from groupcheck.model.rules.cleanup import cleanup
from groupcheck.model.rules.timers import PASS, advance
from groupcheck.model.spaces.clients import Happening
from groupcheck.model.state import (
    Advance,
    Cleanup,
    Coordinator,
    Crash,
    FailAppends,
    HoldAppends,
    Load,
    Loading,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.step import Outcome, Profile, Step, outcomes, steps
from groupcheck.model.storing.appended import Appended
from groupcheck.model.storing.failover import crash, load, loading, shutdown, unload
from groupcheck.model.storing.log import fail_appends, hold_appends, release_appends
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)

Input = Request | Advance | Happening

ACTIONS: Final[dict[type, Callable[[Step, Request], None]]] = {
    JoinGroupRequest: join_group,
    SyncGroupRequest: sync_group,
    HeartbeatRequest: heartbeat,
    LeaveGroupRequest: leave_group,
    OffsetCommitRequest: offset_commit,
    OffsetFetchRequest: offset_fetch,
    DescribeGroupsRequest: describe_groups,
    TxnOffsetCommitRequest: txn_offset_commit,
    EndTxnRequest: end_txn,
    ListGroupsRequest: list_groups,
    DeleteGroupsRequest: delete_groups,
    OffsetDeleteRequest: offset_delete,
}

# What happens to the coordinator, but for appends that are to fail.
HAPPENS: Final[dict[type, Callable[[Step], None]]] = {
    HoldAppends: hold_appends,
    ReleaseAppends: release_appends,
    Crash: crash,
    Unload: unload,
    Loading: loading,
    Load: load,
    Shutdown: shutdown,
    Cleanup: cleanup,
}


def successors(
    before: Coordinator, given: Input, profile: Profile, config: Config
) -> list[Outcome]:
    """Every lawful outcome of an input, one for each choice that Kafka leaves open."""
    return outcomes(before, profile, config, _act(given))


def appending(
    before: Coordinator, given: Input, profile: Profile, config: Config
) -> Iterator[tuple[Outcome, tuple[Appended, ...]]]:
    """The same, each with the records that it appends to the log, in their order."""
    for step in steps(before, profile, config, _act(given)):
        yield step.outcome(), step.appended


def _act(given: Input) -> Callable[[Step], None]:
    """What an input does."""

    def act(step: Step) -> None:
        if isinstance(given, Request):
            ACTIONS[type(given.body)](step, given)
            advance(step, 0)  # timers of no length fire before the input is done
        elif isinstance(given, Advance):
            step.fire(PASS)
            advance(step, given.ms)
        elif isinstance(given, FailAppends):
            fail_appends(step, given)
        else:
            HAPPENS[type(given)](step)
            advance(step, 0)

    return act
