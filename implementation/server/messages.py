"""The messages of the other APIs that clients need, as typed records like those of the vocabulary.

They have no versions, and only the fields that this broker reads or sets. Field names are those of
Kafka's message definitions in snake case.
"""

# ruff: noqa: D101 - the names of messages and of their parts are Kafka's

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.vocabulary import ErrorCode, OffsetFetchRequestTopic, OffsetFetchResponseTopic

# Kafka's error codes that no coordinator returns (Errors.java).
OFFSET_OUT_OF_RANGE: Final = ErrorCode(1)
CORRUPT_MESSAGE: Final = ErrorCode(2)
LEADER_NOT_AVAILABLE: Final = ErrorCode(5)
INVALID_TOPIC_EXCEPTION: Final = ErrorCode(17)
TOPIC_ALREADY_EXISTS: Final = ErrorCode(36)
INVALID_PARTITIONS: Final = ErrorCode(37)
NOT_CONTROLLER: Final = ErrorCode(41)
INVALID_PRODUCER_EPOCH: Final = ErrorCode(47)
INVALID_TXN_STATE: Final = ErrorCode(48)
INVALID_PRODUCER_ID_MAPPING: Final = ErrorCode(49)
INVALID_TRANSACTION_TIMEOUT: Final = ErrorCode(50)
FETCH_SESSION_ID_NOT_FOUND: Final = ErrorCode(70)


class ApiVersionsRequest(NamedTuple):
    """ApiVersions (API key 18)."""


class ApiVersion(NamedTuple):
    api_key: int
    min_version: int
    max_version: int


class ApiVersionsResponse(NamedTuple):
    error_code: ErrorCode
    api_keys: tuple[ApiVersion, ...]


class MetadataRequestTopic(NamedTuple):
    name: str


class MetadataRequest(NamedTuple):
    """Metadata (API key 3); None requests all topics, as does an empty array in version 0."""

    topics: tuple[MetadataRequestTopic, ...] | None = None
    allow_auto_topic_creation: bool = True


class MetadataResponseBroker(NamedTuple):
    node_id: int
    host: str
    port: int


class MetadataResponsePartition(NamedTuple):
    error_code: ErrorCode
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


class MetadataResponseTopic(NamedTuple):
    error_code: ErrorCode
    name: str
    partitions: tuple[MetadataResponsePartition, ...] = ()
    is_internal: bool = False


class MetadataResponse(NamedTuple):
    brokers: tuple[MetadataResponseBroker, ...]
    cluster_id: str
    controller_id: int
    topics: tuple[MetadataResponseTopic, ...]


class CreatableReplicaAssignment(NamedTuple):
    partition_index: int


class CreatableTopic(NamedTuple):
    name: str
    num_partitions: int
    assignments: tuple[CreatableReplicaAssignment, ...] = ()


class CreateTopicsRequest(NamedTuple):
    """CreateTopics (API key 19)."""

    topics: tuple[CreatableTopic, ...]
    validate_only: bool = False


class TopicResult(NamedTuple):
    name: str
    error_code: ErrorCode
    error_message: str | None = None


class CreateTopicsResponse(NamedTuple):
    topics: tuple[TopicResult, ...]


class DeleteTopicsRequest(NamedTuple):
    """DeleteTopics (API key 20)."""

    topic_names: tuple[str, ...]


class DeleteTopicsResponse(NamedTuple):
    responses: tuple[TopicResult, ...]


class FindCoordinatorRequest(NamedTuple):
    """FindCoordinator (API key 10); from version 4 on with several keys."""

    key: str = ""
    key_type: int = 0
    coordinator_keys: tuple[str, ...] = ()


class Coordinator(NamedTuple):
    key: str
    node_id: int
    host: str
    port: int
    error_code: ErrorCode = ErrorCode.NONE


class FindCoordinatorResponse(NamedTuple):
    error_code: ErrorCode = ErrorCode.NONE
    node_id: int = -1
    host: str = ""
    port: int = -1
    coordinators: tuple[Coordinator, ...] = ()


class ListOffsetsPartition(NamedTuple):
    partition_index: int
    timestamp: int


class ListOffsetsTopic(NamedTuple):
    name: str
    partitions: tuple[ListOffsetsPartition, ...]


class ListOffsetsRequest(NamedTuple):
    """ListOffsets (API key 2)."""

    topics: tuple[ListOffsetsTopic, ...]
    isolation_level: int = 0


class ListOffsetsPartitionResponse(NamedTuple):
    partition_index: int
    error_code: ErrorCode
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


class ListOffsetsTopicResponse(NamedTuple):
    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...]


class ListOffsetsResponse(NamedTuple):
    topics: tuple[ListOffsetsTopicResponse, ...]


