"""A live broker is checked with its own settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.cli import main
from groupcheck.implementation.core.config import Config
from groupcheck.model.vocabulary import HeartbeatRequest, Request
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import UnknownPortError, port_source
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.tolerances import USUAL, Tolerances
from groupcheck.properties.verify import Verification
from groupcheck.reports.terminal import summary
from groupcheck.reports.verification_record import result_record
from support.wire_broker import BUSY, Broker, CoordinatorBroker, serving

DELAY = "group.initial.rebalance.delay.ms"
DEFAULTS = {
    "group.min.session.timeout.ms": 6_000,
    "group.max.session.timeout.ms": 1_800_000,
    DELAY: 3_000,
    "offset.metadata.max.bytes": 4_096,
    "group.max.size": 2**31 - 1,
}
UNUSUAL = Config(10_000, 20_000, 0, 10)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with serving(Broker()) as started:
        yield started


def verified(broker: Broker, query: str = "", tolerances: Tolerances = USUAL) -> Result:
    source = port_source(f"kafka://127.0.0.1:{broker.port}{query}", tolerances=tolerances)
    return Verification(source, Settings(examples=40, steps=30)).run()


def test_conforming_broker_with_other_settings_conforms() -> None:
    with serving(CoordinatorBroker(UNUSUAL)) as broker:
        result = verified(broker, tolerances=BUSY)
    assert result.findings == []
    assert result.conforms
    assert result.assumed_defaults == []
    assert result.covered_transitions > 100


def test_given_settings_replace_those_that_the_broker_does_not_report() -> None:
    longest_ms = DEFAULTS["group.max.session.timeout.ms"]
    config = UNUSUAL._replace(group_max_session_timeout_ms=longest_ms)
    with serving(CoordinatorBroker(config)) as broker:
        del broker.versions[32]
        query = "?group.initial.rebalance.delay.ms=0&offset.metadata.max.bytes=10"
        query += "&group.min.session.timeout.ms=10000&group.max.size=2147483647"
        result = verified(broker, query, BUSY)
    assert result.findings == []
    assert result.assumed_defaults == ["group.max.session.timeout.ms=1800000"]
    line = f"assumed    defaults that the broker does not report: {result.assumed_defaults[0]}\n"
    assert line in summary(result_record(result), [])
    assert result_record(result).assumed_defaults == tuple(result.assumed_defaults)


def test_broker_that_ignores_its_settings_diverges() -> None:
    with serving(CoordinatorBroker(Config())) as broker:
        broker.settings[DELAY] = "0"
        result = verified(broker)
    kinds = {finding.difference.kind for finding in result.findings if finding.difference}
    assert "no answer" in kinds


def test_given_settings_override_reported_ones_and_those_the_defaults(broker: Broker) -> None:
    broker.settings = {DELAY: "7", "offset.metadata.max.bytes": "8"}
    source = port_source(f"kafka://127.0.0.1:{broker.port}?{DELAY}=5")
    settings = source.broker_settings()
    assert settings.values == {**DEFAULTS, DELAY: 5, "offset.metadata.max.bytes": 8}
    assert settings.assumed_defaults == (
        "group.min.session.timeout.ms",
        "group.max.session.timeout.ms",
        "group.max.size",
    )


@pytest.mark.parametrize("answer", [None, b"\0\0\0\5\0\0\0\2\0"])
def test_broker_that_fails_at_describe_configs_has_the_defaults(
    broker: Broker, answer: bytes | None
) -> None:
    respond = broker.speak
    broker.speak = lambda asked: answer if asked.name.startswith("Descr") else respond(asked)
    port = WirePort("127.0.0.1", broker.port, settings={DELAY: 0})
    settings = port.broker_settings()
    assert settings.values == {**DEFAULTS, DELAY: 0}
    assert settings.assumed() == [f"{n}={v}" for n, v in DEFAULTS.items() if n != DELAY]
    port.open("2.7", {DELAY: 0})
    port.shutdown()


@pytest.mark.parametrize("closes", [False, True])
def test_broker_that_does_not_report_its_versions_has_those_of_kafka_0_9(
    broker: Broker,
    closes: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    broker.versions_error = 35
    respond = broker.speak
    if closes:
        broker.speak = lambda asked: None if asked.name.startswith("ApiV") else respond(asked)
    port = WirePort("127.0.0.1", broker.port)
    assert port.broker_settings().assumed()[-1] == "API versions=those of Kafka 0.9"
    port.open("2.7", {})
    assert port.max_versions is not None
    assert (port.max_versions["OffsetCommit"], port.max_versions["JoinGroup"]) == (2, 0)
    seen = port.request(Request(1, 0, HeartbeatRequest("group", 1, "member")), {1})
    assert len(seen.responses) == 1
    port.shutdown()


@pytest.mark.parametrize("value", [None, "", "-1", "many", "9" * 5_000, "٣"])
def test_reported_setting_without_a_number_has_the_default(
    broker: Broker, value: str | None
) -> None:
    broker.settings = {DELAY: value}
    settings = WirePort("127.0.0.1", broker.port).broker_settings()
    assert settings.values == DEFAULTS
    assert set(settings.assumed_defaults) == set(DEFAULTS)


def test_too_long_initial_delay_is_refused(broker: Broker) -> None:
    broker.settings = {DELAY: "60001"}
    with pytest.raises(PortUnavailableError) as refused:
        verified(broker)
    assert str(refused.value) == (
        f"kafka://127.0.0.1:{broker.port} cannot be verified: its {DELAY} is 60001,"
        " and every test would wait for it; 60000 is the most"
    )


@pytest.mark.parametrize(("reported", "known"), [({DELAY: "0"}, "is"), ({}, "is assumed to be")])
def test_trace_for_other_settings_is_refused_with_the_setting_and_both_values(
    broker: Broker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    reported: dict[str, str | None],
    known: str,
) -> None:
    broker.settings = reported
    trace = tmp_path / "trace.jsonl"
    config = f'{{"{DELAY}":500}}'
    trace.write_text(f'{{"type":"open","trace":1,"profile":"2.7","config":{config}}}\n')
    url = f"kafka://127.0.0.1:{broker.port}"
    assert main(["replay", str(trace), url]) == 2
    has = reported.get(DELAY, "3000")
    assert capsys.readouterr().err == (
        f"groupcheck: {url} cannot be tested: its {DELAY} {known} {has}, and the test needs 500\n"
    )
    assert main(["replay", str(trace), f"{url}?{DELAY}=500"]) == 0


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("delay=0", r"unknown broker setting 'delay'; known: group\.min\.session\.timeout\.ms, .*"),
        (f"{DELAY}=soon", rf"{DELAY} must be a number from 0 to 2147483647, not 'soon'"),
        (f"{DELAY}=-1", rf"{DELAY} must be a number from 0 to 2147483647, not '-1'"),
        (f"{DELAY}=2147483648", rf"{DELAY} must be a number from .*, not '2147483648'"),
        (f"{DELAY}", rf"{DELAY} must be a number from 0 to 2147483647, not ''"),
    ],
)
def test_invalid_setting_is_reported_in_one_line(query: str, reason: str) -> None:
    with pytest.raises(UnknownPortError) as refused:
        port_source(f"kafka://localhost:9092?{query}")
    assert re.fullmatch(rf"'kafka://localhost:9092\?{query}': {reason}", str(refused.value))
