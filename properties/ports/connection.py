"""A connection to a Kafka broker, and what a client asks before anything else.

Frames and correlation ids; what the requests of a test are, and how messages are encoded, is not
here.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import Any, Final, Generic, NamedTuple, NoReturn, Protocol, Self, TypeVar

from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.messages import protocol_error
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.settings import as_number

MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
CHUNK_BYTES: Final = 64 * 1024
CLIENT_ID: Final = "groupcheck"
WAKE_S: Final = 0.2  # no thread waits longer before it looks whether it was interrupted

# While a broker makes its offsets topic, or moves it, it asks to be asked again.
COORDINATOR_WAIT_S: Final = 30.0
TOPIC_WAIT_S: Final = 5.0
RETRY_S: Final = 0.1
COORDINATOR_NOT_YET: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
LEADER_NOT_AVAILABLE: Final = 5  # no coordinator answers with it
NEWEST_FIND_COORDINATOR: Final = 3  # 4 asks for several groups
METADATA_VERSION: Final = 1  # in which a broker may create the topic it is asked about
NEWEST_DESCRIBE_CONFIGS: Final = 4
SAMPLE: Final = 20  # groups enough for a few partitions to have one each
BROKER_RESOURCE: Final = 4  # ConfigResource.Type.BROKER
GROUP, TRANSACTION = 0, 1  # FindCoordinatorRequest.CoordinatorType


class Asked(Protocol):
    """What a connection remembers of a request until it is answered."""

    @property
    def api(self) -> str:
        """Kafka's name of the API, without "Request"."""
        ...

    @property
    def api_version(self) -> int:
        """The version it was asked at."""
        ...


A = TypeVar("A", bound=Asked)


class Connection(Generic[A]):
    """A socket to a broker.

    `owed` holds what was asked and is not answered yet, by correlation id.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.owed: dict[int, A] = {}
        self._correlation_id = 0
        self._received = bytearray()

    def send(self, asked: A, message: codec.Message, client_id: str) -> None:
        """Send a request.

        Raises:
            PortFailedError: the connection is broken.
        """
        self._correlation_id += 1
        self.owed[self._correlation_id] = asked
        try:
            self.socket.sendall(codec.frame(message, self._correlation_id, client_id))
        except OSError as error:
            self._broken(f"broke the connection ({error.strerror or error})")

    def receive(self) -> Iterator[tuple[A, bytes]]:
        """What is answered, each with its answer; waits if there is not a byte to be read.

        Raises:
            TimeoutError: there was none in the socket's time.
            PortFailedError: the connection is broken or closed, or holds what is no answer.
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
        while len(self._received) >= 4:
            length = int.from_bytes(self._received[:4], "big", signed=True)
            if not 4 <= length <= MAX_FRAME_BYTES:
                protocol_error(f"an answer said to be {length} bytes long")
            if len(self._received) < 4 + length:
                return
            answer = bytes(self._received[4 : 4 + length])
            del self._received[: 4 + length]
            yield self._settle(int.from_bytes(answer[:4], "big", signed=True)), answer

    def begin_anew(self) -> None:
        """Count what is asked from one again."""
        self._correlation_id = 0

    def close(self) -> None:
        """Let go of the socket."""
        self.socket.close()

    def _settle(self, correlation_id: int) -> A:
        asked = self.owed.pop(correlation_id, None)
        if asked is None:
            if 0 < correlation_id <= self._correlation_id:
                protocol_error("a request answered twice")
            protocol_error(f"an answer with an unknown correlation id, {correlation_id}")
        return asked

    def _broken(self, how: str) -> NoReturn:
        owed = " and ".join(f"{a.api} version {a.api_version}" for a in self.owed.values())
        kind, when = "port crashed", f" that owed an answer to {owed}" if owed else ""
        raise PortFailedError(kind, f"the broker {how}{when}")


class Question(NamedTuple):
    """A request that is no part of a test."""

    api: str
    api_version: int


class Coordinator(NamedTuple):
    """The broker that coordinates a group."""

    node_id: int
    host: str
    port: int


