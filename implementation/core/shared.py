"""The state that all components of the coordinator share: groups, clock, log, outbox.

Where responses are deferred, an append takes effect at once and is committed later. An append that
fails at once leaves no change. If one fails that has taken effect, later appends may depend on it:
`on_failure` handles that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from groupcheck.implementation.core.config import Choose, Config, NewMemberId
from groupcheck.implementation.core.deferred import Append, Deferred, DeferredResponses
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.profiles import Behaviour
from groupcheck.implementation.core.snapshots import CommittedSnapshots, GroupOffset
from groupcheck.implementation.core.timers import Timers
from groupcheck.implementation.log.records import Batch, Completed, Log
from groupcheck.model.vocabulary import ErrorCode, Request, Response, ResponseBody


class UnexpectedError(Exception):
    """Kafka throws an unexpected exception here."""


class Shared:
    """The objects of a coordinator that its components share."""

    __slots__ = (
        "_position",
        "behaviour",
        "choose",
        "config",
        "deferred",
        "groups",
        "log",
        "new_member_id",
        "on_failure",
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
        # Called with the partition when an append fails that has taken effect.
        self.on_failure: Callable[[int], object] = self.groups.discard_unpersisted
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
            completed(self._append(partition, batch, ends).error or ErrorCode.NONE)
        else:
            self.log.append(partition, batch, completed)

    def append_and_wait(
        self,
        partition: int,
        batch: Batch,
        completed: Completed,
        failed: Callable[[ErrorCode], object],
    ) -> None:
        """Append; `completed` is called at the commit, or `failed` if the result stays unknown."""
        if not self.behaviour.defers_responses:
            self.log.append(partition, batch, completed)
            return
        append = self._append(partition, batch, ())
        if append.error is None:
            committed = partial(completed, ErrorCode.NONE)
            self.deferred.wait(partition, Deferred(committed, failed))
        else:
            completed(append.error)

    def _append(self, partition: int, batch: Batch, ends: Iterable[GroupOffset]) -> Append:
        """Append a batch; its error is None while the result is not known."""
        append = Append()

        def appended(error: ErrorCode) -> None:
            append.error = error
            if append.taken_effect:
                self._complete(partition, error)

        self.log.append(partition, batch, appended)
        if append.error:
            self.groups.discard_unpersisted(partition)
        else:
            persisted = self.groups.mark_persisted(partition)
            if append.error is None:
                append.taken_effect = True
                self.deferred.add_append(partition, append)
                self.snapshots.note(append, persisted, batch, ends)
        return append

    def _complete(self, partition: int, error: ErrorCode) -> None:
        """Release the entries that wait for the append, or handle its failure."""
        if error:
            self.on_failure(partition)
        else:
            self.snapshots.discard(self.deferred.release(partition))

    def keep_alive(self, member: Member) -> None:
        """Restart a member's session timer, or cancel it while a parked request keeps it alive."""
        if member.is_new or (member.join_request_id is None and member.sync_request_id is None):
            self.timers.set(member, member.session_timeout_ms)
        else:
            self.timers.cancel(member)


class Component:
    """A component of the coordinator, with the attributes that all components use."""

    __slots__ = ("_behaviour", "_choose", "_deferred", "_groups", "_shared", "_timers")

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._behaviour = shared.behaviour
        self._choose = shared.choose
        self._deferred = shared.deferred
        self._groups = shared.groups.by_id
        self._timers = shared.timers

    @property
    def _config(self) -> Config:
        return self._shared.config
