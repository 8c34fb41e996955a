"""Real brokers: each starts, is verified and ends."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.instances.inputs import PROTOCOLS
from groupcheck.model.vocabulary import ErrorCode, JoinGroupRequest, Request
from groupcheck.properties.brokers.definition import SETTINGS
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.tolerances import Tolerances
from groupcheck.properties.verify import Verification
from groupcheck.reports.text import story
from support.needs import broker, needs_broker

# Wide enough for a busy machine: these tests check the order of events only.
TOLERANCES = Tolerances(late_ms=10_000, answer_ms=30_000, grace_ms=30)
SEQUENCES = 24
# Known bugs of a version that its specification does not have (docs/brokers.md).
KNOWN = {"kafka:2.7": [ErrorCode.UNSUPPORTED_VERSION]}  # KAFKA-14422
KAFKAS = ("kafka:4.1", "kafka:2.7", "kafka:0.10.2", "serve", "serve:4.1")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no temporary folder is left."""
    folder = tmp_path / "folders"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield
    assert list(folder.iterdir()) == []


def _address(port: Any) -> tuple[str, int]:
    """Return the address of a port's broker."""
    host, number = port._bootstrap
    return host, number


@contextmanager
def _started(spec: str) -> Iterator[PortSource]:
    """Start a named broker; after it stops, nothing listens on its network port."""
    source = port_source(spec, tolerances=TOLERANCES)
    try:
        (address,) = {_address(source.connect()) for _ in range(2)}
        yield source
    finally:
        source.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, 5).close()


def _verified(source: PortSource) -> Result:
    settings = Settings(source.profile or "", examples=SEQUENCES, steps=30)
    result = Verification(source, settings).run()
    assert (result.sequences, result.ended_early) == (SEQUENCES, "")
    return result


def _older_leader(source: PortSource) -> Sequence:
    """A static leader joins again with a version without static members."""
    join = JoinGroupRequest("group", 60_000, 60_000, "", None, "consumer", PROTOCOLS)
    steps = (
        Request(1, 5, join._replace(group_instance_id="instance")),
        Request(2, 4, join._replace(member_id="#1")),
    )
    return Sequence(source.profile or "", source.broker_settings().values, steps)


def _errors(finding: Finding | None) -> list[ErrorCode]:
    """Return the errors in the responses to a finding's last step."""
    responses: Any = finding.exchanges[-1].seen.responses if finding else ()
    return [response.body.error_code for response in responses]


@pytest.mark.parametrize("spec", [broker(name) for name in KAFKAS])
def test_kafka_conforms_to_its_own_version(spec: str) -> None:
    with _started(spec) as source:
        assert source.broker_settings() == (SETTINGS, ())
        result = _verified(source)
        port = source.connect()
        older = replay(_older_leader(source), port)
        port.shutdown()
    assert result.findings == []
    assert result.conforms
    assert _errors(older) == KNOWN.get(spec, [])


@needs_broker("kafka:4.1")
@needs_broker("kfake")
def test_kafka_has_none_of_the_findings_of_kfake() -> None:
    with _started("kfake") as source:
        result = _verified(source)
    assert result.assumed_defaults == ["offset.metadata.max.bytes=4096"]
    assert result.findings
    with _started("kafka:4.1") as source:
        for finding in result.findings:
            port = source.connect()
            shared = replay(finding.sequence, port)
            assert shared is None, story(shared)
            port.shutdown()


@pytest.mark.parametrize("spec", [broker("serve"), broker("serve:4.1")])
def test_broker_starts_with_the_given_settings(spec: str) -> None:
    given = {"group.initial.rebalance.delay.ms": 50, "group.min.session.timeout.ms": 300}
    query = "&".join(f"{name}={value}" for name, value in given.items())
    with _started(f"{spec}?{query}") as source:
        assert source.broker_settings() == ({**SETTINGS, **given}, ())
