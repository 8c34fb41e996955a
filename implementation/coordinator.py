"""The coordinator's door: requests and time in, responses out. Its rules are in other rooms.

It is sans-IO: it reads no clock, opens no socket, writes no file and starts no thread. Whoever
embeds it hands it decoded requests, tells it how time passes, and sends what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupcheck.implementation.appends import Appends
from groupcheck.implementation.commits import OffsetApis
from groupcheck.implementation.config import (
    Choose,
    Config,
    NewMemberId,
    first,
    random_member_id,
)
from groupcheck.implementation.group import Group
from groupcheck.implementation.membership import MembershipApis
from groupcheck.implementation.rebalance import Rebalance
from groupcheck.implementation.timers import NEVER, Timers
from groupcheck.implementation.views import describe, view
from groupcheck.model.vocabulary import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    GroupView,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Request,
    Response,
    ResponseBody,
    SyncGroupRequest,
)


class Coordinator:
    """The group coordinator of Kafka 2.7, for dynamic members.

    Args:
        config: The broker's configuration.
        choose: Decides where Kafka leaves more than one way open: who leads after the leader has
            gone, which protocol wins a tied vote, which of one group's timers due at the same
            instant fires first. The default takes the first.
        new_member_id: Makes a member id from a client id. The default does as Kafka does.

    """

    __slots__ = ("_appends", "_choose", "_groups", "_handlers", "_outbox", "_timers")

    def __init__(
        self,
        config: Config = Config(),  # noqa: B008 - a NamedTuple does not change
        *,
        choose: Choose = first,
        new_member_id: NewMemberId = random_member_id,
    ) -> None:
        self._groups: dict[str, Group] = {}
        self._choose = choose
        self._timers = Timers()
        self._appends = Appends()
        # Where the answers to parked requests gather until the call that released them returns.
        self._outbox: list[Response] = []
        rebalance = Rebalance(config, self._timers, choose, self._outbox)
        members = MembershipApis(config, self._groups, rebalance, self._appends, new_member_id)
        offsets = OffsetApis(
            config, self._groups, rebalance, self._appends, self._timers, self._outbox
        )
        self._handlers: dict[type, Callable[[Request, Any], ResponseBody | None]] = {
            HeartbeatRequest: members.heartbeat,
            JoinGroupRequest: members.join,
            SyncGroupRequest: members.sync,
            LeaveGroupRequest: members.leave,
            OffsetCommitRequest: offsets.commit,
            OffsetFetchRequest: offsets.fetch,
            DescribeGroupsRequest: self._describe,
        }

    def receive(self, request: Request) -> list[Response]:
        """Handle a request, its body as its version carries it (`versions.trim`).

        Returns every response that it made possible, its own and those of parked requests, in no
        set order; they are not trimmed to their versions.
        """
        body = request.body
        answer = self._handlers[type(body)](request, body)
        if answer is not None:
            self._outbox.append(Response(request.request_id, answer))
        if self._timers.earliest_ms <= self._timers.now_ms:
            # A timer of no length has been set.
            self._fire_until(self._timers.now_ms)
        return self._take()

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
        return self._take()

    def hold_appends(self) -> None:
        """Let what is appended to the log from now on stay incomplete."""
        self._appends.hold()

    def release_appends(self) -> list[Response]:
        """Complete the held appends in their order, and later ones at once.

        Returns the responses that this made possible.
        """
        self._appends.release()
        self._fire_until(self._timers.now_ms)
        return self._take()

    def views(self) -> tuple[GroupView, ...]:
        """The inner state of every group."""
        return tuple(map(view, self._groups.values()))

    @property
    def now_ms(self) -> int:
        """The time: what `advance` was told, summed up."""
        return self._timers.now_ms

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next timer is due, on the clock of `now_ms`; None if no timer is set."""
        deadline_ms = self._timers.next_deadline_ms
        return None if deadline_ms == NEVER else deadline_ms

    def _describe(self, _request: Request, body: DescribeGroupsRequest) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(
            tuple(describe(group_id, self._groups.get(group_id)) for group_id in body.groups)
        )

    def _fire_until(self, end_ms: int) -> None:
        timers = self._timers
        while (deadline_ms := timers.next_due_ms(end_ms)) != NEVER:
            timers.now_ms = deadline_ms
            timers.pop(self._choose).action()

    def _take(self) -> list[Response]:
        responses = self._outbox.copy()
        self._outbox.clear()
        return responses
