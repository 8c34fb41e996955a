"""Connections to a Kafka broker, and the client for requests that belong to no test.

Frames and correlation ids; the requests of a test and the encoding of messages do not belong here.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from threading import Event
from time import monotonic
from typing import Any, Final, Generic, NamedTuple, NoReturn, Self, TypeVar

from groupcheck.model.vocabulary import ErrorCode, Request
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.messages import protocol_error
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.settings import as_number

MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
CHUNK_BYTES: Final = 64 * 1024
CLIENT_ID: Final = "groupcheck"
WAKE_S: Final = 0.2  # how often a waiting thread checks whether it was interrupted

# A broker that creates or moves its offsets topic asks the client to retry.
COORDINATOR_WAIT_S: Final = 30.0
TOPIC_WAIT_S: Final = 5.0
RETRY_S: Final = 0.1
RETRIABLE: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
# Errors that no coordinator returns, so `ErrorCode` does not have them.
LEADER_NOT_AVAILABLE: Final = 5
TOPIC_ALREADY_EXISTS: Final = 36
NEWEST_FIND_COORDINATOR: Final = 3  # version 4 names several groups
NEWEST_METADATA: Final = 1  # may create the topic that it names
NEWEST_CREATE_TOPICS: Final = 4
NEWEST_DESCRIBE_CONFIGS: Final = 4
# The newest versions of Kafka 0.9, the last that does not report them, by API key.
KAFKA_0_9: Final = {3: 0, 8: 2, 9: 1, 10: 0, 11: 0, 12: 0, 13: 0, 14: 0, 15: 0, 16: 0}
SAMPLE: Final = 20  # enough groups for each of a few partitions to have one
BROKER_RESOURCE: Final = 4  # ConfigResource.Type.BROKER
GROUP, TRANSACTION = 0, 1  # FindCoordinatorRequest.CoordinatorType


class Question(NamedTuple):
    """A request that belongs to no test."""

    api: str
    api_version: int


A = TypeVar("A", Question, Request)


class Connection(Generic[A]):
    """A socket to a broker; `in_flight` has the unanswered requests by correlation id.

    Raises:
        OSError: the connection cannot be opened.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.in_flight: dict[int, A] = {}
        self._correlation_id = 0
        self._received = bytearray()

    def send(self, request: A, message: codec.Message, client_id: str) -> None:
        """Send a request.

        Raises:
            PortFailedError: the connection is broken.
        """
        self._correlation_id += 1
        self.in_flight[self._correlation_id] = request
        try:
            self.socket.sendall(codec.frame(message, self._correlation_id, client_id))
        except OSError as error:
            self._broken(f"broke the connection ({error.strerror or error})")

    def receive(self) -> Iterator[tuple[A, bytes]]:
        """Yield each answered request with its response; waits until a byte can be read.

        Raises:
            TimeoutError: nothing arrived within the socket's timeout.
            PortFailedError: the connection is broken or closed, or carries no valid response.
        """
        try:
            chunk = self.socket.recv(CHUNK_BYTES)
        except TimeoutError:
            raise
        except OSError as error:
            self._broken(f"broke the connection ({error.strerror or error})")
        if not chunk:
            self._broken("closed the connection")
        self._received += chunk
        for answer in frames(self._received, "response", 4, MAX_FRAME_BYTES):
            yield self._request(int.from_bytes(answer[:4], "big", signed=True)), answer

    def reset(self) -> None:
        """Start again with correlation id 1."""
        self._correlation_id = 0

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _request(self, correlation_id: int) -> A:
        """Remove and return the request that a response belongs to."""
        request = self.in_flight.pop(correlation_id, None)
        if request is None:
            if 0 < correlation_id <= self._correlation_id:
                protocol_error("a second response to one request")
            protocol_error(f"a response with an unknown correlation id, {correlation_id}")
        return request

    def _broken(self, how: str) -> NoReturn:
        requests = [f"{sent.api} version {sent.api_version}" for sent in self.in_flight.values()]
        when = f" before it answered {' and '.join(requests)}" if requests else ""
        kind = "port crashed"
        raise PortFailedError(kind, f"the broker {how}{when}")


