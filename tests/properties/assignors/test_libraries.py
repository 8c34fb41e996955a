"""Client libraries break promises that are found, and known."""

from __future__ import annotations

import pytest

from groupcheck.model.assignors.group import Group
from groupcheck.properties.assignors.port import AssignorFailedError, AssignorPort
from groupcheck.properties.assignors.source import assignor_source
from groupcheck.properties.assignors.verify import Settings, try_group, verify
from support.assignors import group
from support.needs import needs_assignors

JAVA, OLD_JAVA = "kafka-clients:4.1", "kafka-clients:2.7"
IN_JAVA = [pytest.param(spec, marks=needs_assignors(spec)) for spec in (JAVA, OLD_JAVA)]

# A member without topics, and topics that have had more partitions.
NO_TOPICS = group("t0:1", m0="", m1="t0")
FEWER = group("t0:1 t1:1", m0="t0 t1 < t0-0 t1-1", m1="t0")
GONE = group("t0:1", m0="t0 < t0-1")
TWICE = group("t0:1", m0="t0 < t0-0", m1="t0 < t0-0")

KNOWN = [
    (JAVA, "sticky", NO_TOPICS, "subscribed"),
    (JAVA, "cooperative-sticky", FEWER, "one-owner"),
    (JAVA, "sticky", GONE, "answers"),
    (JAVA, "broker:uniform", group("t0:2", m0="t0", m1="t0"), None),
    (OLD_JAVA, "sticky", NO_TOPICS, "subscribed"),
    (OLD_JAVA, "cooperative-sticky", TWICE, "one-owner"),
    ("kafka-python", "roundrobin", NO_TOPICS, "answers"),
    ("kafka-python", "sticky", group("t0:1", m0="t0", m1="t0 < t0-0"), "fewest-moves"),
    ("aiokafka", "range", NO_TOPICS, None),
    ("librdkafka", "cooperative-sticky", group("", m0=""), "answers"),
    ("librdkafka", "range", NO_TOPICS, "each-member"),
]


# The findings of these versions are known; others may have fewer.
VERSIONS = {"kafka-python": "3.0.12", "aiokafka": "0.14.0", "librdkafka": "2.16.0"}


def _opened(spec: str) -> AssignorPort:
    port = assignor_source(spec).make(print)
    found = port.open()
    if VERSIONS.get(spec, found.version) != found.version:
        port.shutdown()
        pytest.skip(f"of {spec} the findings of {VERSIONS[spec]} are known, not of {found.version}")
    return port


@pytest.mark.parametrize(
    ("spec", "assignor", "given", "promise"),
    [
        pytest.param(*each, marks=needs_assignors(each[0])) if each[0] in {JAVA, OLD_JAVA} else each
        for each in KNOWN
    ],
)
def test_a_library_breaks_the_promise_that_it_is_known_to_break(
    spec: str, assignor: str, given: Group, promise: str | None
) -> None:
    port = _opened(spec)
    broken = try_group(port, assignor, assignor_source(spec).version, given).broken
    port.shutdown()
    assert (broken and broken.promise.id) == promise


@pytest.mark.parametrize("spec", IN_JAVA)
@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_the_functions_of_kafkas_own_library_are_those_of_the_model(
    spec: str, assignor: str
) -> None:
    port = _opened(spec)
    result = verify(port, assignor, Settings(assignor_source(spec).version, 1_000))
    port.shutdown()
    assert (result.tried, result.findings) == (1_000, [])


def test_aiokafka_ignores_static_members() -> None:
    port = _opened("aiokafka")
    (finding,) = verify(port, "roundrobin", Settings("4.1", 200, racks=False)).findings
    assert (finding.broken.promise.id, finding.cause) == (
        "as-kafka",
        "it ignores group.instance.id",
    )


def test_an_error_of_a_library_is_one_line() -> None:
    port = _opened("kafka-python")
    with pytest.raises(AssignorFailedError, match=r"^KeyError: \(None, 'm1'\)$"):
        port.assign("roundrobin", NO_TOPICS)
