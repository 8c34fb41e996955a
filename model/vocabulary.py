"""Kafka's vocabulary: states, error codes, requests, responses and inner views as typed records.

This is all that the model and the implementation share: record types, and no rule of the
coordinator. Records are version-independent; `versions` has the fields of each version of an API.
Field names are those of Kafka's message definitions
(`clients/src/main/resources/common/message/*.json`) in snake case; times are in milliseconds,
metadata and assignments are opaque bytes.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple, get_args

NO_GENERATION: Final = -1
NO_MEMBER_ID: Final = ""
NO_OFFSET: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_RETENTION: Final = -1


class GroupState(StrEnum):
    """The states of a classic group, as DescribeGroups spells them."""

    # str's own C hash: Enum's is a Python function, and states are hashed millions of times.
    __hash__ = str.__hash__

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ErrorCode(IntEnum):
    """Kafka's error codes that a coordinator answers with."""

    __hash__ = int.__hash__

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    GROUP_AUTHORIZATION_FAILED = 30
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    KAFKA_STORAGE_ERROR = 56
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    UNSTABLE_OFFSET_COMMIT = 88

    @classmethod
    def _missing_(cls, value: object) -> ErrorCode | None:
        # A port may answer with any code, also one that Kafka does not have.
        if not isinstance(value, int):
            return None
        code = int.__new__(cls, value)
        code._name_, code._value_ = f"ERROR_{value}", value
        return code


class Protocol(NamedTuple):
    """One protocol (assignor) a member supports, with its subscription metadata."""

    name: str
    metadata: bytes


class JoinGroupRequest(NamedTuple):
    """JoinGroup (API key 11)."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1
    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None
    protocol_type: str = "consumer"
    protocols: tuple[Protocol, ...] = ()


class JoinGroupResponseMember(NamedTuple):
    """A member as the leader's JoinGroup response lists it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinGroupResponse(NamedTuple):
    """The answer to JoinGroup; only the leader gets `members`, in any order.

    A leader with `skip_assignment` sends no assignments in its SyncGroup (KIP-814).
    """

    error_code: ErrorCode
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = NO_MEMBER_ID
    member_id: str = NO_MEMBER_ID
    members: tuple[JoinGroupResponseMember, ...] = ()
    skip_assignment: bool = False


class Assignment(NamedTuple):
    """What the leader assigns to one member."""

    member_id: str
    assignment: bytes


class SyncGroupRequest(NamedTuple):
    """SyncGroup (API key 14); only the leader's `assignments` count."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[Assignment, ...] = ()


class SyncGroupResponse(NamedTuple):
    """The answer to SyncGroup: the member's own assignment."""

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class HeartbeatRequest(NamedTuple):
    """Heartbeat (API key 12)."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


class HeartbeatResponse(NamedTuple):
    """The answer to Heartbeat."""

    error_code: ErrorCode


class MemberIdentity(NamedTuple):
    """A member that LeaveGroup names."""

    member_id: str
    group_instance_id: str | None = None


class LeaveGroupRequest(NamedTuple):
    """LeaveGroup (API key 13); before version 3 it names exactly one member."""

    group_id: str
    members: tuple[MemberIdentity, ...]


class MemberResponse(NamedTuple):
    """The result of LeaveGroup for one member."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode


class LeaveGroupResponse(NamedTuple):
    """The answer to LeaveGroup."""

    error_code: ErrorCode
    members: tuple[MemberResponse, ...] = ()


class OffsetCommitRequestPartition(NamedTuple):
    """One partition's offset to commit.

    `commit_age_ms` is how long before the request the offset was committed, negative if the request
    says a time in the future. Kafka's field of version 1 is `commitTimestamp`, the time itself;
    without one the offset is committed by the request.
    """

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = NO_LEADER_EPOCH
    committed_metadata: str | None = ""
    commit_age_ms: int = 0


class OffsetCommitRequestTopic(NamedTuple):
    """One topic's offsets to commit."""

    name: str
    partitions: tuple[OffsetCommitRequestPartition, ...]


class OffsetCommitRequest(NamedTuple):
    """OffsetCommit (API key 8); generation -1 with no member id is a simple consumer.

    Without a retention time the offsets have the broker's.
    """

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None
    topics: tuple[OffsetCommitRequestTopic, ...] = ()
    retention_time_ms: int = NO_RETENTION


class OffsetCommitResponsePartition(NamedTuple):
    """The result of one partition's commit."""

    partition_index: int
    error_code: ErrorCode


class OffsetCommitResponseTopic(NamedTuple):
    """The results of one topic's commits."""

    name: str
    partitions: tuple[OffsetCommitResponsePartition, ...]


class OffsetCommitResponse(NamedTuple):
    """The answer to OffsetCommit."""

    topics: tuple[OffsetCommitResponseTopic, ...] = ()


class OffsetFetchRequestTopic(NamedTuple):
    """The partitions of one topic whose offsets are asked for."""

    name: str
    partition_indexes: tuple[int, ...]


class OffsetFetchRequest(NamedTuple):
    """OffsetFetch (API key 9); `topics` None asks for every committed partition."""

    group_id: str
    topics: tuple[OffsetFetchRequestTopic, ...] | None = None
    require_stable: bool = False


class OffsetFetchResponsePartition(NamedTuple):
    """One partition's committed offset; -1 where there is none."""

    partition_index: int
    committed_offset: int = NO_OFFSET
    committed_leader_epoch: int = NO_LEADER_EPOCH
    metadata: str | None = ""
    error_code: ErrorCode = ErrorCode.NONE


class OffsetFetchResponseTopic(NamedTuple):
    """One topic's committed offsets."""

    name: str
    partitions: tuple[OffsetFetchResponsePartition, ...]


