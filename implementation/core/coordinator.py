"""The coordinator's entry point: requests and time in, responses out.

It is sans-IO: it reads no clock, opens no socket, writes no file and starts no thread. The embedder
passes it decoded requests and a log, advances its time, and sends the responses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from groupcheck.implementation.core.administration import AdminApi
from groupcheck.implementation.core.commit import CommitApi
from groupcheck.implementation.core.config import (
    Choose,
    Config,
    NewMemberId,
    first,
    random_member_id,
)
from groupcheck.implementation.core.error_responses import each_once, error_response
from groupcheck.implementation.core.fetch import FetchApi
from groupcheck.implementation.core.generations import HeartbeatApi, SyncApi
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.core.handler import Components
from groupcheck.implementation.core.join import JoinApi
from groupcheck.implementation.core.leave import LeaveApi
from groupcheck.implementation.core.loading import Loading
from groupcheck.implementation.core.member import JoinTimer, Member, Pending, SyncTimer
from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.preconditions import Preconditions
from groupcheck.implementation.core.profiles import PROFILE_2_7, Behaviour
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.removal import Removal
from groupcheck.implementation.core.shared import Shared, UnexpectedError
from groupcheck.implementation.core.static_members import StaticMembers
from groupcheck.implementation.core.timers import NEVER, Timer
from groupcheck.implementation.core.transactions import Transactions
from groupcheck.implementation.core.views import view
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.log.records import Log
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, Request, Response

Handle = Callable[[Request, Any], kafka.ResponseBody | None]

_NAME_PARTITIONS = (
    kafka.OffsetCommitRequest,
    kafka.TxnOffsetCommitRequest,
    kafka.OffsetFetchRequest,
)


class Coordinator:
    """A group coordinator.

    Args:
        config: The broker's configuration.
        profile: The version of Kafka whose behaviour it has.
        log: Where groups and offsets are stored; in memory by default.
        choose: Chooses where Kafka allows several outcomes: the leader after the old one has left,
            the protocol of a tied vote, the first of a group's timers that are due at the same
            instant. The default takes the first option.
        new_member_id: Makes a member id from a client id, by default as Kafka does.
        start_ms: The initial time, in milliseconds since 1970 if stored offsets have to expire on
            time.
        served: The partitions of the log to load at the start; all of them if None.

    """

    __slots__ = (
        "_handlers",
        "_loading",
        "_outbox",
        "_rebalance",
        "_removal",
        "_shared",
        "_shutdown_error",
        "_timeouts",
        "_timers",
        "_transactions",
    )

    def __init__(  # noqa: PLR0913 - by name, and each with a default
        self,
        config: Config = Config(),  # noqa: B008 - a NamedTuple does not change
        *,
        profile: Behaviour = PROFILE_2_7,
        log: Log | None = None,
        choose: Choose = first,
        new_member_id: NewMemberId = random_member_id,
        start_ms: int = 0,
        served: Iterable[int] | None = None,
    ) -> None:
        log = MemoryLog() if log is None else log
        shared = Shared(config, profile, log, choose, new_member_id, start_ms)
        preconditions = Preconditions(shared.groups, profile)
        self._shared = shared
        self._timers = shared.timers
        self._outbox = shared.outbox
        self._shutdown_error: Callable[[Request], ErrorCode] = preconditions.shutdown_error
        self._rebalance = Rebalance(shared)
        self._removal = Removal(shared)
        self._transactions = Transactions(shared, preconditions)
        self._loading = Loading(shared, self._rebalance, self._transactions)
        shared.on_failure = self._loading.roll_back
        membership = Membership(shared, self._rebalance)
        statics = StaticMembers(shared, self._rebalance, membership)
        self._handlers = _handlers(
            shared,
            Components(
                preconditions,
                self._rebalance,
                membership,
                statics,
                self._transactions,
                self._removal,
            ),
        )
        self._timeouts: dict[type, Callable[[Any], None]] = {
            Member: membership.expire_session,
            Pending: membership.expire_pending,
            JoinTimer: self._rebalance.expire,
            SyncTimer: self._rebalance.expire_syncs,
        }
        for partition in range(config.offsets_topic_num_partitions) if served is None else served:
            self._loading.load(partition)

    # Requests and time

    def receive(self, request: Request) -> list[Response]:
        """Handle a request, with the fields that its version has (`versions.trim`).

        Returns all responses that are possible now, also those of parked requests, in no set order;
        fields that the version lacks are still set.
        """
        body = request.body
        try:
            answer = self._handlers[type(body)](request, body)
        except UnexpectedError:
            answer = error_response(_without_member_id(request), ErrorCode.UNKNOWN_SERVER_ERROR)
        timers, outbox = self._timers, self._outbox
        if not outbox and answer is not None and timers.earliest_ms > timers.now_ms:
            return [Response(request.request_id, answer)]
        if answer is not None:
            outbox.append(Response(request.request_id, answer))
        return self.take()

    def advance(self, ms: int) -> list[Response]:
        """Let `ms` milliseconds pass; timers fire in the order of their deadlines.

        Returns the responses. Raises ValueError if `ms` is negative.
        """
        if ms < 0:
            message = f"time does not go back: {ms} ms"
            raise ValueError(message)
        end_ms = self._timers.now_ms + ms
        self._fire_until(end_ms)
        self._timers.now_ms = end_ms
        return self.take()

    def take(self) -> list[Response]:
        """The responses of appends that completed since the last call.

        A partition is loaded again from the log if one of its appends failed after it had taken
        effect; the requests that waited there return an error.
        """
        due = self._shared.deferred.due
        while due:
            due.pop(0)()
        if self._loading.rolled_back:
            self._loading.reload()
        # Timers with a delay of 0 may have been set.
        self._fire_until(self._timers.now_ms)
        responses = self._outbox.copy()
        self._outbox.clear()
        return responses

    # Faults and administration

    def load(self, partition: int) -> list[Response]:
        """Load a partition of the log and serve it; no effect if it is served."""
        return self._change_partition(self._loading.load, partition)

    def loading(self, partition: int) -> list[Response]:
        """Begin to load a partition, which is unloaded first if it is served."""
        return self._change_partition(self._loading.loading, partition)

    def unload(self, partition: int) -> list[Response]:
        """Unload a partition: its groups are Dead, parked requests return NOT_COORDINATOR."""
        return self._change_partition(self._loading.unload, partition)

    def configure(self, config: Config) -> None:
        """Change the configuration to that of the broker that loads the partitions next.

        No effect while a partition is served. Only `group_max_size` is read again.
        """
        if Serving.SERVED not in self._shared.groups.serving:
            self._shared.config = config

    def cleanup(self) -> list[Response]:
        """Remove expired offsets and groups without offsets, as Kafka does every 10 minutes.

        Returns the responses.
        """
        if self.is_active:
            self._removal.cleanup()
        return self.take()

    def shutdown(self) -> list[Response]:
        """Reject all requests from now on; no timer fires, and no partition is loaded."""
        if self.is_active and self._shared.behaviour.shutdown_fails_parked:
            self._loading.shut_down()
        self._handlers = dict.fromkeys(self._handlers, self._answer_shutdown)
        self._timers.stop()
        return self.take()

    def _change_partition(self, change: Callable[[int], None], partition: int) -> list[Response]:
        if self.is_active:
            change(partition)
        return self.take()

    def _answer_shutdown(self, request: Request, body: kafka.RequestBody) -> kafka.ResponseBody:
        error = self._shutdown_error(request)
        if isinstance(body, kafka.EndTxnRequest) and error is not ErrorCode.INVALID_GROUP_ID:
            self._transactions.append_marker(body)
        repeats = self._shared.behaviour.repeats_requested_partitions
        if isinstance(body, _NAME_PARTITIONS) and not repeats:
            request = request._replace(body=each_once(body))
        return error_response(request, error)

    # Introspection

    @property
    def apis(self) -> frozenset[str]:
        """The APIs that it handles, by Kafka's names."""
        return frozenset(kafka.API_OF[body] for body in self._handlers)

    def views(self) -> tuple[kafka.GroupView, ...]:
        """The inner state of every group."""
        return tuple(map(view, self._shared.groups.by_id.values()))

    def serving(self, partition: int) -> Serving:
        """Whether it serves a partition of the log."""
        return self._shared.groups.serving[partition]

    @property
    def config(self) -> Config:
        """The configuration that it has now."""
        return self._shared.config

    @property
    def is_active(self) -> bool:
        """Whether it has not been shut down."""
        return self._handlers[kafka.HeartbeatRequest] != self._answer_shutdown

    @property
    def now_ms(self) -> int:
        """The current time: `start_ms` and the sum of what was passed to `advance`."""
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


