"""Offset expiry on a real broker, in versions that keep offsets too long."""

from __future__ import annotations

from threading import Event
from typing import Any

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import TOPIC
from groupcheck.model.vocabulary import ErrorCode, Request, RequestBody
from groupcheck.properties.brokers import catalogue
from groupcheck.properties.brokers.definition import SETTINGS
from groupcheck.properties.ports.wire import WirePort
from support.needs import needs_broker
from support.requests import commit_of, fetch_of, partition_error

CHECKS_MS = 300  # the interval of the cleanup
RETENTION_MS = 100
WAIT_MS = 5_000


def _commit(index: int, metadata: str = "") -> kafka.OffsetCommitRequest:
    return commit_of({(TOPIC, index): (42, -1, metadata)}, retention_time_ms=RETENTION_MS)


@needs_broker("kafka:0.10.2")
def test_kafka_0_10_2_never_expires_a_partition_whose_last_commit_was_refused() -> None:
    definition = catalogue.definitions()["kafka:0.10.2"]
    settings = {"offsets.retention.check.interval.ms": CHECKS_MS}
    broker = catalogue.Broker(definition, {**definition.settings, **settings}, Event())
    try:
        port = WirePort(*broker.address(), settings=SETTINGS)
        port.open("0.10.2", SETTINGS)
        fetch = fetch_of((TOPIC, 0), (TOPIC, 1))
        bodies: tuple[RequestBody, ...] = (_commit(0), _commit(1), _commit(0, "x" * 5_000))
        errors = [
            partition_error(port.request(Request(n, 2, body), {n}).responses[0].body)
            for n, body in enumerate(bodies, 1)
        ]
        port.advance(WAIT_MS, ())
        answer: Any = port.request(Request(4, 1, fetch), {4}).responses[0].body
        port.shutdown()
    finally:
        broker.stop()
    assert errors == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE]
    found = {p.partition_index: p.committed_offset for p in answer.topics[0].partitions}
    assert found == {0: 42, 1: -1}
