"""DescribeGroups, ListGroups, DeleteGroups and OffsetDelete."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Final

from groupcheck.implementation.core.deferred import Deferred
from groupcheck.implementation.core.error_responses import each_once
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.core.handler import Handler
from groupcheck.implementation.core.views import describe
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, GroupState, Request

CLASSIC: Final = "classic"


class Deletion:
    """The state of one DeleteGroups request, across partitions.

    `group_ids` has the groups of each partition, which succeed or fail together. `unfinished` is
    the number of partitions that have not finished.
    """

    __slots__ = ("group_ids", "request_id", "results", "unfinished")

    def __init__(self, request_id: int) -> None:
        self.request_id = request_id
        self.results: dict[str, ErrorCode] = {}
        self.group_ids: dict[int, list[str]] = {}
        self.unfinished = 0

    def answer(self) -> kafka.DeleteGroupsResponse:
        """The response, once all partitions have finished."""
        return kafka.DeleteGroupsResponse(
            tuple(kafka.DeletableGroupResult(name, error) for name, error in self.results.items())
        )


class AdminApi(Handler):
    """The APIs of administrators."""

    __slots__ = ()

    def describe(
        self, request: Request, body: kafka.DescribeGroupsRequest
    ) -> kafka.DescribeGroupsResponse:
        """Handle DescribeGroups."""
        return kafka.DescribeGroupsResponse(
            tuple(self._describe(name, request.api_version) for name in body.groups)
        )

    def _describe(self, group_id: str, version: int) -> kafka.DescribedGroup:
        group = self._shared.snapshots.group(group_id)
        if group is None:
            error = self._preconditions.partition_error(group_id)
            if error:
                return kafka.DescribedGroup(error, group_id)
            is_error = version >= self._behaviour.describe_error_since
            error = ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE
            return kafka.DescribedGroup(error, group_id, GroupState.DEAD)
        return describe(group, with_assignments=self._behaviour.describes_assignments_always)

    def list_groups(
        self, _request: Request, body: kafka.ListGroupsRequest
    ) -> kafka.ListGroupsResponse:
        """Handle ListGroups."""
        error = ErrorCode.NONE
        if Serving.LOADING in self._shared.groups.serving:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            if not self._behaviour.list_ignores_loading:
                return kafka.ListGroupsResponse(error)
        states, types = set(body.states_filter), set(body.types_filter)
        if not self._behaviour.list_compares_exactly:
            states = {state.lower().strip() for state in states}
            types = {kind.lower().strip() for kind in types}
        if types and CLASSIC not in types:
            return kafka.ListGroupsResponse(error)
        return kafka.ListGroupsResponse(
            error,
            tuple(
                kafka.ListedGroup(group.group_id, group.protocol_type or "", group.state, CLASSIC)
                for group in self._shared.snapshots.groups()
                if self._is_listed(group, states)
            ),
        )

    def _is_listed(self, group: Group, states: set[str]) -> bool:
        state = group.state if self._behaviour.list_compares_exactly else group.state.lower()
        return not states or state in states

    # Deleting groups

    def delete_groups(
        self, request: Request, body: kafka.DeleteGroupsRequest
    ) -> kafka.DeleteGroupsResponse | None:
        """Handle DeleteGroups: delete the groups that are Empty, with their offsets.

        A partition with uncommitted appends is processed when they are committed: there a first
        write, for groups of another type, waits like any other.
        """
        deletion = Deletion(request.request_id)
        for name in dict.fromkeys(body.groups_names):
            partition = self._shared.groups.partition_of(name)
            deletion.results[name] = ErrorCode.NONE
            deletion.group_ids.setdefault(partition, []).append(name)
        partitions = tuple(deletion.group_ids)
        deletion.unfinished = len(partitions)
        for partition in partitions:
            delete = partial(self._delete, deletion, partition)
            self._when_committed(deletion, partition, partial(self._deferred.due.append, delete))
        return None if partitions else deletion.answer()

    def _delete(self, deletion: Deletion, partition: int) -> None:
        """Delete the groups of a partition."""
        groups: list[Group] = []
        for name in deletion.group_ids[partition]:
            group = self._groups.get(name)
            error = ErrorCode.NONE if group else self._preconditions.partition_error(name)
            deletion.results[name] = error or self._result(group)
            if group is not None and not deletion.results[name]:
                groups.append(group)
        self._removal.delete(partition, groups, partial(self._appended, deletion, partition))

    @staticmethod
    def _result(group: Group | None) -> ErrorCode:
        """The error if the group cannot be deleted."""
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if group.state is GroupState.EMPTY else ErrorCode.NON_EMPTY_GROUP

    def _appended(self, deletion: Deletion, partition: int, error: ErrorCode) -> None:
        """Apply the result of the append to all groups of the partition."""
        if error:
            self._fail(deletion, partition, self._behaviour.group_error(error))
        else:
            self._when_committed(deletion, partition, partial(self._end, deletion))

    def _when_committed(
        self, deletion: Deletion, partition: int, committed: Callable[[], object]
    ) -> None:
        """Continue once all earlier appends to the partition are committed, or fail with them."""
        if partition in self._deferred.queues:
            failed = partial(self._fail, deletion, partition)
            self._deferred.wait(partition, Deferred(committed, failed))
        else:
            committed()

    def _fail(self, deletion: Deletion, partition: int, error: ErrorCode) -> None:
        """Set the error of all groups of a partition."""
        deletion.results.update(dict.fromkeys(deletion.group_ids[partition], error))
        self._end(deletion)

    def _end(self, deletion: Deletion) -> None:
        """Answer, unless another partition is unfinished."""
        deletion.unfinished -= 1
        if not deletion.unfinished:
            self._shared.answer(deletion.request_id, deletion.answer())

    # Deleting offsets

    def delete_offsets(
        self, request: Request, body: kafka.OffsetDeleteRequest
    ) -> kafka.OffsetDeleteResponse | None:
        """Handle OffsetDelete: delete the offsets of topics that no member subscribes to."""
        if not body.group_id:
            return kafka.OffsetDeleteResponse(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(body.group_id)
        if group is None:
            error = self._preconditions.partition_error(body.group_id)
            return kafka.OffsetDeleteResponse(error or ErrorCode.GROUP_ID_NOT_FOUND)
        is_empty = group.state is GroupState.EMPTY
        if not (is_empty or group.uses_consumer_protocol):
            return kafka.OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP)
        checks_topics = not is_empty or self._behaviour.repeats_requested_partitions
        subscribed = {
            topic.name for topic in body.topics if checks_topics and group.is_subscribed(topic.name)
        }
        deletable = [
            (topic.name, partition.partition_index)
            for topic in body.topics
            for partition in topic.partitions
            if topic.name not in subscribed
        ]
        completed = partial(self._deleted, request, body, group.partition, subscribed)
        self._removal.delete_offsets(group, deletable, completed)
        return None

    def _deleted(
        self,
        request: Request,
        body: kafka.OffsetDeleteRequest,
        partition: int,
        subscribed: Collection[str],
        error: ErrorCode,
    ) -> None:
        if error:
            error = self._behaviour.offset_error(error)
            self._shared.answer(request.request_id, kafka.OffsetDeleteResponse(error))
            return
        repeats = self._behaviour.repeats_requested_partitions
        requested = body.topics if repeats else each_once(body).topics
        topics = tuple(
            kafka.OffsetDeleteResponseTopic(
                topic.name,
                tuple(
                    kafka.OffsetDeleteResponsePartition(
                        index,
                        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                        if topic.name in subscribed
                        else ErrorCode.NONE,
                    )
                    for (index,) in topic.partitions
                ),
            )
            for topic in requested
            if topic.partitions
        )
        answer = kafka.OffsetDeleteResponse(ErrorCode.NONE, topics)
        self._shared.answer_when_committed(partition, request, answer)
