"""What rack-aware cooperative consumers of Apache Kafka do on brokers in three racks.

docs/found-in-assignors.md describes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from uuid import uuid4

import pytest

from groupcheck.properties.cluster.real.processes import rack_of, release_of, started
from support.java_consumers import Consumers, Topics
from support.needs import needs_assignors, needs_broker

pytestmark = [
    pytest.mark.slow,
    needs_broker("kafka:4.1"),  # a cluster needs the same
    needs_assignors("kafka-clients:4.1"),
]


@pytest.fixture
def address() -> Iterator[str]:
    processes = started(release_of("kafka-cluster:4.1"), Event(), lambda _: None)
    try:
        yield "{}:{}".format(*processes.running[1].address)
    finally:
        processes.stop()


def test_four_consumers_of_kafka_rebalance_for_ever_if_racks_matter(address: str) -> None:
    prefix, topics = str(uuid4()), Topics(address)
    a, b, c = (f"{prefix}-{letter}" for letter in "abc")
    topics.create_on(a, 2, 3)
    topics.create_on(b, 3, 2)
    topics.create_on(c, 2, 3, 1, 3)
    with Consumers(address, "4.1.2", "cooperative-sticky", heartbeat_interval_ms=300) as consumers:
        consumers.start("m0", a, c, rack=rack_of(1))
        consumers.eventually(lambda: len(consumers.owns("m0")) == 6)
        consumers.start("m1", a, c)
        consumers.eventually(lambda: len(consumers.owns("m1")) == 3)
        consumers.start("m3", a, b, c, rack=rack_of(2))
        consumers.eventually(lambda: {f"{b}-0", f"{b}-1"} <= {*consumers.owns("m3")})
        consumers.start("m2", a, rack=rack_of(1))
        consumers.eventually(lambda: bool(consumers.owns("m2")))
        before = consumers.generation("m1")
        consumers.eventually(lambda: consumers.generation("m1") >= before + 20)
        revoked = [each.what["partitions"] for each in consumers.of("m1", "revoked")[-10:]]
        assert revoked in ([[f"{a}-1"], [f"{c}-1"]] * 5, [[f"{c}-1"], [f"{a}-1"]] * 5)
