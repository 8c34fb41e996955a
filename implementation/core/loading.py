"""Partitions come and go: groups are loaded from the log, unloaded, or lost. No API is here."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import GroupTimer, Member
from groupcheck.implementation.core.partitions import Serving
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.replay import Replay
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.transactions import Transactions
from groupcheck.implementation.log.records import GroupMetadataValue
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    JoinGroupResponse,
    Protocol,
    SyncGroupResponse,
)


class Loading:
    """The partitions that this coordinator serves, loads, or does not have."""

    __slots__ = (
        "_groups",
        "_is_over",
        "_rebalance",
        "_shared",
        "_traits",
        "_transactions",
        "reverted",
    )

    def __init__(self, shared: Shared, rebalance: Rebalance, transactions: Transactions) -> None:
        self._shared = shared
        self._groups = shared.groups
        self._traits = shared.traits
        self._rebalance = rebalance
        self._transactions = transactions
        self._is_over = False
        self.reverted: set[int] = set()

    def load(self, partition: int) -> None:
        """Serve a partition, with what the log says of its groups."""
        if self._groups.serving[partition] is Serving.SERVED:
            return
        replay: Replay | None = None  # most partitions have nothing in them
        for batch in self._shared.log.read(partition):
            replay = replay or Replay(self._traits, self._shared.next_position)
            replay.read(batch)
        if replay is not None:
            for group_id, value in replay.found().items():
                self._load(replay, partition, group_id, value)
        self._groups.serving[partition] = Serving.SERVED

    def loading(self, partition: int) -> None:
        """Begin to load a partition; one that is served is lost first."""
        self.unload(partition)
        self._groups.serving[partition] = Serving.LOADING

    def unload(self, partition: int) -> None:
        """Lose a partition: whoever waits there is told to look elsewhere."""
        told = self._lose_answers(partition)
        for group in self._groups.of(partition):
            self._lose(group, told)
            self._groups.discard(group)
        self._transactions.forget(partition)
        self.reverted.discard(partition)
        self._groups.serving[partition] = Serving.UNLOADED

    def revert(self, partition: int) -> None:
        """Lose a partition of which an append has failed that had taken effect, or was loaded.

        It is served again, with what is in the log, from the next `reload` on. In Kafka the disk is
        offline then, and its partitions are lost (ReplicaManager.scala:2544).
        """
        if self._groups.serving[partition] is Serving.SERVED and not self._is_over:
            self.unload(partition)
            self.reverted.add(partition)

    def reload(self) -> None:
        """Load the partitions that were lost because appends failed."""
        while self.reverted:
            self.load(self.reverted.pop())

    def shut_down(self) -> None:
        """Tell all who wait, whichever partition it is for; what is served is served later."""
        self._is_over = True
        self.reverted.clear()
        for partition in range(len(self._groups.serving)):
            told = self._lose_answers(partition)
            for group in self._groups.of(partition):
                self._lose(group, told)
                self._groups.discard(group)

    def _lose_answers(self, partition: int) -> Collection[int]:
        """Lose the answers that wait for what was written; who has been told of that."""
        lost = self._shared.waiting.lose(partition, ErrorCode.NOT_COORDINATOR)
        self._shared.committed.forget(lost)
        return {response.request_id for response in self._shared.outbox} if lost else ()

    def _lose(self, group: Group, told: Collection[int]) -> None:
        """Let a group be Dead here; those who wait are told, unless they were already."""
        was = group.state
        group.state = GroupState.DEAD
        for timer in _timers_of(group):
            self._shared.timers.cancel(timer)
        for member in group.members.values():
            if was is GroupState.PREPARING_REBALANCE:
                answer = JoinGroupResponse(ErrorCode.NOT_COORDINATOR, member_id=member.member_id)
                request_id = group.unpark_join(member)
                if request_id not in told:
                    self._shared.answer(request_id, answer)
            else:
                request_id, member.sync_request_id = member.sync_request_id, None
                if request_id not in told:
                    self._shared.answer(request_id, SyncGroupResponse(ErrorCode.NOT_COORDINATOR))

    # One group

    def _load(
        self, replay: Replay, partition: int, group_id: str, value: GroupMetadataValue | None
    ) -> None:
        group = Group(group_id, partition, self._shared.timers.now_ms)
        if value is not None:
            self._restore(group, value)
        group.offsets.committed.update(replay.offsets.get(group_id, {}))
        for producer_id, staged in replay.transactions(group_id):
            group.offsets.transactions[producer_id] = staged
            self._transactions.opened(group, producer_id)
        self._groups.add(group)
        if len(group.members) > self._shared.config.group_max_size:
            self._rebalance.prepare(group)
        for member in group.members.values():
            self._shared.keep_alive(member)

    def _restore(self, group: Group, value: GroupMetadataValue) -> None:
        """Make a group what a record says."""
        group.state = GroupState.STABLE if value.members else GroupState.EMPTY
        group.state_since_ms = value.current_state_timestamp_ms
        group.generation_id = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        group.leader_id = value.leader
        for stored in value.members:
            member = Member(
                group,
                *stored[:6],
                protocols=(Protocol(value.protocol or "", stored.subscription),),
                assignment=stored.assignment,
            )
            member.counts_as_static |= self._traits.loaded_null_instances
            group.add(member, group.protocol_type)
        group.subscribe()


def _timers_of(group: Group) -> Iterator[GroupTimer | None]:
    yield from group.members.values()
    yield from group.pending_members.values()
    yield group.join_timer
    yield group.sync_timer
