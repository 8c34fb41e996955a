"""The transactional producers of the wire port: their requests besides TxnOffsetCommit.

In the model a transaction is a commit of offsets and the marker that ends it. A broker writes the
marker itself, at the request of its transaction coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Event
from time import monotonic
from typing import Any, Final
from uuid import uuid4

from groupcheck.model.classic.instances.inputs import TOPIC
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import (
    GROUP,
    TRANSACTION,
    BootstrapClient,
    raise_if_interrupted,
)
from groupcheck.properties.ports.messages import protocol_error
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError

# The newest versions to send: from the next ones on each transaction has a new epoch.
NEWEST: Final = {
    "InitProducerId": 4,
    "AddOffsetsToTxn": 3,
    "EndTxn": 3,
    "TxnOffsetCommit": 3,
    "OffsetFetch": 7,
}
MARKER: Final = "EndTxn"  # the vocabulary's name of a transaction marker
NOT_MODELLED: Final = frozenset({"InitProducerId", "AddOffsetsToTxn", MARKER})
TIMEOUT_MS: Final = 900_000  # the longest transaction timeout that brokers allow
CONCURRENT_TRANSACTIONS: Final = 51  # the markers of the last transaction are still being written
RETRIABLE: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    CONCURRENT_TRANSACTIONS,
)
MAX_PROBES: Final = 1_000
RETRY_S: Final = 30.0  # how long to retry such an error
MARKER_S: Final = 10.0  # how long a group may take to process a written marker
PAUSES_S: Final = (0.002, 0.1)  # the shortest and the longest pause between retries


def modelled_versions(versions: Mapping[str, int]) -> dict[str, int]:
    """Return the versions of the vocabulary's APIs; markers need all that producers send."""
    found = {api: newest for api, newest in versions.items() if api not in NOT_MODELLED}
    if versions.keys() >= NEWEST.keys():
        return {**found, MARKER: 0}
    found.pop("TxnOffsetCommit", None)
    return found


