"""What the parts of the coordinator share: groups, clock, log, outbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from groupcheck.implementation.core.appends import Appends
from groupcheck.implementation.core.behaviour import Behaviour
from groupcheck.implementation.core.config import Choose, Config, NewMemberId
from groupcheck.implementation.core.deferred import DeferredResponses
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.snapshots import CommittedSnapshots, GroupOffset
from groupcheck.implementation.core.timers import Timers
from groupcheck.implementation.log.log import Completed, Log
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode, Request, Response, ResponseBody


class UnexpectedError(Exception):
    """Kafka throws an unexpected exception here."""


class Shared:
    """The objects of which a coordinator has one each."""

    __slots__ = (
        "_position",
        "appends",
        "behaviour",
        "choose",
        "config",
        "deferred",
        "groups",
        "log",
        "new_member_id",
        "outbox",
        "snapshots",
        "timers",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the options of the coordinator
        self,
        config: Config,
        behaviour: Behaviour,
        log: Log,
        choose: Choose,
        new_member_id: NewMemberId,
        start_ms: int,
    ) -> None:
        self.config = config
        self.behaviour = behaviour
        self.log = log
        self.choose = choose
        self.new_member_id = new_member_id
        self.timers = Timers(start_ms)
        self.groups = Groups(config.offsets_topic_num_partitions)
        # Responses to parked requests, until the current call returns.
        self.outbox: list[Response] = []
        self.deferred = DeferredResponses(self.outbox)
        self.snapshots = CommittedSnapshots(self.groups)
        self.appends = Appends(log, self.groups, self.deferred, self.snapshots)
        self._position = 0

    def answer(self, request_id: int | None, body: ResponseBody) -> bool:
        """Answer a parked request; False if the id is None."""
        if request_id is None:
            return False
        if self.deferred.parked:
            self.deferred.parked.discard(request_id)
        self.outbox.append(Response(request_id, body))
        return True

    def answer_when_committed(self, partition: int, request: Request, body: ResponseBody) -> None:
        """Answer a request once all earlier appends to the partition are committed."""
        answer = self.deferred.answer(partition, request, body)
        if answer is not None:
            self.outbox.append(Response(request.request_id, answer))

    def create(self, group_id: str) -> Group:
        """Create a group."""
        now_ms = self.timers.now_ms
        return self.groups.create(
            group_id, now_ms, unpersisted=self.behaviour.failed_appends_roll_back
        )

    def next_position(self) -> int:
        """The position of the next append, among all appends of this coordinator."""
        self._position += 1
        return self._position

    def append(
        self,
        partition: int,
        batch: Batch,
        completed: Completed,
        *,
        ends: Iterable[GroupOffset] = (),
    ) -> None:
        """Append to the log; `completed` is called with the result, perhaps before this returns.

        Where responses are deferred, it is called at once, and its responses have to wait for the
        commit. `ends` are the offsets that a marker may make readable.
        """
        if self.behaviour.defers_responses:
            self.appends.append(partition, batch, completed, ends)
        else:
            self.log.append(partition, batch, completed)

    def append_and_wait(
        self,
        partition: int,
        batch: Batch,
        completed: Completed,
        lost: Callable[[ErrorCode], object],
    ) -> None:
        """Append; `completed` is called at the commit, or `lost` if the result stays unknown."""
        if self.behaviour.defers_responses:
            self.appends.append_and_wait(partition, batch, completed, lost)
        else:
            self.log.append(partition, batch, completed)

    def keep_alive(self, member: Member) -> None:
        """Restart a member's session timer, or cancel it while a parked request keeps it alive."""
        if member.is_new or (member.join_request_id is None and member.sync_request_id is None):
            self.timers.set(member, member.session_timeout_ms)
        else:
            self.timers.cancel(member)


class Part:
    """A part of the coordinator, with what all parts use."""

    __slots__ = ("_behaviour", "_choose", "_config", "_deferred", "_groups", "_shared", "_timers")

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._behaviour = shared.behaviour
        self._choose = shared.choose
        self._config = shared.config
        self._deferred = shared.deferred
        self._groups = shared.groups.by_id
        self._timers = shared.timers
