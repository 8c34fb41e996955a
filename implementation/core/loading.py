"""Loading and unloading partitions: groups are restored from the log, or become Dead."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.core.member import GroupTimer, Member
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.replay import Replay
from groupcheck.implementation.core.shared import Component, Shared
from groupcheck.implementation.core.transactions import Transactions
from groupcheck.implementation.log.records import GroupMetadataValue
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState


class Loading(Component):
    """Loads and unloads the partitions of this coordinator."""

    __slots__ = ("_is_shut_down", "_rebalance", "_transactions", "rolled_back")

    def __init__(self, shared: Shared, rebalance: Rebalance, transactions: Transactions) -> None:
        super().__init__(shared)
        self._rebalance = rebalance
        self._transactions = transactions
        self._is_shut_down = False
        self.rolled_back: set[int] = set()

    def load(self, partition: int) -> None:
        """Serve a partition, with the groups and offsets in the log."""
        if self._shared.groups.serving[partition] is Serving.SERVED:
            return
        replay: Replay | None = None  # most partitions are empty
        for batch in self._shared.log.read(partition):
            replay = replay or Replay(self._behaviour, self._shared.next_position)
            replay.read(batch)
        if replay is not None:
            for group_id, value in replay.groups().items():
                self._load(replay, partition, group_id, value)
        self._shared.groups.serving[partition] = Serving.SERVED

    def loading(self, partition: int) -> None:
        """Begin to load a partition, which is unloaded first if it is served."""
        self.unload(partition)
        self._shared.groups.serving[partition] = Serving.LOADING

    def unload(self, partition: int) -> None:
        """Unload a partition; parked requests return NOT_COORDINATOR."""
        self._unload_groups(partition)
        for timer in self._shared.groups.pop_forgotten(partition):
            self._shared.timers.cancel(timer)
        self._transactions.remove_partition(partition)
        self.rolled_back.discard(partition)
        self._shared.groups.serving[partition] = Serving.UNLOADED

    def roll_back(self, partition: int) -> None:
        """Unload a partition of which an append failed after it had taken effect.

        The next `reload` loads it again from the log. In Kafka the disk is then offline, and the
        broker loses its partitions (ReplicaManager.scala:2544).
        """
        if self._shared.groups.serving[partition] is Serving.SERVED and not self._is_shut_down:
            self.unload(partition)
            self.rolled_back.add(partition)

    def reload(self) -> None:
        """Load the partitions whose appends failed."""
        while self.rolled_back:
            self.load(self.rolled_back.pop())

    def shut_down(self) -> None:
        """Answer the parked requests of all partitions; no partition is loaded any more."""
        self._is_shut_down = True
        self.rolled_back.clear()
        for partition in range(len(self._shared.groups.serving)):
            self._unload_groups(partition)

    def _unload_groups(self, partition: int) -> None:
        """Fail the deferred responses of a partition, and unload its groups."""
        appends = self._deferred.fail(partition, ErrorCode.NOT_COORDINATOR)
        self._shared.snapshots.discard(appends)
        answered = {response.request_id for response in self._shared.outbox} if appends else set()
        for group in self._shared.groups.of(partition):
            self._unload_group(group, answered)
            self._shared.groups.discard(group)

    def _unload_group(self, group: Group, answered: Collection[int]) -> None:
        """Mark a group dead; answer its parked requests, except those in `answered`."""
        is_preparing = group.state is GroupState.PREPARING_REBALANCE
        group.state = GroupState.DEAD
        for timer in _timers_of(group):
            self._shared.timers.cancel(timer)
        for member in group.members.values():
            if is_preparing:
                answer = kafka.JoinGroupResponse(
                    ErrorCode.NOT_COORDINATOR, member_id=member.member_id
                )
                request_id = group.unpark_join(member)
                if request_id not in answered:
                    self._shared.answer(request_id, answer)
            else:
                request_id, member.sync_request_id = member.sync_request_id, None
                if request_id not in answered:
                    self._shared.answer(
                        request_id, kafka.SyncGroupResponse(ErrorCode.NOT_COORDINATOR)
                    )

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
        self._shared.groups.add(group)
        if len(group.members) > self._shared.config.group_max_size:
            self._rebalance.prepare(group)
        for member in group.members.values():
            self._shared.keep_alive(member)

    def _restore(self, group: Group, value: GroupMetadataValue) -> None:
        """Restore a group from its record."""
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
                protocols=(kafka.Protocol(value.protocol or "", stored.subscription),),
                assignment=stored.assignment,
            )
            member.counts_as_static |= self._behaviour.null_instance_is_static
            group.add(member, group.protocol_type)
        by_instance: dict[str, list[Member]] = {}
        for member in group.members.values():
            if member.group_instance_id is not None:
                by_instance.setdefault(member.group_instance_id, []).append(member)
        for instance_id, members in by_instance.items():
            # Kafka takes the last of several members, in the order of a hash map.
            if len(members) > 1:
                group.static_members[instance_id] = self._choose(members).member_id
        group.subscribe()


def _timers_of(group: Group) -> Iterator[GroupTimer | None]:
    yield from group.members.values()
    yield from group.pending_members.values()
    yield group.join_timer
    yield group.sync_timer
