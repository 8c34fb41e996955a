"""A minimal transaction coordinator, with which producers can commit offsets in transactions.

Transactions are in memory only. Kafka's transaction log and fencing across brokers are missing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from groupcheck.implementation.log.batches import RawBatch, build, marker_record
from groupcheck.implementation.log.records import Marker
from groupcheck.implementation.server import messages
from groupcheck.implementation.server.calls import Call
from groupcheck.implementation.server.groups import Groups
from groupcheck.implementation.server.topics import Batch, Partition, Topics, batches
from groupcheck.model.vocabulary import EndTxnRequest as MarkerRequest
from groupcheck.model.vocabulary import ErrorCode

MAX_TIMEOUT_MS: Final = 900_000  # transaction.max.timeout.ms
MOST_EPOCHS: Final = 2**15 - 1
MOST_TRANSACTIONS: Final = 10_000
OPERATION_NOT_ATTEMPTED: Final = ErrorCode(55)

TransactionRequest = (
    messages.AddPartitionsToTxnRequest | messages.AddOffsetsToTxnRequest | messages.EndTxnRequest
)


class _Transaction:
    """The state of a transactional id."""

    __slots__ = ("groups", "partitions", "producer_epoch", "producer_id", "timeout_ms", "timer")

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = -1
        self.timeout_ms = 0
        self.partitions: dict[Partition, None] = {}
        self.groups: dict[str, None] = {}
        self.timer: asyncio.TimerHandle | None = None


class Transactions:
    """The transactions of all producers."""

    def __init__(self, topics: Topics, groups: Groups, loop: asyncio.AbstractEventLoop) -> None:
        self._topics = topics
        self._groups = groups
        self._loop = loop
        self._producer_ids = count(1)
        self._transactions: dict[str, _Transaction] = {}

    def init_producer_id(self, call: Call) -> None:
        """Answer InitProducerId; an open transaction of the producer is aborted."""
        body: messages.InitProducerIdRequest = call.body
        if body.transactional_id is None:
            call.reply(messages.InitProducerIdResponse(ErrorCode.NONE, next(self._producer_ids), 0))
            return
        error, transaction = self._claimed(body)
        if transaction is None:
            call.reply(messages.InitProducerIdResponse(error))
            return
        transaction.timeout_ms = body.transaction_timeout_ms

        def ended() -> None:
            transaction.producer_epoch += 1
            if transaction.producer_epoch >= MOST_EPOCHS:
                transaction.producer_id, transaction.producer_epoch = next(self._producer_ids), 0
            producer = (transaction.producer_id, transaction.producer_epoch)
            call.reply(messages.InitProducerIdResponse(ErrorCode.NONE, *producer))

        self._end(transaction, committed=False, ended=ended)

    def _claimed(
        self, body: messages.InitProducerIdRequest
    ) -> tuple[ErrorCode, _Transaction | None]:
        """The transaction of a producer that starts, or the error."""
        transactional_id = body.transactional_id or ""
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST, None
        if not 0 < body.transaction_timeout_ms <= MAX_TIMEOUT_MS:
            return messages.INVALID_TRANSACTION_TIMEOUT, None
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            if len(self._transactions) >= MOST_TRANSACTIONS:
                return ErrorCode.COORDINATOR_NOT_AVAILABLE, None
            transaction = _Transaction(next(self._producer_ids))
            self._transactions[transactional_id] = transaction
        claimed = (body.producer_id, body.producer_epoch)
        if claimed not in {(-1, -1), (transaction.producer_id, transaction.producer_epoch)}:
            return messages.INVALID_PRODUCER_EPOCH, None
        return ErrorCode.NONE, transaction

    def add_partitions(self, call: Call) -> None:
        """Answer AddPartitionsToTxn: all of the partitions are added, or none."""
        body: messages.AddPartitionsToTxnRequest = call.body
        error, transaction = self._found(body)
        found = {
            (topic.name, index): self._topics.partition(topic.name, index)
            for topic in body.topics
            for index in topic.partitions
        }
        if transaction is not None and None in found.values():
            error = OPERATION_NOT_ATTEMPTED
        elif transaction is not None:
            transaction.partitions.update(dict.fromkeys(p for p in found.values() if p))
            self._begin(transaction)

        def result(name: str, index: int) -> messages.AddPartitionsToTxnPartitionResult:
            unknown = found[name, index] is None and error is OPERATION_NOT_ATTEMPTED
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if unknown else error
            return messages.AddPartitionsToTxnPartitionResult(index, code)

        topics = (
            messages.AddPartitionsToTxnTopicResult(
                t.name, tuple(result(t.name, i) for i in t.partitions)
            )
            for t in body.topics
        )
        call.reply(messages.AddPartitionsToTxnResponse(tuple(topics)))

    def add_offsets(self, call: Call) -> None:
        """Answer AddOffsetsToTxn: the group's offsets wait for the end of the transaction."""
        body: messages.AddOffsetsToTxnRequest = call.body
        error, transaction = self._found(body)
        if transaction is not None:
            transaction.groups[body.group_id] = None
            self._begin(transaction)
        call.reply(messages.AddOffsetsToTxnResponse(error))

    def end(self, call: Call) -> None:
        """Answer EndTxn when the markers are written."""
        body: messages.EndTxnRequest = call.body
        error, transaction = self._found(body)
        if transaction is None:
            call.reply(messages.EndTxnResponse(error))
            return

        def ended() -> None:
            call.reply(messages.EndTxnResponse(ErrorCode.NONE))

        self._end(transaction, committed=body.committed, ended=ended)

    def _found(self, body: TransactionRequest) -> tuple[ErrorCode, _Transaction | None]:
        """The transaction of a request, or the error."""
        transaction = self._transactions.get(body.transactional_id)
        if transaction is None or transaction.producer_id != body.producer_id:
            return messages.INVALID_PRODUCER_ID_MAPPING, None
        if transaction.producer_epoch != body.producer_epoch:
            return messages.INVALID_PRODUCER_EPOCH, None
        return ErrorCode.NONE, transaction

    def _begin(self, transaction: _Transaction) -> None:
        """Start the timeout with the first partition or group."""
        if transaction.timer is None:
            timeout_s = transaction.timeout_ms / 1000
            transaction.timer = self._loop.call_later(timeout_s, self._expire, transaction)

    def _expire(self, transaction: _Transaction) -> None:
        """Abort a transaction that takes too long; the new epoch fences its producer."""

        def ended() -> None:
            transaction.producer_epoch += 1

        self._end(transaction, committed=False, ended=ended)

    def _end(
        self, transaction: _Transaction, *, committed: bool, ended: Callable[[], None]
    ) -> None:
        """Write the markers to partitions and groups, then call `ended`."""
        if transaction.timer is not None:
            transaction.timer.cancel()
            transaction.timer = None
        marker = _marker(transaction, committed=committed)
        for partition in transaction.partitions:
            partition.end_transaction(marker, committed=committed)
        transaction.partitions.clear()
        groups = list(transaction.groups)
        transaction.groups.clear()
        remaining = set(groups)

        def answered(group_id: str) -> Callable[[Any], None]:
            def take(_response: object) -> None:
                remaining.discard(group_id)
                if not remaining:
                    ended()

            return take

        for group_id in groups:
            marker_request = MarkerRequest(group_id, transaction.producer_id, committed)
            self._groups.ask(marker_request, 0, answered(group_id))
        if not groups:
            ended()


def _marker(transaction: _Transaction, *, committed: bool) -> Batch:
    """The control batch that ends a transaction (EndTransactionMarker.java, ControlRecordType)."""
    marker = Marker.COMMIT if committed else Marker.ABORT
    record = marker_record(marker, time.time_ns() // 1_000_000)
    batch = RawBatch((record,), transaction.producer_id, transaction.producer_epoch, marker)
    return next(batches(bytes(build(batch))))
