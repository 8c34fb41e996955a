"""Past bugs of Kafka's about partitions that are lost, and about groups loaded from the log."""

from __future__ import annotations

from collections.abc import Hashable

from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.core.loading import Loading
from groupcheck.implementation.core.preconditions import Preconditions
from groupcheck.implementation.core.replay import Replay
from groupcheck.implementation.log.records import GroupMetadataValue
from groupcheck.model.instances.inputs import GROUP_ID
from groupcheck.model.vocabulary import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    SyncGroupRequest,
)
from support.faults.fault import Faults, api, stored, stored_in

FAILOVER = Faults()


class SkipsRecreatedGroups(Loading):
    __slots__ = ()

    def load(self, partition: int) -> None:
        super().load(partition)
        groups = tuple(self._shared.groups.of(partition))
        if any(stored_in(self._shared, group.group_id)[-1:] == (None,) for group in groups):
            for group in groups:
                self._shared.groups.discard(group)


@FAILOVER.of("KAFKA-4704", hidden=lambda copy: stored(copy)[-1:] == (None,))
def _skips_recreated_groups(coordinator: Coordinator) -> None:
    """A removed group that commits have created again stops the load of its partition."""
    coordinator._loading.__class__ = SkipsRecreatedGroups


class LoadsOldestRecord(Loading):
    __slots__ = ()

    def _load(
        self, replay: Replay, partition: int, group_id: str, value: GroupMetadataValue | None
    ) -> None:
        if value is not None:
            value = stored_in(self._shared, group_id)[0]
        super()._load(replay, partition, group_id, value)


@FAILOVER.of("KAFKA-5600", hidden=lambda copy: stored(copy)[:1])
def _loads_oldest_record(coordinator: Coordinator) -> None:
    """The older of two records of a group in the log takes effect."""
    coordinator._loading.__class__ = LoadsOldestRecord


class LoadsNoTimestampAsExpired(Loading):
    __slots__ = ()

    def _load(
        self, replay: Replay, partition: int, group_id: str, value: GroupMetadataValue | None
    ) -> None:
        offsets = replay.offsets.get(group_id, {})
        for name, offset in offsets.items():
            offsets[name] = offset._replace(expire_timestamp_ms=max(offset.expire_timestamp_ms, 0))
        super()._load(replay, partition, group_id, value)


def _when_they_expire(coordinator: Coordinator) -> Hashable:
    group = coordinator._shared.groups.by_id.get(GROUP_ID)
    offsets = group.offsets.committed.values() if group else ()
    return tuple(sorted(offset.expire_timestamp_ms for offset in offsets))


@FAILOVER.of("KAFKA-8069", hidden=_when_they_expire)
def _loads_no_timestamp_as_expired(coordinator: Coordinator) -> None:
    """An offset without an expiry time has expired when it is loaded."""
    coordinator._loading.__class__ = LoadsNoTimestampAsExpired


class ReturnsNotCoordinatorWhileLoading(Preconditions):
    __slots__ = ()

    def partition_error(self, group_id: str) -> ErrorCode:
        error = super().partition_error(group_id)
        return ErrorCode.NOT_COORDINATOR if error else error


@FAILOVER.of("MINOR #4788")
def _returns_not_coordinator_while_loading(coordinator: Coordinator) -> None:
    """A loading partition is treated as not owned."""
    api(coordinator, HeartbeatRequest)._preconditions.__class__ = ReturnsNotCoordinatorWhileLoading


class ReturnsUnknownMemberAfterUnload(Preconditions):
    __slots__ = ()

    def partition_error(self, group_id: str) -> ErrorCode:
        serving = self._groups.serving[self._groups.partition_of(group_id)]
        is_lost = serving is Serving.UNLOADED
        return ErrorCode.UNKNOWN_MEMBER_ID if is_lost else super().partition_error(group_id)


@FAILOVER.of("KAFKA-8386")
def _returns_unknown_member_after_unload(coordinator: Coordinator) -> None:
    """Members of an unloaded group get UNKNOWN_MEMBER_ID, and join again.

    In Kafka this happened to requests that found the group before it was unloaded and locked it
    afterwards. Requests of the port protocol are not that close together: here it happens to all.
    """
    for request in (HeartbeatRequest, JoinGroupRequest, SyncGroupRequest):
        part = api(coordinator, request)
        shared = coordinator._shared
        part._preconditions = ReturnsUnknownMemberAfterUnload(shared.groups, shared.behaviour)
