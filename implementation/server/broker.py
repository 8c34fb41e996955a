"""Dispatch: from a frame to the handler of its API, and from the response to a frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final

from groupcheck.implementation.server import codec
from groupcheck.implementation.server.calls import Call, Client
from groupcheck.implementation.server.groups import Groups
from groupcheck.implementation.server.known import Alone, Known
from groupcheck.implementation.server.metadata import Metadata
from groupcheck.implementation.server.offsets import Offsets
from groupcheck.implementation.server.ranges import API_NAMES, served
from groupcheck.implementation.server.records import Reading, Writing
from groupcheck.implementation.server.settings import Settings
from groupcheck.implementation.server.topic_requests import TopicRequests
from groupcheck.implementation.server.topics import Topics
from groupcheck.implementation.server.transactions import Transactions

Send = Callable[[bytes | None], None]
"""Sends a frame; None means that the request has no response."""

Fail = Callable[[Exception], None]

VERSIONS: Final = "ApiVersions"


class UnservedError(Exception):
    """A request for an API or a version that is not served; Kafka closes the connection."""


class Broker:
    """The APIs of this broker.

    Args:
        profile: the version of Kafka.
        apis: the APIs that the coordinator handles.
        groups: the coordinator.
        topics: the topics that can be consumed.
        settings: the broker's settings.
        known: its cluster, if it is not the only broker.

    """

    def __init__(  # noqa: PLR0913 - what is outside of a broker
        self,
        profile: str,
        apis: Collection[str],
        groups: Groups,
        topics: Topics,
        settings: Settings,
        *,
        known: Known | None = None,
    ) -> None:
        self.served = served(profile, apis)
        known = known or Alone(topics)
        self._metadata = Metadata(self.served, topics, settings, known)
        requests = TopicRequests(topics, settings.limits, known)
        reading, writing = Reading(topics), Writing(topics, settings.limits)
        offsets = Offsets(topics, groups)
        transactions = Transactions(topics, groups, asyncio.get_running_loop())
        own: dict[str, Callable[[Call], None]] = {
            "ApiVersions": self._metadata.api_versions,
            "Metadata": self._metadata.metadata,
            "FindCoordinator": self._metadata.find_coordinator,
            "DescribeConfigs": self._metadata.describe_configs,
            "CreateTopics": requests.create,
            "DeleteTopics": requests.delete,
            "ListOffsets": reading.list_offsets,
            "Fetch": reading.fetch,
            "Produce": writing.produce,
            "OffsetCommit": offsets.commit,
            "TxnOffsetCommit": offsets.commit,
            "OffsetDelete": offsets.delete,
            "OffsetFetch": offsets.fetch,
            "InitProducerId": transactions.init_producer_id,
            "AddPartitionsToTxn": transactions.add_partitions,
            "AddOffsetsToTxn": transactions.add_offsets,
            "EndTxn": transactions.end,
        }

        def forward(call: Call) -> None:
            offsets.ask(call, call.body, call.reply)

        # The other requests go to the coordinator unchanged.
        self._handlers = {api: own.get(api, forward) for api in self.served}

    def handle(self, frame: bytes, client: Client, send: Send, fail: Fail) -> None:
        """Handle a request, given without its length.

        The handler calls `send` once, now or later, or `fail` if the response cannot be encoded.

        Raises:
            MalformedFrameError: the frame is not a request.
            UnservedError: the API or version is not served.
        """
        header = codec.start(frame)
        api = API_NAMES.get(header.api_key, "")
        version, correlation_id = header.api_version, header.correlation_id
        versions = self.served.get(api)
        if versions is None:
            msg = f"API key {header.api_key} is not served"
            raise UnservedError(msg)
        if not versions.oldest <= version <= versions.newest:
            if api == VERSIONS:
                response = self._metadata.unsupported_version()
                send(codec.encode(api, 0, correlation_id, response))
                return
            msg = f"{api} version {version} is not served"
            raise UnservedError(msg)
        request = codec.decode(api, version, frame)

        def reply(record: object) -> None:
            response = None
            if record is not None:
                try:
                    response = codec.encode(api, version, correlation_id, record)
                except Exception as error:  # noqa: BLE001 - other requests that the same call answers go on
                    fail(error)
                    return
            send(response)

        self._handlers[api](Call(api, version, request.client_id, client, request.body, reply))