class Producer:
    """A producer, a client of its transaction coordinator, and the groups in its transaction."""

    __slots__ = ("client", "epoch", "groups", "producer_id", "transactional_id")

    def __init__(self, transactional_id: str, client: BootstrapClient) -> None:
        self.transactional_id = transactional_id
        self.client = client
        self.producer_id = self.epoch = -1
        self.groups: set[str] = set()

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a request that identify the producer."""
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }


class Producers:
    """The producers of one port, by the model's producer ids.

    Every call but `shutdown` raises `PortFailedError` when the broker fails or sends no valid
    response, and `PortUnavailableError` when `interrupted` is set or the transaction coordinator
    is not ready for too long, which is no failure of groups.

    Args:
        connect: opens a connection to a broker; may raise `OSError`.
        interrupted: when set, ends every wait.
    """

    def __init__(self, connect: Callable[[str, int], BootstrapClient], interrupted: Event) -> None:
        self._connect = connect
        self._interrupted = interrupted
        self._unique = uuid4().hex
        self._clients: dict[tuple[str, int], BootstrapClient] = {}
        self._producers: dict[int, Producer] = {}
        self._probe_offset = 0
        self._probe: Producer | None = None
        self._probe_group = ""
        self._groups = ("", 0)
        self._topic = TOPIC

    def open(self, groups: tuple[str, int], topic: str = TOPIC) -> None:
        """Start a test whose groups the broker at that address coordinates; it has the topic."""
        if groups != self._groups or any(c.is_closed() for c in self._clients.values()):
            self.shutdown()
        self._groups, self._topic = groups, topic

    def begin(self, producer_id: int, group_id: str = "") -> Producer:
        """Return a producer; adds the group, if given, to its transaction."""
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._producers[producer_id] = self._init(str(producer_id))
        if group_id and group_id not in producer.groups:
            self._add(producer, group_id)
        return producer

    def end(self, producer_id: int, group_id: str, *, committed: bool) -> ErrorCode:
        """Have the marker written to the group's partition, and wait until it is processed."""
        producer = self.begin(producer_id, group_id)
        error = self._end(producer, committed=committed)
        if not error:
            self._init_producer_id(producer)  # fails until the markers are written
            self._complete_probe()
        return error

    def close(self) -> None:
        """End the test: abort open transactions, without waiting for their markers."""
        for producer in self._producers.values():
            if producer.groups:
                try:
                    self._end(producer, committed=False)
                except (PortFailedError, PortUnavailableError):
                    self.shutdown()
                    return
        self._producers.clear()

    def shutdown(self) -> None:
        """Close the connections."""
        self._probe = None
        self._producers.clear()
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _init(self, name: str) -> Producer:
        """Return an initialised producer.

        Transactional ids belong to the port. Each test gets a new epoch, which aborts open
        transactions of earlier tests.
        """
        transactional_id = f"groupcheck-{self._unique}-{name}"
        producer = Producer(transactional_id, self._coordinator(transactional_id, TRANSACTION))
        self._init_producer_id(producer)
        return producer

    def _init_producer_id(self, producer: Producer) -> None:
        """Get the producer id and a new epoch, once the last transaction is complete."""
        named = producer.transactional_id
        fields = {"transactional_id": named, "transaction_timeout_ms": TIMEOUT_MS}
        answer = self._retried(producer, "InitProducerId", fields)
        _accept("InitProducerId", answer.error_code)
        producer.producer_id, producer.epoch = answer.producer_id, answer.producer_epoch

    def _add(self, producer: Producer, group_id: str) -> None:
        fields = {**producer.fields, "group_id": group_id}
        _accept("AddOffsetsToTxn", self._retried(producer, "AddOffsetsToTxn", fields).error_code)
        producer.groups.add(group_id)

    def _end(self, producer: Producer, *, committed: bool) -> ErrorCode:
        answer = self._retried(producer, "EndTxn", {**producer.fields, "committed": committed})
        producer.groups.clear()
        return ErrorCode(answer.error_code)

    def _retried(self, producer: Producer, api: str, fields: dict[str, Any]) -> codec.Message:
        """Return the response of the transaction coordinator, once it is ready."""
        cls = codec.message_class(f"{api}Request")
        for _ in self._attempts(RETRY_S):
            answer = _send(producer.client, api, lambda version: cls(version=version, **fields))
            if answer.error_code not in RETRIABLE:
                return answer
        msg = f"its transaction coordinator is not ready for {api} after {RETRY_S:g} s"
        raise PortUnavailableError(msg)

    def _complete_probe(self) -> None:
        """Complete a transaction of another producer, in a group that belongs to no test.

        Kafka's coordinator processes markers some time after they are written, in their order
        (GroupMetadataManager.scala:875). So when the offset of a later transaction can be read, the
        earlier marker has been processed. It has to be another producer: a marker also completes
        later pending offsets of the same producer, even in its next transaction.
        """
        self._probe_offset += 1
        if self._probe is None:
            self._probe_group = self._find_probe_group()
            self._probe = self._init("probe")
        groups, producer = self._client(self._groups), self._probe
        self._add(producer, self._probe_group)
        commit = _commit(producer, self._probe_group, self._topic, self._probe_offset)
        answer = _send(groups, "TxnOffsetCommit", partial(codec.to_message, commit))
        _accept("TxnOffsetCommit", answer.topics[0].partitions[0].error_code)
        _accept("EndTxn", self._end(producer, committed=True))
        fetch = OffsetFetchRequest(self._probe_group, (OffsetFetchRequestTopic(self._topic, (0,)),))
        for _ in self._attempts(MARKER_S):
            answer = _send(groups, "OffsetFetch", partial(codec.to_message, fetch))
            if answer.topics[0].partitions[0].committed_offset == self._probe_offset:
                return
        kind = "port hung"
        raise PortFailedError(kind, f"a marker was not processed within {MARKER_S:g} s")

    def _find_probe_group(self) -> str:
        """Return a group that belongs to no test and has the same coordinator."""
        for number in range(MAX_PROBES):
            group_id = f"groupcheck-probe-{self._unique}-{number}"
            if self._coordinator(group_id, GROUP) is self._client(self._groups):
                return group_id
        return protocol_error(f"it coordinates the test's group and none of {MAX_PROBES} others")

    def _coordinator(self, key: str, kind: int) -> BootstrapClient:
        """Return a client of the coordinator of a group, or of a transactional id."""
        with _port_failure("FindCoordinator"):
            found = self._client(self._groups).coordinator(key, kind)
        return self._client((found.host, found.port))

    def _client(self, address: tuple[str, int]) -> BootstrapClient:
        if address not in self._clients:
            try:
                client = self._connect(*address)
            except OSError as error:
                reason = f"cannot open another connection: {error.strerror or error}"
                kind = "port crashed"
                raise PortFailedError(kind, reason) from error
            with _port_failure("ApiVersions"):
                client.versions({})
            self._clients[address] = client
        return self._clients[address]

    def _attempts(self, for_s: float) -> Iterator[None]:
        """Yield once per attempt, with growing pauses, for `for_s` seconds."""
        deadline, pause_s = monotonic() + for_s, PAUSES_S[0]
        while monotonic() < deadline:
            yield
            self._interrupted.wait(pause_s)
            raise_if_interrupted(self._interrupted)
            pause_s = min(2 * pause_s, PAUSES_S[1])


def _send(
    client: BootstrapClient, api: str, message: Callable[[int], codec.Message]
) -> codec.Message:
    """Return the response to a message at the newest version that both sides support."""
    with _port_failure(api):
        return client.send(api, NEWEST[api], message)


@contextmanager
def _port_failure(api: str) -> Iterator[None]:
    """Turn every failure of the broker into a failure of the port."""
    try:
        yield
    except TimeoutError as error:
        kind = "port hung"
        raise PortFailedError(kind, f"no response to {api} in time") from error
    except codec.MalformedAnswerError as error:
        protocol_error(str(error))


def _commit(producer: Producer, group_id: str, topic: str, offset: int) -> TxnOffsetCommitRequest:
    partitions = (TxnOffsetCommitRequestPartition(0, offset),)
    topics = (TxnOffsetCommitRequestTopic(topic, partitions),)
    return TxnOffsetCommitRequest(group_id=group_id, topics=topics, **producer.fields)


def _accept(api: str, error: int) -> None:
    if error:
        protocol_error(f"{api} answered with {ErrorCode(error).name}")