class FetchPartition(NamedTuple):
    partition: int
    fetch_offset: int
    partition_max_bytes: int


class FetchTopic(NamedTuple):
    topic: str
    partitions: tuple[FetchPartition, ...]


class FetchRequest(NamedTuple):
    """Fetch (API key 1)."""

    max_wait_ms: int
    min_bytes: int
    topics: tuple[FetchTopic, ...]
    max_bytes: int = 2**31 - 1
    isolation_level: int = 0
    session_id: int = 0


class AbortedTransaction(NamedTuple):
    """An aborted transaction, whose records are to be skipped."""

    producer_id: int
    first_offset: int


class PartitionData(NamedTuple):
    partition_index: int
    error_code: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None
    records: bytes | None = b""


class FetchableTopicResponse(NamedTuple):
    topic: str
    partitions: tuple[PartitionData, ...]


class FetchResponse(NamedTuple):
    error_code: ErrorCode = ErrorCode.NONE
    responses: tuple[FetchableTopicResponse, ...] = ()


class PartitionProduceData(NamedTuple):
    partition_index: int
    records: bytes | None


class TopicProduceData(NamedTuple):
    name: str
    partition_data: tuple[PartitionProduceData, ...]


class ProduceRequest(NamedTuple):
    """Produce (API key 0); with acks=0 it has no response."""

    acks: int
    topic_data: tuple[TopicProduceData, ...]


class PartitionProduceResponse(NamedTuple):
    partition_index: int
    error_code: ErrorCode
    base_offset: int = -1
    log_start_offset: int = -1


class TopicProduceResponse(NamedTuple):
    name: str
    partition_responses: tuple[PartitionProduceResponse, ...]


class ProduceResponse(NamedTuple):
    responses: tuple[TopicProduceResponse, ...]


class DescribeConfigsResource(NamedTuple):
    """A resource, and the requested settings; None requests all."""

    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None = None


class DescribeConfigsRequest(NamedTuple):
    """DescribeConfigs (API key 32)."""

    resources: tuple[DescribeConfigsResource, ...]


class DescribeConfigsResourceResult(NamedTuple):
    name: str
    value: str
    read_only: bool
    config_source: int


class DescribeConfigsResult(NamedTuple):
    error_code: ErrorCode
    resource_type: int
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...] = ()


class DescribeConfigsResponse(NamedTuple):
    results: tuple[DescribeConfigsResult, ...]


class OffsetFetchRequestGroup(NamedTuple):
    group_id: str
    topics: tuple[OffsetFetchRequestTopic, ...] | None = None


class OffsetFetchGroupsRequest(NamedTuple):
    """OffsetFetch from version 8 on, for several groups."""

    groups: tuple[OffsetFetchRequestGroup, ...]
    require_stable: bool = False


class OffsetFetchResponseGroup(NamedTuple):
    group_id: str
    error_code: ErrorCode
    topics: tuple[OffsetFetchResponseTopic, ...]


class OffsetFetchGroupsResponse(NamedTuple):
    """The answer to OffsetFetch from version 8 on."""

    groups: tuple[OffsetFetchResponseGroup, ...]


class InitProducerIdRequest(NamedTuple):
    """InitProducerId (API key 22)."""

    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int = -1
    producer_epoch: int = -1


class InitProducerIdResponse(NamedTuple):
    error_code: ErrorCode
    producer_id: int = -1
    producer_epoch: int = -1


class AddPartitionsToTxnTopic(NamedTuple):
    name: str
    partitions: tuple[int, ...]


class AddPartitionsToTxnRequest(NamedTuple):
    """AddPartitionsToTxn (API key 24), up to version 3."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    topics: tuple[AddPartitionsToTxnTopic, ...]


class AddPartitionsToTxnPartitionResult(NamedTuple):
    partition_index: int
    partition_error_code: ErrorCode


class AddPartitionsToTxnTopicResult(NamedTuple):
    name: str
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...]


class AddPartitionsToTxnResponse(NamedTuple):
    results: tuple[AddPartitionsToTxnTopicResult, ...]


class AddOffsetsToTxnRequest(NamedTuple):
    """AddOffsetsToTxn (API key 25)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


class AddOffsetsToTxnResponse(NamedTuple):
    error_code: ErrorCode


class EndTxnRequest(NamedTuple):
    """EndTxn (API key 26) of a producer; the vocabulary's EndTxn is the marker in a group."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


class EndTxnResponse(NamedTuple):
    error_code: ErrorCode


class LeaveGroupMemberRequest(NamedTuple):
    """LeaveGroup before version 3, for one member."""

    group_id: str
    member_id: str


class LeaveGroupMemberResponse(NamedTuple):
    """The answer to LeaveGroup before version 3, with the member's error."""

    error_code: ErrorCode