def frames(received: bytearray, what: str, least: int, most: int) -> Iterator[bytes]:
    """Remove and yield the messages that have arrived completely, without their lengths.

    Raises:
        PortFailedError: a length is not from `least` to `most`; the error names `what` it is of.
    """
    while len(received) >= 4:
        length = int.from_bytes(received[:4], "big", signed=True)
        if not least <= length <= most:
            protocol_error(f"a {what} with a length of {length} bytes")
        if len(received) < 4 + length:
            return
        message = bytes(received[4 : 4 + length])
        del received[: 4 + length]
        yield message


class Coordinator(NamedTuple):
    """The broker that coordinates a group."""

    node_id: int
    host: str
    port: int


class BootstrapClient:
    """Finds versions, coordinators, topics and settings, over a connection of its own.

    Every call raises `PortFailedError` or `OSError` when the broker fails, `MalformedAnswerError`
    when it does not speak Kafka's protocol, and `PortUnavailableError` when it has no usable answer
    or `interrupted` is set. `reports_versions` is False if the broker did not report them.
    """

    def __init__(
        self, host: str, port: int, *, connect_s: float, answer_s: float, interrupted: Event
    ) -> None:
        self._answer_s = answer_s
        self._interrupted = interrupted
        self._wake_s = min(answer_s, WAKE_S)
        self._open = partial(Connection[Question], host, port, connect_s)
        self._connect()
        self._versions: dict[int, tuple[int, int]] = {}
        self.reports_versions = True

    def _connect(self) -> None:
        self._connection = self._open()
        self._connection.socket.settimeout(self._wake_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def established(self) -> Connection[Any]:
        """Hand over the connection after the broker has answered on it."""
        try:
            self.versions({})
        except BaseException:
            self.close()
            raise
        self._connection.reset()
        return self._connection

    def versions(self, newest: Mapping[str, int]) -> dict[str, int]:
        """Return the highest version of each API that both sides support.

        A broker that answers with an error, or closes the connection, has those of Kafka 0.9.
        """
        answer = None
        try:
            answer = self._ask(Question("ApiVersions", 0))
        except PortFailedError as failure:
            if failure.kind != "port crashed":
                raise
            self.close()
            self._connect()
        self.reports_versions = answer is not None and not answer.error_code
        if answer is not None and self.reports_versions:
            self._versions = {a.api_key: (a.min_version, a.max_version) for a in answer.api_keys}
        else:
            self._versions = {key: (0, newest) for key, newest in KAFKA_0_9.items()}
        common = {api: self._common(api, version) for api, version in newest.items()}
        return {api: version for api, version in common.items() if version is not None}

    def oldest(self, apis: Collection[str]) -> dict[str, int]:
        """Return the lowest version of each API that the broker supports; after `versions`."""
        keys = {api: codec.message_class(f"{api}Request").API_KEY for api in apis}
        return {api: self._versions[key][0] for api, key in keys.items() if key in self._versions}

    def coordinator(self, key: str, kind: int = GROUP) -> Coordinator:
        """Return the coordinator of a group, or of a transactional id."""
        deadline = monotonic() + COORDINATOR_WAIT_S
        while True:
            answer = self.ask("FindCoordinator", NEWEST_FIND_COORDINATOR, key=key, key_type=kind)
            if not answer.error_code:
                return Coordinator(answer.node_id, answer.host, answer.port)
            if answer.error_code not in RETRIABLE or monotonic() > deadline:
                _unavailable(f"it finds no coordinator ({ErrorCode(answer.error_code).name})")
            pause(self._interrupted)

    def has_loaded_groups(self) -> bool:
        """Return whether the only broker of a cluster has loaded its groups; asks about many."""
        if self._common("DescribeGroups", 0) is None:
            return True
        groups = [f"groupcheck-{number}" for number in range(SAMPLE)]
        answer = self._ask(Question("DescribeGroups", 0), groups=groups)
        return not any(group.error_code for group in answer.groups)

    def has_topic(self, name: str) -> bool:
        """Return whether the topic exists; the request may make the broker create it."""
        return self._topic_error(name) == 0

    def create_topic(self, name: str) -> bool:
        """Create the topic if it does not exist; returns whether it exists then."""
        deadline = monotonic() + TOPIC_WAIT_S
        asked = False
        while error := self._topic_error(name):
            if error != LEADER_NOT_AVAILABLE and not asked:
                asked = True
                if not self._create(name):
                    return False
            elif monotonic() > deadline:
                return False
            pause(self._interrupted)
        return True

    def brokers(self) -> int:
        """Return the number of brokers in the cluster."""
        return len(self.ask("Metadata", NEWEST_METADATA, topics=[]).brokers or ())

    def _topic_error(self, name: str) -> int:
        topic = codec.message_class("MetadataRequest").fields["topics"](name=name)
        topics = self.ask("Metadata", NEWEST_METADATA, topics=[topic]).topics
        return topics[0].error_code if topics else -1

    def _create(self, name: str) -> bool:
        """Create a topic with one partition; returns whether that was possible."""
        if self._common("CreateTopics", NEWEST_CREATE_TOPICS) is None:
            return False
        topic = codec.message_class("CreateTopicsRequest").fields["topics"](
            name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
        )
        fields = {"topics": [topic], "timeout_ms": int(TOPIC_WAIT_S * 1000)}
        answer = self.ask("CreateTopics", NEWEST_CREATE_TOPICS, **fields)
        return all(each.error_code in {0, TOPIC_ALREADY_EXISTS} for each in answer.topics)

    def settings(self, node_id: int, names: Collection[str]) -> dict[str, int]:
        """Return the settings that the broker with this id reports; some report none."""
        version = self._common("DescribeConfigs", NEWEST_DESCRIBE_CONFIGS)
        if version is None:
            return {}
        broker = codec.message_class("DescribeConfigsRequest").fields["resources"](
            resource_type=BROKER_RESOURCE,
            resource_name=str(node_id),
            configuration_keys=list(names),
        )
        answer = self._ask(Question("DescribeConfigs", version), resources=[broker])
        reported = [config for result in answer.results for config in result.configs]
        numbers = {config.name: as_number(config.value or "") for config in reported}
        return {name: n for name, n in numbers.items() if name in names and n is not None}

    def ask(self, api: str, newest: int, **fields: object) -> codec.Message:
        """Return the response to a request at the newest version that both sides support."""
        cls = codec.message_class(f"{api}Request")
        return self.send(api, newest, lambda version: cls(version=version, **fields))

    def send(self, api: str, newest: int, message: Callable[[int], codec.Message]) -> codec.Message:
        """Do the same with a message that depends on the version."""
        version = self._common(api, newest)
        if version is None:
            _unavailable(f"it supports no version of {api} that groupcheck does")
        return self._exchange(Question(api, version), message(version))

    def is_closed(self) -> bool:
        """Return whether the broker has closed the connection; nothing is in flight."""
        self._connection.socket.settimeout(0)
        try:
            self._connection.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._connection.socket.settimeout(self._wake_s)
        return True

    def _common(self, api: str, newest: int) -> int | None:
        key = codec.message_class(f"{api}Request").API_KEY
        oldest, highest = self._versions.get(key, (0, -1))
        version = min(highest, newest)
        return version if version >= oldest else None

    def _ask(self, question: Question, **fields: object) -> codec.Message:
        cls = codec.message_class(f"{question.api}Request")
        return self._exchange(question, cls(version=question.api_version, **fields))

    def _exchange(self, question: Question, message: codec.Message) -> codec.Message:
        self._connection.send(question, message, CLIENT_ID)
        deadline = monotonic() + self._answer_s
        while monotonic() < deadline:
            raise_if_interrupted(self._interrupted)
            with suppress(TimeoutError):
                for sent, answer in self._connection.receive():
                    return codec.parse(sent.api, sent.api_version, answer)
        raise TimeoutError


def pause(interrupted: Event) -> None:
    """Wait before the next attempt; raises as `raise_if_interrupted`."""
    interrupted.wait(RETRY_S)
    raise_if_interrupted(interrupted)


def raise_if_interrupted(interrupted: Event) -> None:
    """Raise if a wait was interrupted.

    Raises:
        PortUnavailableError: the event is set.
    """
    if interrupted.is_set():
        _unavailable("interrupted")


def _unavailable(reason: str) -> NoReturn:
    raise PortUnavailableError(reason)
