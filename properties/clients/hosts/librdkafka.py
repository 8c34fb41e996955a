"""Consumers of librdkafka, with confluent-kafka."""

from __future__ import annotations

from typing import Any, Final

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from groupcheck.properties.clients.hosts.application import (
    COMMIT_OFFSET,
    FATAL,
    POLL_S,
    TOPIC,
    Kind,
    Report,
    Settings,
    numbers,
    serve,
)

# What only informs: the client tries again.
IGNORED: Final = (
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - the names of librdkafka's own errors
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._PARTITION_EOF,  # noqa: SLF001
)
KINDS: Final = {
    KafkaError.FENCED_INSTANCE_ID: FATAL,
    KafkaError._FATAL: FATAL,  # noqa: SLF001
    KafkaError.REBALANCE_IN_PROGRESS: "rebalancing",
    KafkaError.UNKNOWN_MEMBER_ID: "not-a-member",
    KafkaError.ILLEGAL_GENERATION: "not-a-member",
    KafkaError._ASSIGNMENT_LOST: "not-a-member",  # noqa: SLF001
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: "retriable",
    KafkaError.COORDINATOR_NOT_AVAILABLE: "retriable",
    KafkaError.NOT_COORDINATOR: "retriable",
    KafkaError.REQUEST_TIMED_OUT: "retriable",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "retriable",
    KafkaError._TRANSPORT: "retriable",  # noqa: SLF001
    KafkaError._TIMED_OUT: "retriable",  # noqa: SLF001
    KafkaError._WAIT_COORD: "retriable",  # noqa: SLF001
    KafkaError._DESTROY: "retriable",  # noqa: SLF001
}


class Consumer:
    """A consumer of librdkafka."""

    def __init__(self, settings: Settings, report: Report) -> None:
        self._report = report
        self._fatal: KafkaError | None = None
        callbacks = {"error_cb": self._error, "on_commit": self._committed}
        self._consumer = confluent_kafka.Consumer({**settings, **callbacks})

    def subscribe(self) -> None:
        """Subscribe to the topic."""
        self._consumer.subscribe(
            [TOPIC],
            on_assign=lambda _, partitions: self._report("assigned", *numbers(partitions)),
            on_revoke=lambda _, partitions: self._report("revoked", *numbers(partitions)),
            on_lost=lambda _, partitions: self._report("lost", *numbers(partitions)),
        )

    def unsubscribe(self) -> None:
        """Give up the subscription."""
        self._consumer.unsubscribe()

    def poll(self) -> None:
        """Poll once; raises an error that the poll returns."""
        message = self._consumer.poll(POLL_S)
        fatal, self._fatal = self._fatal, None
        error = fatal or (None if message is None else message.error())
        if error is not None and (error.fatal() or error.code() not in IGNORED):
            raise KafkaException(error)

    def commit(self) -> None:
        """Commit; `on_commit` gets the result."""
        self._consumer.commit(offsets=self._offsets(), asynchronous=True)

    def commit_sync(self) -> None:
        """Commit, and wait."""
        for each in self._consumer.commit(offsets=self._offsets(), asynchronous=False):
            if each.error is not None:
                raise KafkaException(each.error)

    def close(self, limit_s: float) -> None:
        """Close the consumer, which takes no limit of time."""
        del limit_s
        self._consumer.close()

    def kind(self, error: BaseException) -> Kind:
        """What an error means."""
        found = error.args[0] if error.args else None
        if not isinstance(found, KafkaError):
            return "other"
        return FATAL if found.fatal() else KINDS.get(found.code(), "other")

    def _offsets(self) -> list[TopicPartition]:
        owned = self._consumer.assignment()
        return [TopicPartition(each.topic, each.partition, COMMIT_OFFSET) for each in owned]

    def _error(self, error: KafkaError) -> None:
        """Keep an error that the next poll has to raise."""
        if error.fatal() or error.code() not in IGNORED:
            self._fatal = error

    def _committed(self, error: KafkaError | None, partitions: list[Any]) -> None:
        if any(each.offset != COMMIT_OFFSET for each in partitions):
            return  # an automatic commit
        errors = [error, *(each.error for each in partitions)]
        found = next((each for each in errors if each is not None), None)
        if found is None:
            self._report("committed")
        else:
            self._report("commit-failed", self.kind(KafkaException(found)), found)


if __name__ == "__main__":
    serve(confluent_kafka.libversion()[0], Consumer, polls_unsubscribed=True)