class OffsetFetchResponse(NamedTuple):
    """The answer to OffsetFetch."""

    error_code: ErrorCode = ErrorCode.NONE
    topics: tuple[OffsetFetchResponseTopic, ...] = ()


class DescribeGroupsRequest(NamedTuple):
    """DescribeGroups (API key 15)."""

    groups: tuple[str, ...]


class DescribedGroupMember(NamedTuple):
    """A member as DescribeGroups shows it."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


class DescribedGroup(NamedTuple):
    """A group as DescribeGroups shows it; `protocol_data` is the chosen protocol's name."""

    error_code: ErrorCode
    group_id: str
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedGroupMember, ...] = ()


class DescribeGroupsResponse(NamedTuple):
    """The answer to DescribeGroups."""

    groups: tuple[DescribedGroup, ...]


class TxnOffsetCommitRequestPartition(NamedTuple):
    """One partition's offset to commit in a transaction."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = NO_LEADER_EPOCH
    committed_metadata: str | None = ""


class TxnOffsetCommitRequestTopic(NamedTuple):
    """One topic's offsets to commit in a transaction."""

    name: str
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]


class TxnOffsetCommitRequest(NamedTuple):
    """TxnOffsetCommit (API key 28); before version 3 it does not name its member."""

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int = 0
    generation_id: int = NO_GENERATION
    member_id: str = NO_MEMBER_ID
    group_instance_id: str | None = None
    topics: tuple[TxnOffsetCommitRequestTopic, ...] = ()


class TxnOffsetCommitResponse(NamedTuple):
    """The answer to TxnOffsetCommit, with the fields of OffsetCommit's."""

    topics: tuple[OffsetCommitResponseTopic, ...] = ()


class EndTxnRequest(NamedTuple):
    """The marker that ends a producer's transaction in a group; no request of Kafka's own.

    On Kafka's wire it is an entry of WriteTxnMarkers, which names partitions of the log.
    """

    group_id: str
    producer_id: int
    committed: bool


class EndTxnResponse(NamedTuple):
    """The answer to the marker."""

    error_code: ErrorCode


class ListGroupsRequest(NamedTuple):
    """ListGroups (API key 16); no filter lists every group."""

    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


class ListedGroup(NamedTuple):
    """A group as ListGroups shows it."""

    group_id: str
    protocol_type: str
    group_state: str = ""
    group_type: str = ""


class ListGroupsResponse(NamedTuple):
    """The answer to ListGroups."""

    error_code: ErrorCode
    groups: tuple[ListedGroup, ...] = ()


class DeleteGroupsRequest(NamedTuple):
    """DeleteGroups (API key 42)."""

    groups_names: tuple[str, ...]


class DeletableGroupResult(NamedTuple):
    """The result of the deletion of one group."""

    group_id: str
    error_code: ErrorCode


class DeleteGroupsResponse(NamedTuple):
    """The answer to DeleteGroups."""

    results: tuple[DeletableGroupResult, ...] = ()


class OffsetDeleteRequestPartition(NamedTuple):
    """One partition whose offset is to be deleted."""

    partition_index: int


class OffsetDeleteRequestTopic(NamedTuple):
    """One topic's partitions whose offsets are to be deleted."""

    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...]


class OffsetDeleteRequest(NamedTuple):
    """OffsetDelete (API key 47)."""

    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...] = ()


class OffsetDeleteResponsePartition(NamedTuple):
    """The result of the deletion of one partition's offset."""

    partition_index: int
    error_code: ErrorCode


class OffsetDeleteResponseTopic(NamedTuple):
    """The results of the deletion of one topic's offsets."""

    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]


class OffsetDeleteResponse(NamedTuple):
    """The answer to OffsetDelete; an error of the group leaves no topics."""

    error_code: ErrorCode
    topics: tuple[OffsetDeleteResponseTopic, ...] = ()


RequestBody = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | DescribeGroupsRequest
    | TxnOffsetCommitRequest
    | EndTxnRequest
    | ListGroupsRequest
    | DeleteGroupsRequest
    | OffsetDeleteRequest
)
ResponseBody = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | DescribeGroupsResponse
    | TxnOffsetCommitResponse
    | EndTxnResponse
    | ListGroupsResponse
    | DeleteGroupsResponse
    | OffsetDeleteResponse
)

REQUESTS: Final[dict[str, type[RequestBody]]] = {
    cls.__name__.removesuffix("Request"): cls for cls in get_args(RequestBody)
}
RESPONSES: Final[dict[str, type[ResponseBody]]] = {
    cls.__name__.removesuffix("Response"): cls for cls in get_args(ResponseBody)
}
API_OF: Final[dict[type, str]] = {cls: api for api, cls in (*REQUESTS.items(), *RESPONSES.items())}


class Request(NamedTuple):
    """One request with its envelope; `request_id` is unique within a test."""

    request_id: int
    api_version: int
    body: RequestBody
    client_id: str = "client"
    client_host: str = "/127.0.0.1"

    @property
    def api(self) -> str:
        """Kafka's name of the API, without "Request"."""
        return API_OF[type(self.body)]


class Response(NamedTuple):
    """The answer to the request with that id."""

    request_id: int
    body: ResponseBody


class MemberView(NamedTuple):
    """A member as a port's inner state shows it; None where the port does not show the field."""

    member_id: str
    group_instance_id: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    awaiting_join: bool | None = None
    awaiting_sync: bool | None = None
    assignment: bytes | None = None


class GroupView(NamedTuple):
    """A group as a port's inner state shows it; None where the port does not show the field."""

    group_id: str
    state: str | None = None
    generation_id: int | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: tuple[MemberView, ...] | None = None
    pending_members: tuple[str, ...] | None = None
    offsets: tuple[OffsetCommitRequestTopic, ...] | None = None
