"""What a broker knows of its cluster; a broker that is alone is its own cluster."""

from __future__ import annotations

from typing import Final, Protocol

from groupcheck.implementation.server import messages
from groupcheck.implementation.server.calls import Client
from groupcheck.implementation.server.topics import Topics
from groupcheck.model.vocabulary import ErrorCode

NODE_ID: Final = 0  # of a broker that is alone
# FindCoordinatorRequest.java, CoordinatorType.
GROUP_KEY: Final = 0
TRANSACTION_KEY: Final = 1


class Known(Protocol):
    """The cluster in the metadata of a broker."""

    @property
    def node_id(self) -> int:
        """The id of the broker itself."""
        ...

    @property
    def controller_id(self) -> int:
        """The controller, or -1."""
        ...

    def brokers(self, client: Client) -> tuple[messages.MetadataResponseBroker, ...]:
        """The running brokers, with the addresses to which a client can connect."""
        ...

    def topic(self, name: str) -> messages.MetadataResponseTopic | None:
        """A topic, or None if it is unknown."""
        ...

    def coordinator(
        self, key_type: int, key: str, client: Client
    ) -> messages.MetadataResponseBroker | ErrorCode:
        """The coordinator of a key, or the error."""
        ...


class Alone:
    """The cluster of one broker: it leads every partition, and is every coordinator."""

    node_id = NODE_ID
    controller_id = NODE_ID

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def brokers(self, client: Client) -> tuple[messages.MetadataResponseBroker, ...]:
        """See `Known`."""
        return (messages.MetadataResponseBroker(NODE_ID, *client.broker_address),)

    def topic(self, name: str) -> messages.MetadataResponseTopic | None:
        """See `Known`."""
        replicas = (NODE_ID,)
        partitions = tuple(
            messages.MetadataResponsePartition(
                ErrorCode.NONE, index, NODE_ID, 0, replicas, replicas
            )
            for index in range(len(self._topics.partitions(name)))
        )
        if not partitions:
            return None
        return messages.MetadataResponseTopic(ErrorCode.NONE, name, partitions)

    def coordinator(
        self, key_type: int, key: str, client: Client
    ) -> messages.MetadataResponseBroker | ErrorCode:
        """See `Known`."""
        del key
        if key_type not in {GROUP_KEY, TRANSACTION_KEY}:
            return ErrorCode.INVALID_REQUEST
        return self.brokers(client)[0]
