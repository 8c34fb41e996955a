"""What `__consumer_offsets` holds, as typed records. Their bytes are another room's.

Names are those of Kafka's message definitions (`group-coordinator/src/main/resources/common/
message/{OffsetCommitKey,OffsetCommitValue,GroupMetadataKey,GroupMetadataValue}.json`) in snake
case, with the unit where there is one.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1


class OffsetCommitKey(NamedTuple):
    """Whose offset it is, and of which partition."""

    group: str
    topic: str
    partition: int


class OffsetCommitValue(NamedTuple):
    """A committed offset; without `expire_timestamp_ms` the broker's retention decides."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = NO_TIMESTAMP
    expire_timestamp_ms: int = NO_TIMESTAMP


class GroupMetadataKey(NamedTuple):
    """Which group it is."""

    group: str


class MemberMetadata(NamedTuple):
    """A member as the log keeps it: of its protocols the metadata of the chosen one alone."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupMetadataValue(NamedTuple):
    """A group as of its last generation that was stored."""

    protocol_type: str
    generation: int
    protocol: str | None = None
    leader: str | None = None
    current_state_timestamp_ms: int = NO_TIMESTAMP
    members: tuple[MemberMetadata, ...] = ()


class OffsetCommitRecord(NamedTuple):
    """An offset that was committed, or, without a value, removed."""

    key: OffsetCommitKey
    value: OffsetCommitValue | None


class GroupMetadataRecord(NamedTuple):
    """A group that was stored, or, without a value, removed."""

    key: GroupMetadataKey
    value: GroupMetadataValue | None


Record = OffsetCommitRecord | GroupMetadataRecord


class Marker(Enum):
    """How a producer's transaction ended."""

    ABORT = 0
    COMMIT = 1


class Batch(NamedTuple):
    """What is appended at once: whole in the log or not at all.

    With a producer, the records are part of that producer's open transaction; with a `marker`
    there are no records, and the transaction ends.
    """

    records: tuple[Record, ...] = ()
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    marker: Marker | None = None
