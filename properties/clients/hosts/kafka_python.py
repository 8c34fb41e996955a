"""Consumers of kafka-python."""

from __future__ import annotations

import logging
from typing import Any, Final

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, errors
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.structs import MemberState, OffsetAndMetadata

from groupcheck.properties.clients.hosts.application import (
    COMMIT_OFFSET,
    FATAL,
    TOPIC,
    Kind,
    Report,
    Settings,
    numbers,
    serve,
)

# A join that ends between two polls is done again, which with short polls happens often.
POLL_MS: Final = 50
JOINING_POLL_MS: Final = 400

STRATEGY: Final = "partition.assignment.strategy"
ASSIGNORS: Final = {
    "range": RangePartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
# The first that an error is an instance of.
KINDS: Final = (
    (errors.FencedInstanceIdError, FATAL),
    (errors.CommitFailedError, "not-a-member"),
    (errors.RebalanceInProgressError, "rebalancing"),
    (errors.RetriableError, "retriable"),
)


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Reports what the consumer calls it with."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def on_partitions_assigned(self, assigned: Any) -> None:  # noqa: ANN401 - the library's
        """Report partitions."""
        self._report("assigned", *numbers(assigned))

    def on_partitions_revoked(self, revoked: Any) -> None:  # noqa: ANN401 - as above
        """Report partitions."""
        self._report("revoked", *numbers(revoked))

    def on_partitions_lost(self, lost: Any) -> None:  # noqa: ANN401 - as above
        """Report partitions."""
        self._report("lost", *numbers(lost))


class Consumer:
    """A consumer of kafka-python."""

    def __init__(self, settings: Settings, report: Report) -> None:
        settings[STRATEGY] = [ASSIGNORS[settings[STRATEGY]]]
        named = {name.replace(".", "_"): value for name, value in settings.items()}
        self._report = report
        self._consumer = KafkaConsumer(**named)

    def subscribe(self) -> None:
        """Subscribe to the topic."""
        self._consumer.subscribe([TOPIC], listener=Listener(self._report))

    def unsubscribe(self) -> None:
        """Give up the subscription."""
        self._consumer.unsubscribe()

    def poll(self) -> None:
        """Poll once."""
        joined = self._consumer.group_metadata().state == MemberState.STABLE
        self._consumer.poll(timeout_ms=POLL_MS if joined else JOINING_POLL_MS)

    def commit(self) -> None:
        """Commit with a callback."""
        self._consumer.commit_async(self._offsets(), callback=self._committed)

    def commit_sync(self) -> None:
        """Commit, and wait."""
        self._consumer.commit(self._offsets(), timeout_ms=20_000)

    def close(self, limit_s: float) -> None:
        """Close the consumer."""
        self._consumer.close(timeout_ms=int(limit_s * 1000))

    def kind(self, error: BaseException) -> Kind:
        """What an error means."""
        return next((kind for cls, kind in KINDS if isinstance(error, cls)), "other")

    def _offsets(self) -> dict[Any, Any]:
        return {
            each: OffsetAndMetadata(COMMIT_OFFSET, "", -1) for each in self._consumer.assignment()
        }

    def _committed(self, offsets: object, result: object) -> None:
        del offsets
        if isinstance(result, BaseException):
            self._report("commit-failed", self.kind(result), repr(result))
        else:
            self._report("committed")


if __name__ == "__main__":
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    logging.getLogger("kafka").propagate = False
    serve(kafka.__version__, Consumer)
