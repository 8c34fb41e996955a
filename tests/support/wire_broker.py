"""Small brokers: one with scripted responses, and one with a whole coordinator."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, TypeVar

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.model.vocabulary import REQUESTS, Request, Response
from groupcheck.properties.ports import codec
from groupcheck.properties.tolerances import Tolerances

# For tests that check what a broker answers, not when: wide enough for a busy machine.
BUSY = Tolerances(late_ms=10_000, answer_ms=30_000)
APIS = {
    3: "Metadata",
    8: "OffsetCommit",
    9: "OffsetFetch",
    10: "FindCoordinator",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    15: "DescribeGroups",
    18: "ApiVersions",
    19: "CreateTopics",
    32: "DescribeConfigs",
}
TRANSACTIONS = {22: "InitProducerId", 25: "AddOffsetsToTxn", 26: "EndTxn", 28: "TxnOffsetCommit"}
NODE_ID = 7


def with_data(sockets: Iterable[socket.socket], wait_ms: int | None) -> list[socket.socket]:
    """The sockets that have data, or whose connection has ended, once there is one."""
    opened = {each.fileno(): each for each in sockets if each.fileno() >= 0}
    poll = select.poll()
    for number in opened:
        poll.register(number, select.POLLIN)
    return [opened[number] for number, _ in poll.poll(wait_ms)]


Asked = Any  # kafka-python's message of a request; its correlation id is added
Answer = Callable[[Asked], bytes | None]
B = TypeVar("B", bound="Broker")


def reply(asked: Asked, **fields: object) -> bytes:
    cls = codec.message_class(asked.name.replace("Request", "Response"))
    message = cls(version=asked.version, **fields)
    message.with_header(correlation_id=asked.header.correlation_id)
    framed: bytes = message.encode(header=True, framed=True)
    return framed


class Broker(socketserver.ThreadingTCPServer):
    """Describes itself like a Kafka broker; `answer` handles the coordinator's requests.

    The broker sends what `answer` returns; None closes the connection.
    """

    request_queue_size = 128
    host = "127.0.0.1"

    def __init__(self, answer: Answer = lambda asked: reply(asked, error_code=0)) -> None:
        super().__init__((self.host, 0), _Handler)
        self.coordinator = (self.host, self.port)
        self.speak: Answer = self.respond
        self.answer = answer
        self.asked: list[Asked] = []
        self.askers: list[socket.socket] = []  # the connection of each of them
        self.versions = dict.fromkeys(APIS.keys() - {19}, (0, 20))
        self.versions_error = 0
        self.find_errors: list[int] = []
        self.topic_errors: list[int] = []
        self.existing_topics: set[str] | None = None  # None for every topic
        self.create_error = 0
        self.settings: dict[str, str | None] = {}  # the settings that it describes
        self.sockets: list[socket.socket] = []
        self.here = threading.local()  # each thread's socket

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def attending(self, asker: socket.socket) -> AbstractContextManager[None]:
        """The time in which requests of a connection are handled."""
        del asker
        return nullcontext()

    def turn(self, asker: socket.socket) -> AbstractContextManager[None]:
        """The time in which the next request of a connection is read and handled."""
        del asker
        return nullcontext()

    def respond(self, asked: Asked) -> bytes | None:
        api = asked.name.removesuffix("Request")
        if api == "ApiVersions":
            supported = codec.message_class("ApiVersionsResponse").fields["api_keys"]
            keys = [
                supported(api_key=key, min_version=oldest, max_version=newest)
                for key, (oldest, newest) in self.versions.items()
            ]
            return reply(asked, api_keys=keys, error_code=self.versions_error)
        if api == "FindCoordinator":
            error = self.find_errors.pop(0) if self.find_errors else 0
            host, port = self.coordinator
            return reply(asked, error_code=error, node_id=NODE_ID, host=host, port=port)
        if api == "Metadata":
            return self._list(asked)
        if api == "CreateTopics":
            return self._create(asked)
        if api == "DescribeConfigs":
            return self._describe(asked)
        self.asked.append(asked)
        self.askers.append(self.here.socket)
        return self.answer(asked)

    def _list(self, asked: Asked) -> bytes:
        topic = codec.message_class("MetadataResponse").fields["topics"]
        topics = []
        for name in [each.name for each in asked.topics]:
            missing = self.existing_topics is not None and name not in self.existing_topics
            error = self.topic_errors.pop(0) if self.topic_errors else 3 if missing else 0
            topics.append(topic(error_code=error, name=name, partitions=[]))
        return reply(asked, topics=topics)

    def _create(self, asked: Asked) -> bytes:
        topic = codec.message_class("CreateTopicsResponse").fields["topics"]
        names = [each.name for each in asked.topics]
        if self.existing_topics is not None and not self.create_error:
            self.existing_topics.update(names)
        return reply(asked, topics=[topic(name=n, error_code=self.create_error) for n in names])

    def _describe(self, asked: Asked) -> bytes:
        (resource,) = asked.resources
        known = (resource.resource_type, resource.resource_name) == (4, str(NODE_ID))
        result = codec.message_class("DescribeConfigsResponse").fields["results"]
        configs = [
            result.fields["configs"](name=name, value=self.settings[name])
            for name in resource.configuration_keys
            if known and name in self.settings
        ]
        answer = result(
            error_code=0 if known else 42, configs=configs, resource_name=resource.resource_name
        )
        return reply(asked, results=[answer])

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: clients close connections in the middle."""


