"""The transition relation: a state and an input to every allowed state and answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.apis.delete_groups import DELETE
from groupcheck.model.classic.apis.describe_groups import describe_groups
from groupcheck.model.classic.apis.end_txn import end_txn
from groupcheck.model.classic.apis.heartbeat import HEARTBEAT
from groupcheck.model.classic.apis.join_group import (
    JOIN,
    JOIN_AGAIN,
    JOIN_FULL,
    JOIN_NEW,
    join_group,
)
from groupcheck.model.classic.apis.leave_group import LEAVE
from groupcheck.model.classic.apis.list_groups import list_groups
from groupcheck.model.classic.apis.offset_commit import COMMIT
from groupcheck.model.classic.apis.offset_delete import OFFSET_DELETE
from groupcheck.model.classic.apis.offset_fetch import offset_fetch
from groupcheck.model.classic.apis.sync_group import SYNC
from groupcheck.model.classic.apis.txn_offset_commit import TXN_COMMIT
from groupcheck.model.classic.config import Config
from groupcheck.model.classic.instances.inputs import EnvironmentInput
from groupcheck.model.classic.rules.cleanup import cleanup
from groupcheck.model.classic.rules.ignored import without_ignored
from groupcheck.model.classic.rules.timers import advance, pass_time
from groupcheck.model.classic.state import (
    Advance,
    Cleanup,
    Configure,
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
from groupcheck.model.classic.step import Outcome, Profile, Step, outcomes, steps
from groupcheck.model.classic.storing import failover, log
from groupcheck.model.classic.storing.appended import Appended
from groupcheck.model.engine.rules import Table, decide
from groupcheck.model.vocabulary import Request

Input = Request | Advance | EnvironmentInput


def _decide(table: Table, step: Step, given: object) -> object:
    return decide(step, table, given)


ACTIONS: Final[dict[type, Callable[[Step, Request], object]]] = {
    kafka.JoinGroupRequest: join_group,
    kafka.SyncGroupRequest: partial(_decide, SYNC),
    kafka.HeartbeatRequest: partial(_decide, HEARTBEAT),
    kafka.LeaveGroupRequest: partial(_decide, LEAVE),
    kafka.OffsetCommitRequest: partial(_decide, COMMIT),
    kafka.OffsetFetchRequest: offset_fetch,
    kafka.DescribeGroupsRequest: describe_groups,
    kafka.TxnOffsetCommitRequest: partial(_decide, TXN_COMMIT),
    kafka.EndTxnRequest: end_txn,
    kafka.ListGroupsRequest: list_groups,
    kafka.DeleteGroupsRequest: partial(_decide, DELETE),
    kafka.OffsetDeleteRequest: partial(_decide, OFFSET_DELETE),
}

_JOIN_TABLES: Final = (JOIN.name, JOIN_FULL.name, JOIN_NEW.name, JOIN_AGAIN.name)


def tables_of(api: str) -> tuple[str, ...]:
    """The names of the tables that decide on a request of an API, in the order they are tried."""
    return _JOIN_TABLES if api == "JoinGroup" else (api,)


# Faults of the coordinator, and the periodic cleanup.
FAULTS: Final[dict[type, Callable[[Step, Any], object]]] = {
    HoldAppends: partial(_decide, log.HOLD),
    FailAppends: partial(_decide, log.FAIL),
    ReleaseAppends: partial(_decide, log.RELEASE),
    Crash: partial(_decide, failover.CRASH),
    Unload: lambda step, _given: failover.move(step, failover.UNLOAD_NOW),
    Loading: lambda step, _given: failover.move(step, failover.LOADING),
    Load: lambda step, _given: failover.move(step, failover.LOAD),
    Configure: partial(_decide, failover.CONFIGURE),
    Shutdown: partial(_decide, failover.SHUTDOWN),
    Cleanup: lambda step, _given: cleanup(step),
}


def successors(
    before: Coordinator, given: Input, profile: Profile, config: Config
) -> list[Outcome]:
    """Every allowed outcome of an input, one for each choice that Kafka leaves open.

    An unknown state has one outcome, without answers, which stands for all of them.
    """
    if before.is_unknown:
        return [Outcome(before, (), (), ())]
    return outcomes(before, profile, config, _act(given))


def appending(
    before: Coordinator, given: Input, profile: Profile, config: Config
) -> Iterator[tuple[Outcome, tuple[Appended, ...]]]:
    """The same, each with the records that it appends to the log, in their order."""
    for step in steps(before, profile, config, _act(given)):
        yield step.outcome(), step.appended


def _act(given: Input) -> Callable[[Step], None]:
    """The action of an input. Timers of length 0 fire before it ends."""

    def act(step: Step) -> None:
        if isinstance(given, Request):
            ACTIONS[type(given.body)](step, without_ignored(step, given))
            advance(step)
        elif isinstance(given, Advance):
            pass_time(step, given.ms)
        else:
            FAULTS[type(given)](step, given)
            if not isinstance(given, FailAppends):
                advance(step)

    return act