def _without_member_id(request: Request) -> Request:
    """The request without its member id: after an unexpected error the response has none."""
    body = request.body
    if isinstance(body, kafka.JoinGroupRequest):
        return request._replace(body=body._replace(member_id=""))
    return request


def _handlers(shared: Shared, components: Components) -> dict[type, Handle]:
    """The method that handles each request."""
    commits, administration = CommitApi(shared, components), AdminApi(shared, components)
    return {
        kafka.HeartbeatRequest: HeartbeatApi(shared, components).heartbeat,
        kafka.JoinGroupRequest: JoinApi(shared, components).join,
        kafka.SyncGroupRequest: SyncApi(shared, components).sync,
        kafka.LeaveGroupRequest: LeaveApi(shared, components).leave,
        kafka.OffsetCommitRequest: commits.commit,
        kafka.TxnOffsetCommitRequest: commits.commit_in_transaction,
        kafka.EndTxnRequest: components.transactions.end,
        kafka.OffsetFetchRequest: FetchApi(shared, components).fetch,
        kafka.DescribeGroupsRequest: administration.describe,
        kafka.ListGroupsRequest: administration.list_groups,
        kafka.DeleteGroupsRequest: administration.delete_groups,
        kafka.OffsetDeleteRequest: administration.delete_offsets,
    }