class _Handler(socketserver.BaseRequestHandler):
    server: Broker

    def handle(self) -> None:
        self.server.sockets.append(self.request)
        self.server.here.socket = self.request
        with self.server.attending(self.request):
            while self._handle_one():
                pass

    def _handle_one(self) -> bool:
        """Read and answer a request; False at the end of the connection."""
        with self.server.turn(self.request):
            length = self.request.recv(4, socket.MSG_WAITALL)
            if not length:
                return False
            data = self.request.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
            api = {**APIS, **TRANSACTIONS}[int.from_bytes(data[:2], "big")]
            version = int.from_bytes(data[2:4], "big")
            cls = codec.message_class(f"{api}Request")
            asked = cls.decode(data, version=version, header=True)
            answer = self.server.speak(asked)
            if answer is None:
                return False
            self.request.sendall(answer)
            return True


@contextmanager
def serving(broker: B) -> Iterator[B]:
    thread = threading.Thread(target=broker.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield broker
    finally:
        broker.shutdown()
        broker.server_close()
        thread.join()


class Broker6(Broker):
    """Listens on IPv6 alone."""

    address_family = socket.AF_INET6
    host = "::1"


class CoordinatorBroker(Broker):
    """A conforming broker on a real clock: the built-in coordinator with Kafka's wire protocol.

    It handles one request at a time, and ApiVersions after all that have arrived before.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(self._receive)
        self._turn = threading.Lock()
        self._handled: dict[socket.socket, int] = {}  # the requests of each connection
        self._asking: set[socket.socket] = set()  # those with a request that is being handled
        self.versions |= {8: (0, 8), 9: (0, 7), 11: (0, 7), 12: (0, 4), 13: (0, 4), 14: (0, 5)}
        self.settings = {
            name.replace("_", "."): str(value) for name, value in config._asdict().items()
        }
        self.settings["group.max.size"] = str(2**31 - 1)
        self._coordinator = Coordinator(config)
        self._started_s = time.monotonic()
        self._lock = threading.RLock()
        self._owed: dict[int, tuple[Asked, socket.socket]] = {}

    @contextmanager
    def attending(self, asker: socket.socket) -> Iterator[None]:
        """The time in which requests of a connection are handled."""
        self._handled[asker] = 0
        try:
            yield
        finally:
            del self._handled[asker]

    @contextmanager
    def turn(self, asker: socket.socket) -> Iterator[None]:
        """What has arrived is left in the socket until it can be handled."""
        with_data([asker], None)
        with self._turn:
            self._asking.add(asker)
            try:
                yield
            finally:
                self._asking.remove(asker)
                self._handled[asker] += 1

    def respond(self, asked: Asked) -> bytes | None:
        if asked.name == "ApiVersionsRequest":
            others = self._handled.keys() - self._asking
            earlier = {each: self._handled.get(each, -1) for each in with_data(others, 0)}
            while any(self._handled.get(each) == number for each, number in earlier.items()):
                self._turn.release()
                time.sleep(0.0005)
                self._turn.acquire()
        return super().respond(asked)

    def service_actions(self) -> None:
        """Advance the coordinator's clock; called several times a second."""
        with self._lock:
            now_ms = int((time.monotonic() - self._started_s) * 1000)
            self._send(self._coordinator.advance(now_ms - self._coordinator.now_ms))

    def _receive(self, asked: Asked) -> bytes:
        with self._lock:
            self.service_actions()
            request_id = len(self._owed)
            self._owed[request_id] = asked, self.here.socket
            api = asked.name.removesuffix("Request")
            body = codec.to_record(REQUESTS[api], asked, asked.version)
            request = Request(request_id, asked.version, body, asked.header.client_id)
            self._send(self._coordinator.receive(request))
        return b""

    def _send(self, responses: list[Response]) -> None:
        for request_id, body in responses:
            asked, asker = self._owed[request_id]
            message = codec.to_message(body, asked.version)
            message.with_header(correlation_id=asked.header.correlation_id)
            with suppress(OSError):  # the client has disconnected
                asker.sendall(message.encode(header=True, framed=True))


class TransactionsBroker(Broker):
    """Has transactions of offsets; groups process markers `late_s` after the response to EndTxn.

    It returns each of an API's `errors` once before it handles a request. It is not ready for
    another transaction of a producer until the markers of the last one are written.
    """

    def __init__(self, late_s: float = 0.0) -> None:
        super().__init__(self._act)
        self.versions |= dict.fromkeys(TRANSACTIONS, (0, 20))
        self.errors: dict[str, list[int]] = {}
        self.epochs: dict[str, int] = {}
        self.offsets: dict[str, int] = {}
        self._late_s = late_s
        self._pending: dict[str, dict[str, int]] = {}
        self._marking = threading.Lock()

    @property
    def apis(self) -> list[str]:
        """The APIs of the requests, in their order."""
        return [asked.name.removesuffix("Request") for asked in self.asked]

    def _act(self, asked: Asked) -> bytes:
        api = asked.name.removesuffix("Request")
        if api == "OffsetFetch":
            return _offset(asked, self.offsets.get(asked.group_id, -1))
        errors = self.errors.get(api)
        error = errors.pop(0) if errors else 0
        if api == "TxnOffsetCommit":
            if not error:
                offset = asked.topics[0].partitions[0].committed_offset
                self._pending.setdefault(asked.transactional_id, {})[asked.group_id] = offset
            return _committed(asked, error)
        if api == "InitProducerId":
            epoch = self.epochs[asked.transactional_id] = (
                self.epochs.get(asked.transactional_id, -1) + 1
            )
            return reply(asked, error_code=error, producer_id=4711, producer_epoch=epoch)
        if api == "AddOffsetsToTxn" and self._marking.locked():
            error = 51
        if api == "EndTxn" and not error:
            offsets = self._pending.pop(asked.transactional_id, {})
            self._mark(offsets if asked.committed else {})
        return reply(asked, error_code=error)

    def _mark(self, offsets: dict[str, int]) -> None:
        """Write the markers; groups process them later, in their order."""
        self._marking.acquire()
        threading.Timer(self._late_s / 2, self._marking.release).start()
        threading.Timer(self._late_s, self.offsets.update, (offsets,)).start()


def _committed(asked: Asked, error: int) -> bytes:
    topic = codec.message_class("TxnOffsetCommitResponse").fields["topics"]
    partition = topic.fields["partitions"](partition_index=0, error_code=error)
    return reply(asked, topics=[topic(name=asked.topics[0].name, partitions=[partition])])


def _offset(asked: Asked, offset: int) -> bytes:
    topic = codec.message_class("OffsetFetchResponse").fields["topics"]
    partition = topic.fields["partitions"](
        partition_index=0, committed_offset=offset, metadata="", error_code=0
    )
    return reply(asked, topics=[topic(name="topic", partitions=[partition])], error_code=0)