class Enquiry:
    """What a client asks a broker before anything else, over a connection of its own.

    Every call raises `PortFailedError` or `OSError` when the broker fails, `MalformedAnswerError`
    when it is none, and `PortUnavailableError` when it cannot help, or `interrupted` is set.
    """

    def __init__(
        self, host: str, port: int, *, connect_s: float, answer_s: float, interrupted: Event
    ) -> None:
        self._answer_s = answer_s
        self._interrupted = interrupted
        self._connection = Connection[Question](host, port, connect_s)
        self._wake_s = min(answer_s, WAKE_S)
        self._connection.socket.settimeout(self._wake_s)
        self._versions: dict[int, tuple[int, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def known(self) -> Connection[Any]:
        """The connection, once the broker has answered on it: it is nobody's but the caller's."""
        try:
            self.versions({})
        except BaseException:
            self.close()
            raise
        self._connection.begin_anew()
        return self._connection

    def versions(self, newest: Mapping[str, int]) -> dict[str, int]:
        """Which APIs the broker speaks, and the highest version of each that both sides do."""
        answer = self._ask(Question("ApiVersions", 0))
        if answer.error_code:
            _refuse(f"it answers ApiVersions with error {answer.error_code}")
        self._versions = {a.api_key: (a.min_version, a.max_version) for a in answer.api_keys}
        spoken = {api: self._common(api, version) for api, version in newest.items()}
        return {api: version for api, version in spoken.items() if version is not None}

    def oldest(self, apis: Collection[str]) -> dict[str, int]:
        """The lowest version of each API that the broker speaks, as it told with the highest."""
        keys = {api: codec.message_class(f"{api}Request").API_KEY for api in apis}
        return {api: self._versions[key][0] for api, key in keys.items() if key in self._versions}

    def coordinator(self, key: str, kind: int = GROUP) -> Coordinator:
        """The broker that coordinates a group, or the transactions of an id."""
        deadline = monotonic() + COORDINATOR_WAIT_S
        while True:
            answer = self.ask("FindCoordinator", NEWEST_FIND_COORDINATOR, key=key, key_type=kind)
            if not answer.error_code:
                return Coordinator(answer.node_id, answer.host, answer.port)
            if answer.error_code not in COORDINATOR_NOT_YET or monotonic() > deadline:
                _refuse(f"it finds no coordinator ({ErrorCode(answer.error_code).name})")
            self._pause()

    def coordinates(self) -> bool:
        """Whether the one broker of a cluster has loaded its groups: it is asked about many."""
        groups = [f"groupcheck-{number}" for number in range(SAMPLE)]
        answer = self._ask(Question("DescribeGroups", 0), groups=groups)
        return not any(group.error_code for group in answer.groups)

    def has_topic(self, name: str) -> bool:
        """Whether the topic is there; asking may be what has it created, some time later."""
        topic = codec.message_class("MetadataRequest").fields["topics"](name=name)
        answer = self._ask(Question("Metadata", METADATA_VERSION), topics=[topic])
        return not answer.topics[0].error_code

    def create_topic(self, name: str) -> int:
        """Have the topic created if there is none, where the broker does so for who asks.

        Returns:
            How many brokers the cluster has, as far as it tells.
        """
        deadline = monotonic() + TOPIC_WAIT_S
        question = Question("Metadata", METADATA_VERSION)
        topic = codec.message_class("MetadataRequest").fields["topics"](name=name)
        while True:
            answer = self._ask(question, topics=[topic])
            if answer.topics[0].error_code != LEADER_NOT_AVAILABLE or monotonic() > deadline:
                return len(answer.brokers or ())
            self._pause()

    def settings(self, node_id: int, names: Collection[str]) -> dict[str, int]:
        """What the broker with this id tells of its settings, which may be nothing."""
        version = self._common("DescribeConfigs", NEWEST_DESCRIBE_CONFIGS)
        if version is None:
            return {}
        broker = codec.message_class("DescribeConfigsRequest").fields["resources"](
            resource_type=BROKER_RESOURCE,
            resource_name=str(node_id),
            configuration_keys=list(names),
        )
        answer = self._ask(Question("DescribeConfigs", version), resources=[broker])
        told = [config for result in answer.results for config in result.configs]
        numbers = {config.name: as_number(config.value or "") for config in told}
        return {name: n for name, n in numbers.items() if name in names and n is not None}

    def ask(self, api: str, newest: int, **fields: object) -> codec.Message:
        """The answer to a question at the newest version that both sides speak."""
        cls = codec.message_class(f"{api}Request")
        return self.tell(api, newest, lambda version: cls(version=version, **fields))

    def tell(self, api: str, newest: int, message: Callable[[int], codec.Message]) -> codec.Message:
        """The same, of a message that is made for the version."""
        version = self._common(api, newest)
        if version is None:
            _refuse(f"it speaks no version of {api} that groupcheck does")
        return self._said(Question(api, version), message(version))

    def ended(self) -> bool:
        """Whether the broker has closed a connection that owes no answer."""
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
        return self._said(question, cls(version=question.api_version, **fields))

    def _said(self, question: Question, message: codec.Message) -> codec.Message:
        self._connection.send(question, message, CLIENT_ID)
        deadline = monotonic() + self._answer_s
        while monotonic() < deadline:
            check(self._interrupted)
            with suppress(TimeoutError):
                for asked, answer in self._connection.receive():
                    return codec.parse(asked.api, asked.api_version, answer)
        raise TimeoutError

    def _pause(self) -> None:
        self._interrupted.wait(RETRY_S)
        check(self._interrupted)


def check(interrupted: Event) -> None:
    """End what one waits for, if it has been interrupted.

    Raises:
        PortUnavailableError: it has.
    """
    if interrupted.is_set():
        _refuse("interrupted")


def _refuse(reason: str) -> NoReturn:
    raise PortUnavailableError(reason)
