"""Past bugs of Kafka about offsets, then about lost partitions and groups loaded from the log."""

from __future__ import annotations

from collections.abc import Hashable

from groupcheck.implementation.core.commit import CommitApi, CommitRequest
from groupcheck.implementation.core.coordinator import Coordinator, Handle
from groupcheck.implementation.core.error_responses import error_response
from groupcheck.implementation.core.fetch import FetchApi
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Groups, Serving
from groupcheck.implementation.core.loading import Loading
from groupcheck.implementation.core.offsets import GroupOffsets, Offset, Offsets, TopicPartition
from groupcheck.implementation.core.preconditions import Preconditions
from groupcheck.implementation.core.removal import GroupRemoval, Removal
from groupcheck.implementation.core.replay import Replay
from groupcheck.implementation.core.timers import NEVER
from groupcheck.implementation.log.records import (
    NO_TIMESTAMP,
    GroupMetadataValue,
    OffsetCommitValue,
)
from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request, ResponseBody
from support.faults.fault import Faults, api_of, stored, stored_in

STORAGE = Faults()


@STORAGE.of("KAFKA-2596", "loners")
class AcceptsAnyGeneration(CommitApi):
    """An OffsetCommit with any generation creates the group."""

    __slots__ = ()

    def commit(self, request: Request, body: kafka.OffsetCommitRequest) -> ResponseBody | None:
        if body.group_id not in self._groups:
            body = body._replace(generation_id=kafka.NO_GENERATION)
        return super().commit(request, body)


@STORAGE.of("KAFKA-3470", "expiry-crashes")
class DoesNotRestartSessions(CommitApi):
    """An OffsetCommit does not restart the session timer of its member."""

    __slots__ = ()

    def _check(self, group: Group, body: kafka.OffsetCommitRequest) -> ErrorCode:
        member = group.members.get(body.member_id)
        deadline_ms = NEVER if member is None else member.deadline_ms
        error = super()._check(group, body)
        if member is not None and deadline_ms != NEVER:
            timers = self._shared.timers
            timers.set(member, deadline_ms - timers.now_ms)
        return error


class AppliesMarkersInOrder(GroupOffsets):
    __slots__ = ()

    def put(self, partition: TopicPartition, value: OffsetCommitValue, position: int) -> None:
        self.committed[partition] = Offset(*value, position)


@STORAGE.of("KAFKA-5247", "loners")
class OrdersOffsetsByMarkers(Groups):
    """A transaction's offset replaces a later one in the log when its marker arrives."""

    __slots__ = ()

    def add(self, group: Group) -> None:
        group.offsets.__class__ = AppliesMarkersInOrder
        super().add(group)


@STORAGE.of("KAFKA-4472", "loners")
def _overflows(coordinator: Coordinator) -> None:
    """The retention overflows 32 bits of milliseconds and may become negative."""
    removal = coordinator._removal
    removal._retention_ms = (removal._retention_ms + 2**31) % 2**32 - 2**31


@STORAGE.of("KAFKA-6773", "loners")
def _rejects_the_empty_group_id(coordinator: Coordinator) -> None:
    """OffsetCommit and OffsetFetch reject the empty group id."""

    def requires_a_group_id(original: Handle) -> Handle:
        def handle(request: Request, body: kafka.OffsetCommitRequest) -> ResponseBody | None:
            if not body.group_id:
                return error_response(request, ErrorCode.INVALID_GROUP_ID)
            return original(request, body)

        return handle

    for api in (kafka.OffsetCommitRequest, kafka.OffsetFetchRequest):
        coordinator._handlers[api] = requires_a_group_id(coordinator._handlers[api])


@STORAGE.of("KAFKA-7403", "loners")
class RequiresRetention(CommitApi):
    """An OffsetCommit with the default retention cannot be written, and fails."""

    __slots__ = ()

    def _append(
        self, request: Request, body: CommitRequest, group: Group, asked: Offsets, producer_id: int
    ) -> ResponseBody | None:
        if (
            isinstance(body, kafka.OffsetCommitRequest)
            and 2 <= request.api_version <= 4
            and body.retention_time_ms == kafka.NO_RETENTION
        ):
            return self._error(body, asked, ErrorCode.UNKNOWN_SERVER_ERROR)
        return super()._append(request, body, group, asked, producer_id)


@STORAGE.of("KAFKA-13636", "expiry-crashes", "4.1")
class ExpiresWhileRebalancing(Removal):
    """Offsets expire during a rebalance, for topics that the group may subscribe to again."""

    __slots__ = ()

    def _can_expire(self, group: Group) -> bool:
        known = group.uses_consumer_protocol and group.subscribed is not None
        return known or super()._can_expire(group)


@STORAGE.of("KAFKA-14201", "loners", "4.1")
class RequiresMembers(CommitApi):
    """An OffsetCommit without a generation fails if it has a group.instance.id."""

    __slots__ = ()

    def _check(self, group: Group, body: kafka.OffsetCommitRequest) -> ErrorCode:
        if group.state is GroupState.EMPTY and body.group_instance_id is not None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return super()._check(group, body)


