"""DescribeGroups, ListGroups, DeleteGroups, OffsetDelete: looking at groups, and ending them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from groupcheck.implementation.core.expiry import Removal
from groupcheck.implementation.core.gate import Gate
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.offsets import TopicPartition
from groupcheck.implementation.core.partitions import Serving
from groupcheck.implementation.core.refusals import by_topic
from groupcheck.implementation.core.shared import Shared
from groupcheck.implementation.core.views import describe
from groupcheck.implementation.core.waiting import Waiter
from groupcheck.model.vocabulary import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ErrorCode,
    GroupState,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    Request,
)

CLASSIC: Final = "classic"


class Deletion:
    """What comes of one DeleteGroups, of partition after partition.

    `named` has for each partition the groups that fare together, `waits` is how many partitions
    have something that is not committed.
    """

    __slots__ = ("named", "request_id", "results", "waits")

    def __init__(self, request_id: int) -> None:
        self.request_id = request_id
        self.results: dict[str, ErrorCode] = {}
        self.named: dict[int, list[str]] = {}
        self.waits = 0

    def fail(self, partition: int, error: ErrorCode) -> None:
        """Let none of a partition be deleted."""
        self.results.update(dict.fromkeys(self.named.pop(partition), error))

    def answer(self) -> DeleteGroupsResponse:
        """What is answered in the end."""
        return DeleteGroupsResponse(
            tuple(DeletableGroupResult(name, error) for name, error in self.results.items())
        )


class AdminApi:
    """What an administrator asks."""

    __slots__ = ("_committed", "_gate", "_groups", "_removal", "_shared", "_traits", "_waiting")

    def __init__(self, shared: Shared, gate: Gate, removal: Removal) -> None:
        self._shared = shared
        self._groups = shared.groups
        self._committed = shared.committed
        self._waiting = shared.waiting
        self._traits = shared.traits
        self._gate = gate
        self._removal = removal

    def describe(self, request: Request, body: DescribeGroupsRequest) -> DescribeGroupsResponse:
        """DescribeGroups."""
        return DescribeGroupsResponse(
            tuple(self._describe(name, request.api_version) for name in body.groups)
        )

    def _describe(self, group_id: str, version: int) -> DescribedGroup:
        group = self._committed.group(group_id)
        if group is None:
            error = self._gate.unserved(group_id)
            if error:
                return DescribedGroup(error, group_id)
            is_error = version >= self._traits.unknown_is_error_since
            error = ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE
            return DescribedGroup(error, group_id, GroupState.DEAD)
        return describe(group, with_assignments=self._traits.keeps_assignments)

    def list_groups(self, _request: Request, body: ListGroupsRequest) -> ListGroupsResponse:
        """ListGroups."""
        error = ErrorCode.NONE
        if Serving.LOADING in self._groups.serving:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            if not self._traits.list_is_strict:
                return ListGroupsResponse(error)
        states, types = set(body.states_filter), set(body.types_filter)
        if not self._traits.list_is_strict:
            states = {state.lower().strip() for state in states}
            types = {kind.lower().strip() for kind in types}
        if types and CLASSIC not in types:
            return ListGroupsResponse(error)
        return ListGroupsResponse(
            error,
            tuple(
                ListedGroup(group.group_id, group.protocol_type or "", group.state, CLASSIC)
                for group in self._committed.groups()
                if self._is_listed(group, states)
            ),
        )

    def _is_listed(self, group: Group, states: set[str]) -> bool:
        state = group.state if self._traits.list_is_strict else group.state.lower()
        return not states or state in states

    # Ending groups

    def delete_groups(
        self, request: Request, body: DeleteGroupsRequest
    ) -> DeleteGroupsResponse | None:
        """DeleteGroups: those that nobody is in go, with their offsets."""
        deletion = Deletion(request.request_id)
        found: dict[int, list[Group]] = {}
        for name in dict.fromkeys(body.groups_names):
            partition = self._groups.partition_of(name)
            group = self._groups.by_id.get(name)
            error = ErrorCode.NONE if group else self._gate.unserved(name)
            deletion.results[name] = error or self._result(group)
            if not error:
                deletion.named.setdefault(partition, []).append(name)
            if group is not None and not deletion.results[name]:
                found.setdefault(partition, []).append(group)
        for partition, groups in found.items():
            self._removal.delete(partition, groups, partial(self._settle, deletion, partition))
        for partition in tuple(deletion.named):
            self._wait(deletion, partition)
        return None if deletion.waits else deletion.answer()

    @staticmethod
    def _result(group: Group | None) -> ErrorCode:
        """Why there is nothing to delete; NONE if there is."""
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if group.state is GroupState.EMPTY else ErrorCode.NON_EMPTY_GROUP

    def _settle(self, deletion: Deletion, partition: int, error: ErrorCode) -> None:
        """All that are named of a partition fare as what is written does."""
        if error and self._traits.writes_are_undone:
            deletion.fail(partition, self._traits.group_errors.get(error, error))

    def _wait(self, deletion: Deletion, partition: int) -> None:
        """Let the results of a partition wait for what was written there."""
        if partition not in self._waiting.queues:
            return
        deletion.waits += 1

        def lost(error: ErrorCode) -> None:
            deletion.fail(partition, error)
            released()

        def released() -> None:
            deletion.waits -= 1
            if not deletion.waits:
                self._shared.answer(deletion.request_id, deletion.answer())

        self._waiting.wait(partition, Waiter(released, lost))

    # Ending offsets

    def delete_offsets(
        self, request: Request, body: OffsetDeleteRequest
    ) -> OffsetDeleteResponse | None:
        """OffsetDelete: offsets go of whose topics no member wants anything."""
        if not body.group_id:
            return OffsetDeleteResponse(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.by_id.get(body.group_id)
        if group is None:
            error = self._gate.unserved(body.group_id)
            return OffsetDeleteResponse(error or ErrorCode.GROUP_ID_NOT_FOUND)
        is_empty = group.state is GroupState.EMPTY
        if not (is_empty or group.uses_consumer_protocol):
            return OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP)
        looks = not is_empty or self._traits.answers_as_asked
        named = [
            ((topic.name, partition.partition_index), looks and group.is_subscribed(topic.name))
            for topic in body.topics
            for partition in topic.partitions
        ]
        free = [partition for partition, subscribed in named if not subscribed]
        self._removal.delete_offsets(
            group, free, partial(self._deleted, request, group.partition, tuple(named))
        )
        return None

    def _deleted(
        self,
        request: Request,
        partition: int,
        named: Iterable[tuple[TopicPartition, bool]],
        error: ErrorCode,
    ) -> None:
        if error:
            error = self._traits.commit_errors.get(error, error)
            self._shared.answer(request.request_id, OffsetDeleteResponse(error))
            return
        if not self._traits.answers_as_asked:
            named = dict(named).items()
        partitions = (
            (
                found,
                OffsetDeleteResponsePartition(
                    found[1],
                    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE,
                ),
            )
            for found, subscribed in named
        )
        topics = by_topic(OffsetDeleteResponseTopic, partitions)
        answer = OffsetDeleteResponse(ErrorCode.NONE, topics)
        self._shared.answer_when_committed(partition, request, answer)
