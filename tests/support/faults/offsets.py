"""Past bugs of Kafka about offsets: checks of commits, fetches, expiry."""

from __future__ import annotations

from groupcheck.implementation.core.commit import CommitApi, CommitRequest
from groupcheck.implementation.core.coordinator import Coordinator, Handle
from groupcheck.implementation.core.error_responses import error_response
from groupcheck.implementation.core.fetch import FetchApi
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.offsets import Offsets
from groupcheck.implementation.core.removal import GroupRemoval, Removal
from groupcheck.model.vocabulary import (
    NO_GENERATION,
    NO_RETENTION,
    ErrorCode,
    GroupState,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    ResponseBody,
)
from support.faults.fault import Faults, api, become, wrap

OFFSETS = Faults()


class AcceptsAnyGeneration(CommitApi):
    __slots__ = ()

    def commit(self, request: Request, body: OffsetCommitRequest) -> ResponseBody | None:
        if body.group_id not in self._groups:
            body = body._replace(generation_id=NO_GENERATION)
        return super().commit(request, body)


@OFFSETS.of("KAFKA-2596")
def _accepts_any_generation(coordinator: Coordinator) -> None:
    """An OffsetCommit with any generation creates the group."""
    become(coordinator, api(coordinator, OffsetCommitRequest), AcceptsAnyGeneration)


@OFFSETS.of("KAFKA-4472")
def _overflows(coordinator: Coordinator) -> None:
    """The retention overflows 32 bits of milliseconds and may become negative."""
    removal = coordinator._removal
    removal._retention_ms = (removal._retention_ms + 2**31) % 2**32 - 2**31


def _requires_a_group_id(original: Handle) -> Handle:
    def handle(request: Request, body: OffsetCommitRequest) -> ResponseBody | None:
        if not body.group_id:
            return error_response(request, ErrorCode.INVALID_GROUP_ID)
        return original(request, body)

    return handle


@OFFSETS.of("KAFKA-6773")
def _rejects_the_empty_group_id(coordinator: Coordinator) -> None:
    """OffsetCommit and OffsetFetch reject the empty group id."""
    wrap(coordinator, OffsetCommitRequest, _requires_a_group_id)
    wrap(coordinator, OffsetFetchRequest, _requires_a_group_id)


class RequiresRetention(CommitApi):
    __slots__ = ()

    def _append(
        self, request: Request, body: CommitRequest, group: Group, asked: Offsets, producer_id: int
    ) -> ResponseBody | None:
        if (
            isinstance(body, OffsetCommitRequest)
            and 2 <= request.api_version <= 4
            and body.retention_time_ms == NO_RETENTION
        ):
            return self._error(body, asked, ErrorCode.UNKNOWN_SERVER_ERROR)
        return super()._append(request, body, group, asked, producer_id)


@OFFSETS.of("KAFKA-7403")
def _requires_retention(coordinator: Coordinator) -> None:
    """An OffsetCommit with the default retention cannot be written, and fails."""
    become(coordinator, api(coordinator, OffsetCommitRequest), RequiresRetention)


class ExpiresWhileRebalancing(Removal):
    __slots__ = ()

    def _can_expire(self, group: Group) -> bool:
        known = group.uses_consumer_protocol and group.subscribed is not None
        return known or super()._can_expire(group)


@OFFSETS.of("KAFKA-13636", "4.1")
def _expires_while_rebalancing(coordinator: Coordinator) -> None:
    """Offsets expire during a rebalance, for topics that the group may subscribe to again."""
    become(coordinator, coordinator._removal, ExpiresWhileRebalancing)


class RequiresMembers(CommitApi):
    __slots__ = ()

    def _check(self, group: Group, body: OffsetCommitRequest) -> ErrorCode:
        if group.state is GroupState.EMPTY and body.group_instance_id is not None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return super()._check(group, body)


@OFFSETS.of("KAFKA-14201", "4.1")
def _requires_members(coordinator: Coordinator) -> None:
    """An OffsetCommit without a generation fails if it has a group.instance.id."""
    become(coordinator, api(coordinator, OffsetCommitRequest), RequiresMembers)


class ForgetsTransactions(Removal):
    __slots__ = ()

    def _group_removal(self, group: Group) -> GroupRemoval | None:
        removal = super()._group_removal(group)
        expired = removal.partitions if removal else ()
        if group.state is GroupState.EMPTY and len(expired) == len(group.offsets.committed):
            return GroupRemoval(group, expired, whole=True)
        return removal


@OFFSETS.of("KAFKA-19163", "4.1")
def _forgets_transactions(coordinator: Coordinator) -> None:
    """A group is removed whose only offsets are pending in a transaction."""
    become(coordinator, coordinator._removal, ForgetsTransactions)


class DropsErrors(FetchApi):
    __slots__ = ()

    def fetch(self, request: Request, body: OffsetFetchRequest) -> ResponseBody | None:
        answer = super().fetch(request, body)
        if request.api_version > 1 or not isinstance(answer, OffsetFetchResponse):
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


@OFFSETS.of("KAFKA-19246", "4.1")
def _drops_errors(coordinator: Coordinator) -> None:
    """OffsetFetch v1, which has no top-level error, returns no error at all."""
    become(coordinator, api(coordinator, OffsetFetchRequest), DropsErrors)
