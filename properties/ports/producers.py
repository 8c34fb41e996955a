"""Producers whose transactions commit offsets over the wire: what they ask beside their commits.

To the model a transaction is a commit of offsets and the marker that ends it. A broker writes that
marker itself, as its coordinator of transactions is asked to; how a commit is sent is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Event
from time import monotonic
from typing import Any, Final
from uuid import uuid4

from groupcheck.model.spaces.clients import TOPIC
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import GROUP, TRANSACTION, Enquiry, check
from groupcheck.properties.ports.messages import protocol_error
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError

# The newest versions that are asked: from the next ones on an epoch ends with each transaction.
NEWEST: Final = {
    "InitProducerId": 4,
    "AddOffsetsToTxn": 3,
    "EndTxn": 3,
    "TxnOffsetCommit": 3,
    "OffsetFetch": 7,
}
MARKER: Final = "EndTxn"  # what the vocabulary has under that name
AROUND: Final = frozenset({"InitProducerId", "AddOffsetsToTxn", MARKER})
# A producer whose transaction takes longer is taken for dead; the most that brokers allow.
TIMEOUT_MS: Final = 900_000
CONCURRENT_TRANSACTIONS: Final = 51  # the markers of the last one are still being written
LATER: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    CONCURRENT_TRANSACTIONS,
)
MOST_NEIGHBOURS: Final = 1_000
LATER_S: Final = 30.0  # how long that is put up with
MARKER_S: Final = 10.0  # how long a marker that is written may take to come to a group
PAUSES_S: Final = (0.002, 0.1)  # the shortest between two of the same question, and the longest


def as_modelled(versions: Mapping[str, int]) -> dict[str, int]:
    """What a broker speaks of the vocabulary: markers too, if it has all that producers ask."""
    found = {api: newest for api, newest in versions.items() if api not in AROUND}
    if versions.keys() >= NEWEST.keys():
        return {**found, MARKER: 0}
    found.pop("TxnOffsetCommit", None)
    return found


class Producer:
    """A producer as its transactions' coordinator knows it; `groups` are in its transaction."""

    __slots__ = ("epoch", "groups", "line", "producer_id", "transactional_id")

    def __init__(self, transactional_id: str, line: Enquiry) -> None:
        self.transactional_id = transactional_id
        self.line = line
        self.producer_id = self.epoch = -1
        self.groups: set[str] = set()

    @property
    def named(self) -> dict[str, Any]:
        """How a request says who it is."""
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }


class Producers:
    """The producers of one port, by the ids that the model has for them.

    Every call but the last raises `PortFailedError` when the broker fails or answers what is no
    answer, and `PortUnavailableError` when `interrupted` is set, or the coordinator of transactions
    is not ready for too long: of the groups that says nothing.

    Args:
        enquire: makes a connection to a broker; may raise `OSError`.
        interrupted: ends whatever is waited for, once it is set.
    """

    def __init__(self, enquire: Callable[[str, int], Enquiry], interrupted: Event) -> None:
        self._enquire = enquire
        self._interrupted = interrupted
        self._unique = uuid4().hex
        self._lines: dict[tuple[str, int], Enquiry] = {}
        self._producers: dict[int, Producer] = {}
        self._witnessed = 0
        self._witness: Producer | None = None
        self._witness_id = ""
        self._groups = ("", 0)

    def open(self, groups: tuple[str, int]) -> None:
        """Begin a test of groups that the broker at that address coordinates."""
        if groups != self._groups or any(line.ended() for line in self._lines.values()):
            self.shutdown()
        self._groups = groups

    def begin(self, producer_id: int, group_id: str = "") -> Producer:
        """A producer with a transaction under way in which the group is, if one is named."""
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._producers[producer_id] = self._made(str(producer_id))
        if group_id and group_id not in producer.groups:
            self._add(producer, group_id)
        return producer

    def end(self, producer_id: int, group_id: str, *, committed: bool) -> ErrorCode:
        """Have the marker written in the group's partition, and wait until the group knows it.

        Raises:
            PortFailedError: as for all of them.
        """
        producer = self.begin(producer_id, group_id)
        error = self._end(producer, committed=committed)
        if not error:
            self._claim(producer)  # which it cannot before the markers are written
            self._see_one_through()
        return error

    def close(self) -> None:
        """End the test; what is under way is aborted, but nobody waits for that."""
        for producer in self._producers.values():
            if producer.groups:
                try:
                    self._end(producer, committed=False)
                except (PortFailedError, PortUnavailableError):
                    self.shutdown()
                    return
        self._producers.clear()

    def shutdown(self) -> None:
        """Let go of the connections."""
        self._witness = None
        self._producers.clear()
        for line in self._lines.values():
            line.close()
        self._lines.clear()

    def _made(self, name: str) -> Producer:
        """A producer that the coordinator of its transactions knows.

        The transactional ids are the port's. With each test the epoch is another, and what an
        earlier test has left is over.
        """
        transactional_id = f"groupcheck-{self._unique}-{name}"
        producer = Producer(transactional_id, self._coordinator(transactional_id, TRANSACTION))
        self._claim(producer)
        return producer

    def _claim(self, producer: Producer) -> None:
        """Have it given its id, and another epoch, once its last transaction is complete."""
        named = producer.transactional_id
        fields = {"transactional_id": named, "transaction_timeout_ms": TIMEOUT_MS}
        answer = self._asked(producer, "InitProducerId", fields)
        _accept("InitProducerId", answer.error_code)
        producer.producer_id, producer.epoch = answer.producer_id, answer.producer_epoch

    def _add(self, producer: Producer, group_id: str) -> None:
        fields = {**producer.named, "group_id": group_id}
        _accept("AddOffsetsToTxn", self._asked(producer, "AddOffsetsToTxn", fields).error_code)
        producer.groups.add(group_id)

    def _end(self, producer: Producer, *, committed: bool) -> ErrorCode:
        answer = self._asked(producer, "EndTxn", {**producer.named, "committed": committed})
        producer.groups.clear()
        return ErrorCode(answer.error_code)

    def _asked(self, producer: Producer, api: str, fields: dict[str, Any]) -> codec.Message:
        """What the coordinator of transactions answers, once it is ready."""
        cls = codec.message_class(f"{api}Request")
        for _ in self._again(LATER_S):
            answer = _said(producer.line, api, lambda version: cls(version=version, **fields))
            if answer.error_code not in LATER:
                return answer
        msg = f"its coordinator of transactions is not ready for {api} after {LATER_S:g} s"
        raise PortUnavailableError(msg)

    def _see_one_through(self) -> None:
        """See a transaction of another producer through, of a group that no test looks at.

        Kafka's coordinator has markers looked at some time after they are written, in their order
        (GroupMetadataManager.scala:875). So when the offset of a later transaction can be read,
        the earlier one has been seen to. The other producer has to be another: a marker comes to
        whatever the same one has pending by then, in its next transaction too.
        """
        self._witnessed += 1
        if self._witness is None:
            self._witness_id = self._neighbour()
            self._witness = self._made("witness")
        groups, producer = self._line(self._groups), self._witness
        self._add(producer, self._witness_id)
        commit = _commit(producer, self._witness_id, self._witnessed)
        answer = _said(groups, "TxnOffsetCommit", partial(codec.to_message, commit))
        _accept("TxnOffsetCommit", answer.topics[0].partitions[0].error_code)
        _accept("EndTxn", self._end(producer, committed=True))
        fetch = OffsetFetchRequest(self._witness_id, (OffsetFetchRequestTopic(TOPIC, (0,)),))
        for _ in self._again(MARKER_S):
            answer = _said(groups, "OffsetFetch", partial(codec.to_message, fetch))
            if answer.topics[0].partitions[0].committed_offset == self._witnessed:
                return
        kind = "port hung"
        raise PortFailedError(kind, f"no group knew of a marker after {MARKER_S:g} s")

    def _neighbour(self) -> str:
        """A group that no test looks at, and the same broker coordinates."""
        for number in range(MOST_NEIGHBOURS):
            group_id = f"groupcheck-witness-{self._unique}-{number}"
            if self._coordinator(group_id, GROUP) is self._line(self._groups):
                return group_id
        return protocol_error(f"of {MOST_NEIGHBOURS} groups it coordinates none, but the test's")

    def _coordinator(self, key: str, kind: int) -> Enquiry:
        """A connection to the coordinator of a group, or of the transactions of an id."""
        with _failing("FindCoordinator"):
            found = self._line(self._groups).coordinator(key, kind)
        return self._line((found.host, found.port))

    def _line(self, address: tuple[str, int]) -> Enquiry:
        if address not in self._lines:
            try:
                line = self._enquire(*address)
            except OSError as error:
                kind, what = "port crashed", f"no further connection: {error.strerror or error}"
                raise PortFailedError(kind, what) from error
            with _failing("ApiVersions"):
                line.versions({})
            self._lines[address] = line
        return self._lines[address]

    def _again(self, for_s: float) -> Iterator[None]:
        """Ask again and again, for so long."""
        deadline, pause_s = monotonic() + for_s, PAUSES_S[0]
        while monotonic() < deadline:
            yield
            self._interrupted.wait(pause_s)
            check(self._interrupted)
            pause_s = min(2 * pause_s, PAUSES_S[1])


def _said(line: Enquiry, api: str, message: Callable[[int], codec.Message]) -> codec.Message:
    """The answer to a message at the newest version that both sides speak."""
    with _failing(api):
        return line.tell(api, NEWEST[api], message)


@contextmanager
def _failing(api: str) -> Iterator[None]:
    """Say of whatever fails that it is the port's."""
    try:
        yield
    except TimeoutError as error:
        kind = "port hung"
        raise PortFailedError(kind, f"no answer to {api} in time") from error
    except codec.MalformedAnswerError as error:
        protocol_error(str(error))


def _commit(producer: Producer, group_id: str, offset: int) -> TxnOffsetCommitRequest:
    partitions = (TxnOffsetCommitRequestPartition(0, offset),)
    topics = (TxnOffsetCommitRequestTopic(TOPIC, partitions),)
    return TxnOffsetCommitRequest(group_id=group_id, topics=topics, **producer.named)


def _accept(api: str, error: int) -> None:
    if error:
        protocol_error(f"{api} answered with {ErrorCode(error).name}")