@STORAGE.of("KAFKA-19163", "loners", "4.1")
class ForgetsTransactions(Removal):
    """A group is removed whose only offsets are pending in a transaction."""

    __slots__ = ()

    def _group_removal(self, group: Group) -> GroupRemoval | None:
        removal = super()._group_removal(group)
        expired = removal.partitions if removal else ()
        if group.state is GroupState.EMPTY and len(expired) == len(group.offsets.committed):
            return GroupRemoval(group, expired, with_group=True)
        return removal


@STORAGE.of("KAFKA-19246", "loners", "4.1")
class DropsErrors(FetchApi):
    """OffsetFetch v1, which has no top-level error, returns no error at all."""

    __slots__ = ()

    def fetch(self, request: Request, body: kafka.OffsetFetchRequest) -> ResponseBody | None:
        answer = super().fetch(request, body)
        if request.api_version > 1 or not isinstance(answer, kafka.OffsetFetchResponse):
            return answer
        topics = tuple(
            topic._replace(
                partitions=tuple(
                    partition._replace(error_code=ErrorCode.NONE) for partition in topic.partitions
                )
            )
            for topic in answer.topics
        )
        return answer._replace(topics=topics)


@STORAGE.of(
    "KAFKA-4704", "failover-administration", hidden=lambda copy: stored(copy)[-1:] == (None,)
)
class SkipsRecreatedGroups(Loading):
    """A removed group that commits have created again stops the load of its partition."""

    __slots__ = ()

    def load(self, partition: int) -> None:
        super().load(partition)
        groups = tuple(self._shared.groups.of(partition))
        if any(stored_in(self._shared, group.group_id)[-1:] == (None,) for group in groups):
            for group in groups:
                self._shared.groups.discard(group)


@STORAGE.of("KAFKA-10401", "expiry-crashes")
class LoadsNoStateTime(Loading):
    """The time since which a group is Empty is not loaded: its offsets expire by their commit."""

    __slots__ = ()

    def _restore(self, group: Group, value: GroupMetadataValue) -> None:
        super()._restore(group, value)
        group.state_since_ms = NO_TIMESTAMP


@STORAGE.of("KAFKA-5600", "reload", hidden=lambda copy: stored(copy)[:1])
class LoadsOldestRecord(Loading):
    """The older of two records of a group in the log takes effect."""

    __slots__ = ()

    def _load(
        self, replay: Replay, partition: int, group_id: str, value: GroupMetadataValue | None
    ) -> None:
        if value is not None:
            value = stored_in(self._shared, group_id)[0]
        super()._load(replay, partition, group_id, value)


def _when_they_expire(coordinator: Coordinator) -> Hashable:
    group = coordinator._shared.groups.by_id.get(GROUP_ID)
    offsets = group.offsets.committed.values() if group else ()
    return tuple(sorted(offset.expire_timestamp_ms for offset in offsets))


@STORAGE.of("KAFKA-8069", "loners", hidden=_when_they_expire)
class LoadsNoTimestampAsExpired(Loading):
    """An offset without an expiry time has expired when it is loaded."""

    __slots__ = ()

    def _load(
        self, replay: Replay, partition: int, group_id: str, value: GroupMetadataValue | None
    ) -> None:
        offsets = replay.offsets.get(group_id, {})
        for name, offset in offsets.items():
            offsets[name] = offset._replace(expire_timestamp_ms=max(offset.expire_timestamp_ms, 0))
        super()._load(replay, partition, group_id, value)


@STORAGE.of("MINOR #4788", "failover-administration")
class ReturnsNotCoordinatorWhileLoading(Preconditions):
    """A loading partition is treated as not owned."""

    __slots__ = ()

    def partition_error(self, group_id: str) -> ErrorCode:
        error = super().partition_error(group_id)
        return ErrorCode.NOT_COORDINATOR if error else error


class ReturnsUnknownMemberAfterUnload(Preconditions):
    __slots__ = ()

    def partition_error(self, group_id: str) -> ErrorCode:
        serving = self._groups.serving[self._groups.partition_of(group_id)]
        is_lost = serving is Serving.UNLOADED
        return ErrorCode.UNKNOWN_MEMBER_ID if is_lost else super().partition_error(group_id)


@STORAGE.of("KAFKA-8386", "failover-administration")
def _returns_unknown_member_after_unload(coordinator: Coordinator) -> None:
    """Members of an unloaded group get UNKNOWN_MEMBER_ID, and join again.

    In Kafka this happened to requests that found the group before it was unloaded and locked it
    afterwards. Requests of the port protocol are not that close together: here it happens to all.
    """
    for request in (kafka.HeartbeatRequest, kafka.JoinGroupRequest, kafka.SyncGroupRequest):
        shared = coordinator._shared
        part = api_of(coordinator, request)
        part._preconditions = ReturnsUnknownMemberAfterUnload(shared.groups, shared.behaviour)
