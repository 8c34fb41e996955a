"""A broker on loopback that a client talks to, served in the caller's thread.

It reads and writes frames, and answers the requests of each connection in their order, as Kafka
does. kafka-python's classes decode and encode the messages. The meaning of requests does not belong
here, except of ApiVersions.
"""

from __future__ import annotations

import selectors
import socket
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Final

from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import CHUNK_BYTES, frames
from groupcheck.properties.ports.messages import protocol_error

HOST: Final = "127.0.0.1"
NODE_ID: Final = 0  # of a broker without a rack
MAX_REQUEST_BYTES: Final = 16 * 1024 * 1024
SEND_S: Final = 2.0
HEADER_BYTES: Final = 8  # API key, version and correlation id

Fields = Mapping[str, object]
Replicas = Sequence[Sequence[int]]  # the nodes of each partition, the leader first


class Request:
    """A request of a client.

    Args:
        connection: on which it arrived.
        api: the name of the API.
        message: as kafka-python decoded it.
    """

    def __init__(self, connection: Connection, api: str, message: codec.Message) -> None:
        self.connection = connection
        self.api = api
        self.message = message
        self.response: bytes | None = None

    def answer(self, fields: Fields) -> None:
        """Send the response, as soon as all earlier requests of the connection have theirs."""
        self.response = encoded(self, fields)
        self.connection.send()


class Connection:
    """A connection of a client; `waiting` has its requests without a response, oldest first."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened
        self.received = bytearray()
        self.waiting: deque[Request] = deque()
        self.is_open = True
        self.is_broken = False

    def send(self) -> None:
        """Send the responses that are due, at once; a client that reads none loses all others."""
        due = bytearray()
        while self.waiting and (response := self.waiting[0].response) is not None:
            self.waiting.popleft()
            due += response
        try:
            if due:
                self.socket.sendall(due)
        except OSError:
            self.is_broken = True
            self.waiting.clear()


class Broker:
    """A broker that a client talks to; it works only during `requests`.

    Args:
        versions: the newest version of each API that it offers.
    """

    def __init__(self, versions: Mapping[str, int]) -> None:
        self._versions = {"ApiVersions": 3, **versions}
        self._names = {_key(api): api for api in self._versions}
        self._connections: dict[socket.socket, Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self.watch(self._listener)

    def watch(self, opened: socket.socket) -> None:
        """Let `requests` return when another socket can be read."""
        self._selector.register(opened, selectors.EVENT_READ)

    def unwatch(self, opened: socket.socket) -> None:
        """End what `watch` began."""
        self._selector.unregister(opened)

    def requests(self, wait_s: float) -> list[Request]:
        """Wait for something that can be read, and return the requests that have arrived.

        Raises:
            PortFailedError: a request cannot be decoded.
        """
        arrived: list[Request] = []
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._listener:
                self._accept()
            elif connection := self._connections.get(key.fileobj):  # type: ignore[call-overload]
                arrived += self._read(connection)
        return arrived

    def close_connection(self, connection: Connection) -> None:
        """Close a connection; its requests get no response."""
        if connection.is_open:
            connection.is_open = False
            connection.waiting.clear()
            self.unwatch(connection.socket)
            del self._connections[connection.socket]
            connection.socket.close()

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        for connection in list(self._connections.values()):
            self.close_connection(connection)
        self._listener.close()
        self._selector.close()

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        accepted.settimeout(SEND_S)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections[accepted] = Connection(accepted)
        self.watch(accepted)

    def _read(self, connection: Connection) -> Iterator[Request]:
        chunk = b""
        with suppress(OSError):
            chunk = connection.socket.recv(CHUNK_BYTES)
        connection.received += chunk
        for frame in frames(connection.received, "request", HEADER_BYTES, MAX_REQUEST_BYTES):
            api = self._names.get(int.from_bytes(frame[:2], "big"))
            version = int.from_bytes(frame[2:4], "big")
            if api == "ApiVersions":
                self._answer_versions(connection, frame, version)
            elif api is None or version > self._versions[api]:
                chunk = b""  # Kafka closes the connection too
                break
            else:
                request = Request(connection, api, _decoded(api, version, frame))
                connection.waiting.append(request)
                yield request
        if not chunk or connection.is_broken:
            self.close_connection(connection)

    def _answer_versions(self, connection: Connection, frame: bytes, version: int) -> None:
        """Answer version 0 to a version that is too new, as Kafka does (KIP-511)."""
        cls = codec.message_class("ApiVersionsResponse")
        known = version <= self._versions["ApiVersions"]
        fields = {
            "error_code": int(ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_VERSION),
            "api_keys": [
                cls.fields["api_keys"](api_key=_key(api), min_version=0, max_version=newest)
                for api, newest in self._versions.items()
            ],
        }
        request = Request(connection, "ApiVersions", None)
        correlation_id = int.from_bytes(frame[4:HEADER_BYTES], "big", signed=True)
        connection.waiting.append(request)
        request.response = _framed("ApiVersions", version if known else 0, correlation_id, fields)
        connection.send()


def encoded(request: Request, fields: Fields) -> bytes:
    """The response to a request, with its length and header."""
    header = request.message.header
    return _framed(request.api, header.request_api_version, header.correlation_id, fields)


def metadata(
    port: int,
    topics: Mapping[str, Replicas | None],
    racks: Mapping[str, int] | None = None,
    cluster_id: str = "groupcheck",
) -> Fields:
    """The response to Metadata.

    Args:
        port: of the broker, which plays all nodes.
        topics: each topic with the nodes of its partitions; None if it does not exist.
        racks: the node of each rack, besides `NODE_ID`.
        cluster_id: of the cluster.
    """
    node = codec.message_class("MetadataResponse").fields["brokers"]
    nodes = [(None, NODE_ID), *(racks or {}).items()]
    return {
        "brokers": [node(node_id=each, host=HOST, port=port, rack=rack) for rack, each in nodes],
        "cluster_id": cluster_id,
        "controller_id": NODE_ID,
        "topics": [_topic(name, replicas) for name, replicas in topics.items()],
    }


def _topic(name: str, partitions: Replicas | None) -> codec.Message:
    cls = codec.message_class("MetadataResponse").fields["topics"]
    if partitions is None:
        code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return cls(error_code=code, name=name, partitions=[])
    make = cls.fields["partitions"]
    return cls(
        name=name,
        partitions=[
            make(partition_index=n, leader_id=nodes[0], replica_nodes=nodes, isr_nodes=nodes)
            for n, nodes in enumerate(partitions)
        ],
    )


def _decoded(api: str, version: int, frame: bytes) -> codec.Message:
    try:
        return codec.message_class(f"{api}Request").decode(frame, version=version, header=True)
    except Exception as error:  # noqa: BLE001 - generated code may raise anything
        protocol_error(f"a request that cannot be decoded as {api} version {version}: {error}")


def _framed(api: str, version: int, correlation_id: int, fields: Fields) -> bytes:
    message = codec.message_class(f"{api}Response")(version=version, **fields)
    message.with_header(correlation_id=correlation_id)
    framed: bytes = message.encode(header=True, framed=True)
    return framed


@cache
def _key(api: str) -> int:
    key: int = codec.message_class(f"{api}Request").API_KEY
    return key
