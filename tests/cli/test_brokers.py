"""`groupcheck brokers`, and runs on brokers that groupcheck starts."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groupcheck.cli.options import PORTS
from groupcheck.properties.brokers import catalogue
from groupcheck.properties.brokers.apache import RELEASES
from groupcheck.properties.brokers.catalogue import definitions

PATIENCE_S = 60


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No program and no downloaded broker is on the machine."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_brokers_lists_the_requirements_of_each_broker_and_whether_it_can_run(
    printed: Callable[..., str], no_programs: None
) -> None:
    del no_programs
    out = printed("brokers")
    assert re.findall(r"^(\S+)", out, re.MULTILINE) == [*definitions(), "librdkafka-mock"]
    for line in (
        "kafka:4.1        Apache Kafka 4.1.2, checked against 4.1: cannot run here: java is",
        "kafka:3.9        Apache Kafka 3.9.2, checked against 3.9: cannot run here: java is",
        "needs Java 17 or later, and Maven (mvn) to download it once",
        "serve            groupcheck serve, as Kafka 2.7, checked against 2.7: can run here",
    ):
        assert line in out


def test_the_help_names_the_versions_of_kafka_that_can_be_started() -> None:
    newest, *_, oldest, first = (each.minor for each in RELEASES)
    assert f"Apache Kafka {first}, {oldest} to {newest}, started" in PORTS


@pytest.mark.slow
def test_a_broker_is_checked_against_its_own_version_by_default(
    printed: Callable[..., str], run: Callable[..., Any]
) -> None:
    out = printed("verify", "serve:4.1", "--examples", "1", "--steps", "3")
    assert "serve:4.1, checked against Apache Kafka 4.1" in out
    out = run("verify", "serve", "--profile", "4.1", "--examples", "1", "--steps", "1").out
    assert "serve, checked against Apache Kafka 4.1" in out


def test_a_missing_program_of_a_broker_is_one_line(
    error: Callable[..., str], no_programs: None
) -> None:
    del no_programs
    assert error("verify", "kafka:4.1") == (
        "groupcheck: kafka:4.1 needs Java 17 or later, and Maven (mvn) to download it once:"
        " java is not on this machine\n"
    )


def test_the_log_of_a_broker_that_does_not_start_is_quoted(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "MAIN", ("no_such_module",))
    done = run("verify", "serve")
    assert done.status == 2
    first, *log = done.err.splitlines()
    assert first == (
        "groupcheck: groupcheck serve, as Kafka 2.7 does not start: serve ended (status 1)"
    )
    assert log[-1].startswith("  ")
    assert log[-1].endswith("No module named no_such_module")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_of_a_broker_survives_a_run(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "groupcheck", "verify", "serve", "--examples", "100000"]
    run = subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = _listening(tmp_path)
        run.send_signal(number)
        assert run.wait(PATIENCE_S) in {2, -number}
    finally:
        run.kill()
        run.wait()
    deadline = time.monotonic() + PATIENCE_S
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:  # the supervisor removes it
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), PATIENCE_S).close()


def _listening(folders: Path) -> int:
    """The port of the broker that is started in a folder there."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for log in folders.glob("*/serve.log"):
            if found := re.search(r"on 127\.0\.0\.1:(\d+)", log.read_text()):
                return int(found[1])
        time.sleep(0.05)
    raise AssertionError([path.name for path in folders.rglob("*")])
