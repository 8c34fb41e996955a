"""ApiVersions, Metadata, FindCoordinator and DescribeConfigs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupcheck.implementation.server import messages
from groupcheck.implementation.server.calls import Call
from groupcheck.implementation.server.known import Known
from groupcheck.implementation.server.ranges import API_KEYS, Range
from groupcheck.implementation.server.settings import Settings
from groupcheck.implementation.server.topics import BadTopicError, Topics
from groupcheck.model.vocabulary import ErrorCode

CLUSTER_ID: Final = "groupcheck"
BROKER_RESOURCE: Final = 4  # ConfigResource.Type.BROKER
DEFAULT_CONFIG: Final = 5  # DescribeConfigsResponse.ConfigSource
STATIC_BROKER_CONFIG: Final = 4


class Metadata:
    """The description of this broker, and of its cluster as it knows it."""

    def __init__(
        self, served: Mapping[str, Range], topics: Topics, settings: Settings, known: Known
    ) -> None:
        self._versions = tuple(
            messages.ApiVersion(API_KEYS[name], versions.oldest, versions.newest)
            for name, versions in served.items()
        )
        self._topics = topics
        self._settings = settings
        self._known = known

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
        call.reply(
            messages.MetadataResponse(
                self._known.brokers(call.client),
                CLUSTER_ID,
                self._known.controller_id,
                tuple(self._topic(name, create=create) for name in names),
            )
        )

    def _topic(self, name: str, *, create: bool) -> messages.MetadataResponseTopic:
        try:
            if create:
                self._topics.create(name, self._settings.limits.num_partitions)
        except BadTopicError as error:
            return messages.MetadataResponseTopic(error.error_code, name)
        return self._known.topic(name) or messages.MetadataResponseTopic(
            # What has just been created is known later, except to a broker that is alone.
            messages.LEADER_NOT_AVAILABLE if create else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            name,
        )

    def find_coordinator(self, call: Call) -> None:
        """Answer FindCoordinator."""
        body: messages.FindCoordinatorRequest = call.body

        def coordinator(key: str) -> messages.Coordinator:
            found = self._known.coordinator(body.key_type, key, call.client)
            if isinstance(found, ErrorCode):
                return messages.Coordinator(key, -1, "", -1, found)
            return messages.Coordinator(key, *found)

        _, node_id, host, port, error = coordinator(body.key)
        several = tuple(map(coordinator, body.coordinator_keys))
        call.reply(messages.FindCoordinatorResponse(error, node_id, host, port, several))

    def describe_configs(self, call: Call) -> None:
        """Answer DescribeConfigs: the broker's settings; topics have none of their own."""
        body: messages.DescribeConfigsRequest = call.body
        resources = dict.fromkeys(body.resources)
        call.reply(messages.DescribeConfigsResponse(tuple(map(self._configs, resources))))

    def _configs(
        self, resource: messages.DescribeConfigsResource
    ) -> messages.DescribeConfigsResult:
        kind, name = resource.resource_type, resource.resource_name
        if kind != BROKER_RESOURCE or name not in {"", str(self._known.node_id)}:
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
