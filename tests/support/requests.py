"""Short forms of requests: as records, and as what the clients of a group send."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID, PRODUCER_ID, PROTOCOLS
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity, RequestBody

A = TypeVar("A")
T = TypeVar("T")
Partition = tuple[str, int]
# An offset to commit, perhaps with its leader epoch and metadata.
Offset = int | tuple[int, int, str] | tuple[int, int, str, int]
Offsets = Mapping[Partition, Offset] | Sequence[tuple[Partition, Offset]]

SESSION_MS, REBALANCE_MS = 10_000, 4_000
PARTITION = ("payments", 2)

# JoinGroup returns MEMBER_ID_REQUIRED to dynamic members from version 4 on; instance ids come with
# version 5.
OLD_JOIN, NEW_JOIN = 3, 7


def join(
    member_id: str = "",
    *,
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    instance: str | None = None,
    **changed: Any,
) -> kafka.JoinGroupRequest:
    """A JoinGroup, with other fields `changed`."""
    body = kafka.JoinGroupRequest(
        GROUP_ID, session_ms, rebalance_ms, member_id, instance, protocols=PROTOCOLS
    )
    return body._replace(**changed)


def sync(
    member_id: str,
    generation_id: int = 1,
    assignments: Mapping[str, bytes] | None = None,
    *,
    instance: str | None = None,
    **changed: Any,
) -> kafka.SyncGroupRequest:
    """A SyncGroup; without `assignments` it assigns "part" to the member itself."""
    items = ({member_id: b"part"} if assignments is None else assignments).items()
    given = tuple(kafka.Assignment(*item) for item in items)
    body = kafka.SyncGroupRequest(
        GROUP_ID, generation_id, member_id, instance, "consumer", "range", given
    )
    return body._replace(**changed)


def heartbeat(
    member_id: str = "#1", generation_id: int = 1, instance: str | None = None
) -> kafka.HeartbeatRequest:
    """A Heartbeat."""
    return kafka.HeartbeatRequest(GROUP_ID, generation_id, member_id, instance)


def leave(*members: str | MemberIdentity) -> kafka.LeaveGroupRequest:
    """A LeaveGroup of these members."""
    identities = (MemberIdentity(m) if isinstance(m, str) else m for m in members)
    return kafka.LeaveGroupRequest(GROUP_ID, tuple(identities))


def commit_of(
    offsets: Offsets,
    member_id: str = "",
    generation_id: int = -1,
    *,
    instance: str | None = None,
    **changed: Any,
) -> kafka.OffsetCommitRequest:
    """An OffsetCommit of these offsets, of a simple consumer unless it names a member."""
    partitions = _partitions(kafka.OffsetCommitRequestPartition, offsets)
    topics = by_topic(kafka.OffsetCommitRequestTopic, partitions)
    body = kafka.OffsetCommitRequest(GROUP_ID, generation_id, member_id, instance, topics)
    return body._replace(**changed)


def txn_commit_of(
    offsets: Offsets, *, producer: int = PRODUCER_ID, instance: str | None = None, **changed: Any
) -> kafka.TxnOffsetCommitRequest:
    """A TxnOffsetCommit of these offsets, which names no member unless `changed` does."""
    partitions = _partitions(kafka.TxnOffsetCommitRequestPartition, offsets)
    topics = by_topic(kafka.TxnOffsetCommitRequestTopic, partitions)
    body = kafka.TxnOffsetCommitRequest("transaction", GROUP_ID, producer, topics=topics)
    return body._replace(group_instance_id=instance, **changed)


def _partitions(made: Callable[..., T], offsets: Offsets) -> Iterator[tuple[str, T]]:
    pairs = offsets.items() if isinstance(offsets, Mapping) else offsets
    for (topic, index), given in pairs:
        yield topic, made(index, *(given if isinstance(given, tuple) else (given,)))


def fetch_of(*partitions: Partition, **changed: Any) -> kafka.OffsetFetchRequest:
    """An OffsetFetch of these partitions, or of all that have an offset."""
    topics = by_topic(kafka.OffsetFetchRequestTopic, partitions)
    return kafka.OffsetFetchRequest(GROUP_ID, topics or None)._replace(**changed)


def delete_of(*partitions: Partition, group_id: str = GROUP_ID) -> kafka.OffsetDeleteRequest:
    """An OffsetDelete of these partitions."""
    indexes = ((t, kafka.OffsetDeleteRequestPartition(index)) for t, index in partitions)
    return kafka.OffsetDeleteRequest(group_id, by_topic(kafka.OffsetDeleteRequestTopic, indexes))


def by_topic(
    topic: Callable[[str, tuple[T, ...]], A], partitions: Iterable[tuple[str, T]]
) -> tuple[A, ...]:
    """The partitions as one record for each topic."""
    topics: dict[str, list[T]] = {}
    for name, partition in partitions:
        topics.setdefault(name, []).append(partition)
    return tuple(topic(name, tuple(found)) for name, found in topics.items())


def errors_of(answer: Any) -> dict[Partition, ErrorCode]:
    """The error of each partition of a response."""
    return {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions}


def partition_error(answer: Any) -> ErrorCode:
    """The error of the first partition of a response."""
    error: ErrorCode = answer.topics[0].partitions[0].error_code
    return error


def offset_of(answer: Any) -> int:
    """The committed offset of the first partition of an OffsetFetch response."""
    committed: int = answer.topics[0].partitions[0].committed_offset
    return committed


class Call(Generic[A]):
    """A request that was sent, and its answer once there is one."""

    def __init__(self, clients: Clients, request_id: int) -> None:
        self._clients = clients
        self.request_id = request_id

    @property
    def answered(self) -> bool:
        """Whether it has been answered."""
        return self._clients.answer_to(self.request_id) is not None

    @property
    def answer(self) -> A:
        """Its answer; the test fails while there is none."""
        assert self.answered, "not answered yet"
        answer: A = self._clients.answer_to(self.request_id)
        return answer


class Clients(ABC):
    """The clients of one group; a subclass has the coordinator that answers.

    A method returns the call if the answer may come later, else what the answer says.
    """

    rebalance_ms = 60_000
    protocols = PROTOCOLS

    @abstractmethod
    def send(self, body: RequestBody, version: int = 0) -> Call[Any]:
        """Send a request in a version of its API."""

    @abstractmethod
    def answer_to(self, request_id: int) -> Any:
        """The answer to a request, None while there is none."""

    def join(
        self, member_id: str = "", *, id_required: bool = False, **changed: Any
    ) -> Call[kafka.JoinGroupResponse]:
        """JoinGroup, of a version that returns MEMBER_ID_REQUIRED only if `id_required`."""
        own: dict[str, Any] = {"rebalance_ms": self.rebalance_ms, "protocols": self.protocols}
        body = join(member_id, **own | changed)
        is_new = id_required or body.group_instance_id is not None
        return self.send(body, NEW_JOIN if is_new else OLD_JOIN)

    def sync(
        self,
        member_id: str,
        generation_id: int = 1,
        assignments: Mapping[str, bytes] | None = None,
        **changed: Any,
    ) -> Call[kafka.SyncGroupResponse]:
        """SyncGroup, of a version that names type and protocol only if `changed` does."""
        fields = {"protocol_type": None, "protocol_name": None} | changed
        body = sync(member_id, generation_id, assignments or {}, **fields)
        return self.send(body, 4 if body.protocol_type is body.protocol_name is None else 5)

    def heartbeat(
        self, member_id: str, generation_id: int = 1, instance: str | None = None
    ) -> ErrorCode:
        """Heartbeat, and its error."""
        error: ErrorCode = self.send(
            heartbeat(member_id, generation_id, instance), 4
        ).answer.error_code
        return error

    def leave(self, *members: str | MemberIdentity) -> list[ErrorCode]:
        """LeaveGroup, and the error of each member."""
        answer = self.send(leave(*members), 4).answer
        assert answer.error_code is ErrorCode.NONE
        return [member.error_code for member in answer.members]

    def commit(
        self,
        member_id: str = "",
        generation_id: int = -1,
        offsets: Offsets | None = None,
        **changed: Any,
    ) -> ErrorCode:
        """OffsetCommit, and the one error of all its partitions."""
        body = commit_of(offsets or {PARTITION: 42}, member_id, generation_id, **changed)
        (error,) = {*errors_of(self.send(body, 8).answer).values()}
        return error

    def txn_commit(
        self, offset: int = 42, partition: Partition = PARTITION, **changed: Any
    ) -> ErrorCode:
        """TxnOffsetCommit of one partition, and its error."""
        call = self.send(txn_commit_of({partition: offset}, **changed), 3)
        return partition_error(call.answer)

    def end_txn(self, *, committed: bool, producer: int = PRODUCER_ID) -> None:
        """The marker of a producer's transaction, which succeeds."""
        call = self.send(kafka.EndTxnRequest(GROUP_ID, producer, committed))
        assert call.answer.error_code is ErrorCode.NONE

    def fetch(
        self, *partitions: Partition, **changed: Any
    ) -> dict[Partition, kafka.OffsetFetchResponsePartition]:
        """OffsetFetch of stable offsets: of these partitions, or of all that have one."""
        body = fetch_of(*partitions, **{"require_stable": True, **changed})
        answer = self.send(body, 7).answer
        assert answer.error_code is ErrorCode.NONE
        return {(t.name, p.partition_index): p for t in answer.topics for p in t.partitions}

    def readable(
        self, partition: Partition = PARTITION, *, stable: bool = False
    ) -> int | ErrorCode:
        """The offset of a partition that OffsetFetch returns, -1 if there is none, or the error."""
        answer = self.send(fetch_of(partition, require_stable=stable), 7).answer
        return partition_error(answer) or offset_of(answer)

    def delete_group(self, group_id: str = GROUP_ID) -> ErrorCode:
        """DeleteGroups of one group, and its error."""
        (result,) = self.send(kafka.DeleteGroupsRequest((group_id,)), 2).answer.results
        error: ErrorCode = result.error_code
        return error

    def delete_offsets(self, *partitions: Partition) -> kafka.OffsetDeleteResponse:
        """OffsetDelete, and its answer."""
        answer: kafka.OffsetDeleteResponse = self.send(delete_of(*partitions)).answer
        return answer

    def listed(self, *states: str) -> tuple[kafka.ListedGroup, ...]:
        """ListGroups of the groups in these states, or of all."""
        answer: kafka.ListGroupsResponse = self.send(kafka.ListGroupsRequest(states), 4).answer
        assert answer.error_code is ErrorCode.NONE
        return answer.groups

    def describe(self, group_id: str = GROUP_ID) -> kafka.DescribedGroup:
        """DescribeGroups of one group."""
        answer = self.send(kafka.DescribeGroupsRequest((group_id,)), 5).answer
        described: kafka.DescribedGroup
        (described,) = answer.groups
        return described
