"""ApiVersions, Metadata, FindCoordinator and DescribeConfigs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupcheck.implementation.server import messages
from groupcheck.implementation.server.calls import Call
from groupcheck.implementation.server.ranges import API_KEYS, Range
from groupcheck.implementation.server.settings import Settings
from groupcheck.implementation.server.topics import BadTopicError, Partition, Topics
from groupcheck.model.vocabulary import ErrorCode

NODE_ID: Final = 0
CLUSTER_ID: Final = "groupcheck"
KEY_TYPES: Final = (0, 1)  # a group, a transaction (FindCoordinatorRequest.java, CoordinatorType)
BROKER_RESOURCE: Final = 4  # ConfigResource.Type.BROKER
DEFAULT_CONFIG: Final = 5  # DescribeConfigsResponse.ConfigSource
STATIC_BROKER_CONFIG: Final = 4


class Metadata:
    """The description of this broker."""

    def __init__(self, served: Mapping[str, Range], topics: Topics, settings: Settings) -> None:
        self._versions = tuple(
            messages.ApiVersion(API_KEYS[name], versions.oldest, versions.newest)
            for name, versions in served.items()
        )
        self._topics = topics
        self._settings = settings

    def api_versions(self, call: Call) -> None:
        """Answer ApiVersions."""
        call.reply(messages.ApiVersionsResponse(ErrorCode.NONE, self._versions))

    def unsupported_version(self) -> messages.ApiVersionsResponse:
        """The version 0 response to a version that is not served (KIP-511)."""
        own = tuple(v for v in self._versions if v.api_key == API_KEYS["ApiVersions"])
        return messages.ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, own)

    def metadata(self, call: Call) -> None:
        """Answer Metadata; requested topics are created if that is allowed."""
        body: messages.MetadataRequest = call.body
        if body.topics is None:
            names = self._topics.names()
        else:
            names = list(dict.fromkeys(topic.name for topic in body.topics))
        create = body.topics is not None and body.allow_auto_topic_creation
        host, port = call.client.broker_address
        call.reply(
            messages.MetadataResponse(
                (messages.MetadataResponseBroker(NODE_ID, host, port),),
                CLUSTER_ID,
                NODE_ID,
                tuple(self._topic(name, create=create) for name in names),
            )
        )

    def _topic(self, name: str, *, create: bool) -> messages.MetadataResponseTopic:
        try:
            partitions = self._partitions(name, create=create)
        except BadTopicError as error:
            return messages.MetadataResponseTopic(error.error_code, name)
        if not partitions:
            return messages.MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        replicas = (NODE_ID,)
        described = (
            messages.MetadataResponsePartition(
                ErrorCode.NONE, index, NODE_ID, 0, replicas, replicas
            )
            for index in range(len(partitions))
        )
        return messages.MetadataResponseTopic(ErrorCode.NONE, name, tuple(described))

    def _partitions(self, name: str, *, create: bool) -> list[Partition]:
        if create:
            return self._topics.create(name, self._settings.limits.num_partitions)
        return self._topics.partitions(name)

    def find_coordinator(self, call: Call) -> None:
        """Answer FindCoordinator: this broker, for every key."""
        body: messages.FindCoordinatorRequest = call.body
        host, port = call.client.broker_address
        error = ErrorCode.NONE if body.key_type in KEY_TYPES else ErrorCode.INVALID_REQUEST
        here = (-1, "", -1) if error else (NODE_ID, host, port)
        coordinators = tuple(
            messages.Coordinator(key, *here, error) for key in body.coordinator_keys
        )
        call.reply(messages.FindCoordinatorResponse(error, *here, coordinators))

    def describe_configs(self, call: Call) -> None:
        """Answer DescribeConfigs: the broker's settings; topics have none of their own."""
        body: messages.DescribeConfigsRequest = call.body
        resources = dict.fromkeys(body.resources)
        call.reply(messages.DescribeConfigsResponse(tuple(map(self._configs, resources))))

    def _configs(
        self, resource: messages.DescribeConfigsResource
    ) -> messages.DescribeConfigsResult:
        kind, name = resource.resource_type, resource.resource_name
        if kind != BROKER_RESOURCE or name not in {"", str(NODE_ID)}:
            return messages.DescribeConfigsResult(ErrorCode.INVALID_REQUEST, kind, name)
        default = Settings().kafka_names()
        configs = tuple(
            messages.DescribeConfigsResourceResult(
                setting,
                str(value),
                read_only=True,
                config_source=DEFAULT_CONFIG if value == default[setting] else STATIC_BROKER_CONFIG,
            )
            for setting, value in self._settings.kafka_names().items()
            if resource.configuration_keys is None or setting in resource.configuration_keys
        )
        return messages.DescribeConfigsResult(ErrorCode.NONE, kind, name, configs)
