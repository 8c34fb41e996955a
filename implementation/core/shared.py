"""What the parts of the coordinator share: its groups, clock, log and outbox. No rule is here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from groupcheck.implementation.core.committed import Committed, GroupOffset
from groupcheck.implementation.core.config import Choose, Config, NewMemberId
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.timers import Timers
from groupcheck.implementation.core.traits import Traits
from groupcheck.implementation.core.waiting import Waiting
from groupcheck.implementation.core.writing import Writing
from groupcheck.implementation.log.log import Completed, Log
from groupcheck.implementation.log.records import Batch
from groupcheck.model.vocabulary import ErrorCode, Request, Response, ResponseBody


class UnexpectedError(Exception):
    """Kafka fails here with an exception of its own, in the middle of what it does."""


class Shared:
    """The one of each that there is in a coordinator."""

    __slots__ = (
        "_position",
        "choose",
        "committed",
        "config",
        "groups",
        "log",
        "new_member_id",
        "outbox",
        "timers",
        "traits",
        "waiting",
        "writing",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - these are all there is
        self,
        config: Config,
        traits: Traits,
        log: Log,
        choose: Choose,
        new_member_id: NewMemberId,
        start_ms: int,
    ) -> None:
        self.config = config
        self.traits = traits
        self.log = log
        self.choose = choose
        self.new_member_id = new_member_id
        self.timers = Timers(start_ms)
        self.groups = Groups(config.offsets_topic_num_partitions)
        # Where the answers to parked requests gather until the call that released them returns.
        self.outbox: list[Response] = []
        self.waiting = Waiting(self.outbox)
        self.committed = Committed(self.groups)
        self.writing = Writing(log, self.groups, self.waiting, self.committed)
        self._position = 0

    def answer(self, request_id: int | None, body: ResponseBody) -> bool:
        """Answer a parked request; False if there is none."""
        if request_id is None:
            return False
        if self.waiting.parked:
            self.waiting.parked.discard(request_id)
        self.outbox.append(Response(request_id, body))
        return True

    def answer_when_committed(self, partition: int, request: Request, body: ResponseBody) -> None:
        """Answer a request once all that was written to the partition so far is committed."""
        answer = self.waiting.answer(partition, request, body)
        if answer is not None:
            self.outbox.append(Response(request.request_id, answer))

    def create(self, group_id: str) -> Group:
        """A new group."""
        now_ms = self.timers.now_ms
        return self.groups.create(group_id, now_ms, unwritten=self.traits.writes_are_undone)

    def next_position(self) -> int:
        """Where the next append stands, among all of this coordinator."""
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
        """Append to the log, with what comes of it: `completed` is told how it went, perhaps now.

        Where answers wait it is told at once, and may not answer before all is committed. `ends`
        are the offsets that a marker may make readable.
        """
        if self.traits.answers_wait:
            self.writing.append(partition, batch, completed, ends)
        else:
            self.log.append(partition, batch, completed)

    def append_and_wait(
        self,
        partition: int,
        batch: Batch,
        completed: Completed,
        lost: Callable[[ErrorCode], object],
    ) -> None:
        """The same, but `completed` is told when it is committed, or `lost` if nobody will know."""
        if self.traits.answers_wait:
            self.writing.append_and_wait(partition, batch, completed, lost)
        else:
            self.log.append(partition, batch, completed)

    def keep_alive(self, member: Member) -> None:
        """Start the member's session anew, unless it has none while it waits for an answer."""
        if member.is_new or (member.join_request_id is None and member.sync_request_id is None):
            self.timers.set(member, member.session_timeout_ms)
        else:
            self.timers.cancel(member)
