"""The coordinator's door: requests and time in, responses out. Its rules are in other rooms.

It is sans-IO: it reads no clock, opens no socket, writes no file and starts no thread. Whoever
embeds it hands it decoded requests and a log, tells it how time passes, and sends what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from groupcheck.implementation.core.administration import AdminApi
from groupcheck.implementation.core.commits import CommitApi
from groupcheck.implementation.core.config import (
    Choose,
    Config,
    NewMemberId,
    first,
    random_member_id,
)
from groupcheck.implementation.core.expiry import Removal
from groupcheck.implementation.core.fetches import FetchApi
from groupcheck.implementation.core.gate import Gate
from groupcheck.implementation.core.heartbeats import HeartbeatApi
from groupcheck.implementation.core.joining import JoinApi
from groupcheck.implementation.core.leaving import LeaveApi
from groupcheck.implementation.core.loading import Loading
from groupcheck.implementation.core.member import JoinTimer, Member, Pending, SyncTimer
from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.partitions import Serving
from groupcheck.implementation.core.profile_2_7 import PROFILE_2_7
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.refusals import each_once, refused
from groupcheck.implementation.core.shared import Shared, UnexpectedError
from groupcheck.implementation.core.static_members import StaticMembers
from groupcheck.implementation.core.syncing import SyncApi
from groupcheck.implementation.core.timers import NEVER, Timer
from groupcheck.implementation.core.traits import Traits
from groupcheck.implementation.core.transactions import Transactions
from groupcheck.implementation.core.views import view
from groupcheck.implementation.log.log import Log
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.vocabulary import (
    API_OF,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    GroupView,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    RequestBody,
    Response,
    ResponseBody,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)

Handler = Callable[[Request, Any], ResponseBody | None]


class Coordinator:
    """A group coordinator.

    Args:
        config: The broker's configuration.
        profile: The version of Kafka that it is like.
        log: Where groups and offsets are kept. The default keeps them in memory.
        choose: Decides where Kafka leaves more than one way open: who leads after the leader has
            gone, which protocol wins a tied vote, which of one group's timers due at the same
            instant fires first. The default takes the first.
        new_member_id: Makes a member id from a client id. The default does as Kafka does.
        start_ms: The time when it starts, in milliseconds since 1970 if what is in the log, or
            will be read from it elsewhere, is to expire when it should.
        served: The partitions of the log that it serves from the start, as they are in the log.
            None is all of them.

    """

    __slots__ = (
        "_handlers",
        "_loading",
        "_outbox",
        "_rebalance",
        "_removal",
        "_shared",
        "_timeouts",
        "_timers",
        "_transactions",
        "_when_closed",
    )

    def __init__(  # noqa: PLR0913 - by name, and each with a default
        self,
        config: Config = Config(),  # noqa: B008 - a NamedTuple does not change
        *,
        profile: Traits = PROFILE_2_7,
        log: Log | None = None,
        choose: Choose = first,
        new_member_id: NewMemberId = random_member_id,
        start_ms: int = 0,
        served: Iterable[int] | None = None,
    ) -> None:
        log = MemoryLog() if log is None else log
        shared = Shared(config, profile, log, choose, new_member_id, start_ms)
        gate = Gate(shared.groups, profile)
        self._shared = shared
        self._timers = shared.timers
        self._outbox = shared.outbox
        self._when_closed: Callable[[Request], ErrorCode] = gate.closed
        self._rebalance = Rebalance(shared)
        self._removal = Removal(shared)
        self._transactions = Transactions(shared, gate)
        self._loading = Loading(shared, self._rebalance, self._transactions)
        shared.writing.on_failure = self._loading.revert
        membership = Membership(shared, self._rebalance)
        self._handlers = self._apis(gate, membership)
        self._timeouts: dict[type, Callable[[Any], None]] = {
            Member: membership.expire_session,
            Pending: membership.expire_pending,
            JoinTimer: self._rebalance.expire,
            SyncTimer: self._rebalance.expire_syncs,
        }
        for partition in range(config.offsets_topic_num_partitions) if served is None else served:
            self._loading.load(partition)

    def _apis(self, gate: Gate, membership: Membership) -> dict[type, Handler]:
        shared, rebalance = self._shared, self._rebalance
        statics = StaticMembers(shared, rebalance, membership)
        commits = CommitApi(shared, gate, statics, self._transactions)
        administration = AdminApi(shared, gate, self._removal)
        return {
            HeartbeatRequest: HeartbeatApi(shared, gate, statics).heartbeat,
            JoinGroupRequest: JoinApi(shared, gate, rebalance, membership, statics).join,
            SyncGroupRequest: SyncApi(shared, gate, rebalance, statics).sync,
            LeaveGroupRequest: LeaveApi(shared, gate, rebalance, membership, statics).leave,
            OffsetCommitRequest: commits.commit,
            TxnOffsetCommitRequest: commits.commit_in_transaction,
            EndTxnRequest: self._transactions.end,
            OffsetFetchRequest: FetchApi(shared, gate).fetch,
            DescribeGroupsRequest: administration.describe,
            ListGroupsRequest: administration.list_groups,
            DeleteGroupsRequest: administration.delete_groups,
            OffsetDeleteRequest: administration.delete_offsets,
        }

    # What clients ask, and time

    def receive(self, request: Request) -> list[Response]:
        """Handle a request, its body as its version carries it (`versions.trim`).

        Returns every response that it made possible, its own and those of parked requests, in no
        set order; they are not trimmed to their versions.
        """
        body = request.body
        try:
            answer = self._handlers[type(body)](request, body)
        except UnexpectedError:
            answer = refused(_nameless(request), ErrorCode.UNKNOWN_SERVER_ERROR)
        timers, outbox = self._timers, self._outbox
        if not outbox and answer is not None and timers.earliest_ms > timers.now_ms:
            return [Response(request.request_id, answer)]
        if answer is not None:
            outbox.append(Response(request.request_id, answer))
        return self.take()

    def advance(self, ms: int) -> list[Response]:
        """Let `ms` milliseconds pass; timers due on the way fire in the order of their deadlines.

        Returns the responses that this made possible. Raises ValueError if `ms` is negative.
        """
        if ms < 0:
            message = f"time does not go back: {ms} ms"
            raise ValueError(message)
        end_ms = self._timers.now_ms + ms
        self._fire_until(end_ms)
        self._timers.now_ms = end_ms
        return self.take()

    def take(self) -> list[Response]:
        """The responses that appends, completed since the last call, have made possible.

        A partition of which one has failed, when more had been made on top of it, is served again
        from here on, as it is in the log; who waited there is told that it was lost.
        """
        if self._loading.reverted:
            self._loading.reload()
        # Timers of no length may have been set.
        self._fire_until(self._timers.now_ms)
        responses = self._outbox.copy()
        self._outbox.clear()
        return responses

    # What happens to it

    def load(self, partition: int) -> list[Response]:
        """Serve a partition of the log from now on; one that is served stays as it is."""
        return self._move(self._loading.load, partition)

    def loading(self, partition: int) -> list[Response]:
        """Begin to load a partition, which is lost if it was served."""
        return self._move(self._loading.loading, partition)

    def unload(self, partition: int) -> list[Response]:
        """Lose a partition; its groups are Dead, and those who wait are told."""
        return self._move(self._loading.unload, partition)

    def cleanup(self) -> list[Response]:
        """Remove the offsets that have expired, and groups with nothing left; Kafka's every 10 min.

        Returns the responses that this made possible.
        """
        if self.is_active:
            self._removal.cleanup()
        return self.take()

    def shutdown(self) -> list[Response]:
        """Refuse everything from now on; no timer fires any more, and no partition moves."""
        if self.is_active and self._shared.traits.shutdown_unloads:
            self._loading.shut_down()
        self._handlers = dict.fromkeys(self._handlers, self._refuse)
        self._timers.stop()
        return self.take()

    def _move(self, how: Callable[[int], None], partition: int) -> list[Response]:
        if self.is_active:
            how(partition)
        return self.take()

    def _refuse(self, request: Request, body: RequestBody) -> ResponseBody:
        error = self._when_closed(request)
        if isinstance(body, EndTxnRequest) and error is not ErrorCode.INVALID_GROUP_ID:
            self._transactions.write_alone(body)
        as_asked = self._shared.traits.answers_as_asked
        if isinstance(body, OffsetCommitRequest | TxnOffsetCommitRequest) and not as_asked:
            request = request._replace(body=each_once(body))
        return refused(request, error)

    # What can be seen of it

    @property
    def apis(self) -> frozenset[str]:
        """The APIs that it has, by Kafka's names."""
        return frozenset(API_OF[body] for body in self._handlers)

    def views(self) -> tuple[GroupView, ...]:
        """The inner state of every group."""
        return tuple(map(view, self._shared.groups.by_id.values()))

    def serving(self, partition: int) -> Serving:
        """Whether it has a partition of the log."""
        return self._shared.groups.serving[partition]

    @property
    def is_active(self) -> bool:
        """Whether it has not been shut down."""
        return self._handlers[HeartbeatRequest] != self._refuse

    @property
    def now_ms(self) -> int:
        """The time: when it started, and what `advance` was told since, summed up."""
        return self._timers.now_ms

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next timer is due, on the clock of `now_ms`; None if no timer is set."""
        deadline_ms = self._timers.next_deadline_ms
        return None if deadline_ms == NEVER else deadline_ms

    def _fire_until(self, end_ms: int) -> None:
        timers = self._timers
        while (deadline_ms := timers.next_due_ms(end_ms)) != NEVER:
            timers.now_ms = deadline_ms
            timer: Timer = timers.pop(self._shared.choose)
            self._timeouts[type(timer)](timer)


def _nameless(request: Request) -> Request:
    """A request that has failed for no reason of its own: its answer names no member."""
    body = request.body
    if isinstance(body, JoinGroupRequest):
        return request._replace(body=body._replace(member_id=""))
    return request
