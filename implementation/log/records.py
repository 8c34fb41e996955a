"""The records of `__consumer_offsets`, as typed records, and the interface of a log of them.

Names are those of Kafka's message definitions (`group-coordinator/src/main/resources/common/
message/{OffsetCommitKey,OffsetCommitValue,GroupMetadataKey,GroupMetadataValue}.json`) in snake
case, with the unit where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final, NamedTuple, Protocol

from groupcheck.model.vocabulary import ErrorCode

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1


class OffsetCommitKey(NamedTuple):
    """The group and partition of an offset."""

    group: str
    topic: str
    partition: int


class OffsetCommitValue(NamedTuple):
    """A committed offset; without `expire_timestamp_ms` the broker's retention applies."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = NO_TIMESTAMP
    expire_timestamp_ms: int = NO_TIMESTAMP


class GroupMetadataKey(NamedTuple):
    """The group id."""

    group: str


class MemberMetadata(NamedTuple):
    """A stored member, with the metadata of the chosen protocol only."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupMetadataValue(NamedTuple):
    """A group as of its last stored generation."""

    protocol_type: str
    generation: int
    protocol: str | None = None
    leader: str | None = None
    current_state_timestamp_ms: int = NO_TIMESTAMP
    members: tuple[MemberMetadata, ...] = ()


class OffsetCommitRecord(NamedTuple):
    """A committed offset; without a value a tombstone."""

    key: OffsetCommitKey
    value: OffsetCommitValue | None


class GroupMetadataRecord(NamedTuple):
    """A stored group; without a value a tombstone."""

    key: GroupMetadataKey
    value: GroupMetadataValue | None


Record = OffsetCommitRecord | GroupMetadataRecord


class Marker(Enum):
    """How a producer's transaction ended."""

    ABORT = 0
    COMMIT = 1


class Batch(NamedTuple):
    """The records of one append: the log has all of them or none.

    With a producer id, the records are in that producer's open transaction; with a `marker` there
    are no records, and the transaction ends.
    """

    records: tuple[Record, ...] = ()
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    marker: Marker | None = None


Completed = Callable[[ErrorCode], None]


class Log(Protocol):
    """A log as the coordinator uses it: the partitions of `__consumer_offsets` that it leads."""

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Append a batch; `completed` is called with the result, perhaps before this returns.

        A failed append leaves nothing in the log, unless the error comes after the leader's append
        (REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND). Appends to one partition complete in
        their order, except that one may fail before this returns. `completed` is called on the
        coordinator's thread.
        """
        ...

    def read(self, partition: int) -> Iterable[Batch]:
        """All batches of a partition that compaction keeps, in the order of the log."""
        ...
