"""Apache Kafka's own consumers do what the specification says, in every transition."""

from __future__ import annotations

import pytest

from groupcheck.model.member.specification import instances
from groupcheck.properties.clients.source import client_source
from groupcheck.properties.clients.verify import Limits, verify
from support.needs import needs_client

JOBS = 8
LONGER = 4  # than usual, as other tests run beside


CASES = [
    ("kafka-clients:4.1", "cooperative-static"),
    ("kafka-clients:4.1", "automatic"),
    ("kafka-clients:2.7", "automatic"),
    ("kafka-clients:4.1", "early-commits"),
    ("kafka-clients:2.7", "early-commits"),
    ("kafka-clients:4.1", "returning-leader"),
]


@pytest.mark.parametrize(
    ("spec", "name"),
    [pytest.param(*case, marks=[needs_client(case[0]), pytest.mark.slow]) for case in CASES],
)
def test_kafkas_consumer_does_what_every_transition_says(spec: str, name: str) -> None:
    source = client_source(spec)
    port = source.make(print)
    try:
        info = port.open()
        instance = instances(source.version)[name]
        result = verify(port, name, instance, Limits(JOBS, LONGER * info.patience_s))
    finally:
        port.shutdown()
    assert [finding.words for finding in result.findings] == []
    assert result.failures == {}
    assert (result.same, result.untried) == (result.transitions, 0)
