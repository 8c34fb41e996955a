"""The requirements of brokers, and the messages when one is missing or fails."""

from __future__ import annotations

import os
import platform
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from groupcheck.cache import cache_folder
from groupcheck.properties.brokers import cache, java, mokapi
from groupcheck.properties.brokers.catalogue import definitions, listing
from groupcheck.properties.brokers.definition import (
    SETTINGS,
    BrokerDefinition,
    NotStartedError,
    start,
)
from groupcheck.properties.brokers.supervised import Supervised
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import UnknownPortError, port_source

JAVA = 'echo "openjdk version \\"{}\\"" >&2'


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """A machine with only the programs that a test installs, and an empty cache."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "mkdir", "touch"):
        source = next(Path(d) / name for d in os.defpath.split(":") if (Path(d) / name).exists())
        (programs / name).symlink_to(source)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))

    def put(name: str, script: str) -> None:
        path = programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return put


def _why_not(name: str) -> str | None:
    return next(broker.missing for broker in listing() if broker.name == name)


def _refusal(spec: str) -> str:
    with pytest.raises(PortUnavailableError) as refused:
        port_source(spec).connect()
    return str(refused.value)


def test_kafka_needs_java() -> None:
    assert _why_not("kafka:4.1") == "java is not on this machine"
    assert _refusal("kafka:4.1") == (
        "kafka:4.1 needs Java 17 or later, and Maven (mvn) to download it once:"
        " java is not on this machine"
    )


def test_older_java_runs_older_kafka(machine: Callable[[str, str], None]) -> None:
    machine("java", JAVA.format("1.8.0_392"))
    machine("mvn", "")
    assert (_why_not("kafka:2.7"), _why_not("kafka:0.10.2")) == (None, None)
    assert (_why_not("kafka:4.1") or "").endswith("/java is Java 8")


def test_java_without_a_version_is_not_used(machine: Callable[[str, str], None]) -> None:
    machine("java", "exit 1")
    assert (_why_not("kafka:2.7") or "").endswith("/java does not print its version")


def test_maven_is_needed_only_for_the_download(machine: Callable[[str, str], None]) -> None:
    machine("java", JAVA.format("21.0.1"))
    lacking = "mvn is not on this machine, and the jars are not in the cache"
    assert _why_not("kafka:2.7") == lacking
    (cache_folder() / java._name("2.7.2")).mkdir(parents=True)
    assert _why_not("kafka:2.7") is None


def test_jars_are_downloaded_once(
    machine: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    machine("java", JAVA.format("17"))
    machine("mvn", 'for a; do case "$a" in -Doutput*) mkdir -p "${a#*=}";; esac; done')
    for _ in range(2):
        port_source("kafka:2.7")
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"groupcheck: downloading Apache Kafka 2.7.2 with mvn into {cache_folder()}"


def test_failed_download_is_reported_in_one_line_and_leaves_nothing_in_the_cache(
    machine: Callable[[str, str], None],
) -> None:
    machine("java", JAVA.format("17"))
    machine("mvn", "echo '[ERROR] Could not resolve dependencies'; echo more; exit 1")
    assert _refusal("kafka:2.7") == (
        "Apache Kafka 2.7.2 cannot be downloaded: mvn failed: [ERROR] Could not resolve"
        " dependencies"
    )
    assert [p.suffix for p in cache_folder().iterdir()] == [".lock"]


def test_broker_that_does_not_start_is_reported_with_the_last_lines_of_its_log(
    machine: Callable[[str, str], None],
) -> None:
    machine("java", f'[ "$1" = -version ] && {JAVA.format("17")} && exit; echo no heap; exit 3')
    (cache_folder() / java._name("2.7.2")).mkdir(parents=True)
    message = (
        r"Apache Kafka 2\.7\.2 does not start: (zookeeper|kafka) ended \(status 3\)\n  no heap"
    )
    assert re.fullmatch(message, _refusal("kafka:2.7"))
    (cache_folder() / java._name("4.1.2")).mkdir()
    assert _refusal("kafka:4.1") == (
        "Apache Kafka 4.1.2 does not start: its folder is not formatted (status 3)\n  no heap"
    )


def test_kfake_needs_a_recent_go(machine: Callable[[str, str], None]) -> None:
    assert _why_not("kfake") == "go is not on this machine"
    machine("go", "echo go version go1.19.8 linux/amd64")
    assert (_why_not("kfake") or "").endswith("/go is Go 1.19")
    cache.output.cache_clear()
    machine("go", "exit 1")
    assert (_why_not("kfake") or "").endswith("/go does not print its version")


def test_failed_build_is_reported_in_one_line(machine: Callable[[str, str], None]) -> None:
    machine(
        "go", '[ "$1" = version ] && echo go version go1.26.1 && exit; echo no such module; exit 1'
    )
    cache.output.cache_clear()
    assert _refusal("kfake") == "kfake cannot be built: go failed: no such module"


def test_tansu_is_not_for_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _why_not("tansu") is None
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert _why_not("tansu") == f"there is no build for {sys.platform} on riscv64"


def test_failed_download_of_tansu_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", tmp_path.as_uri())
    assert _refusal("tansu").startswith(
        f"Tansu cannot be downloaded: {sys.executable} failed: ERROR: "
    )
    assert [p.suffix for p in cache_folder().iterdir()] == [".lock"]


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that Mokapi is for, and that allows network namespaces."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(mokapi, "output", lambda *_: "Python 3.11")


@pytest.mark.usefixtures("linux")
def test_mokapi_needs_npm_and_a_network_namespace(
    machine: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _why_not("mokapi") == "npm is not on this machine"
    machine("npm", "echo 10.8.2")
    assert _why_not("mokapi") is None
    monkeypatch.setattr(mokapi, "output", lambda *_: "no network namespace of its own")
    assert _refusal("mokapi") == (
        "mokapi needs Linux on x86_64, and npm to download it once: it listens on all interfaces,"
        " and no network namespace can be made for it"
    )
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert _why_not("mokapi") == "there is no build for linux on riscv64"


@pytest.mark.usefixtures("linux")
def test_download_with_another_hash_is_refused(machine: Callable[[str, str], None]) -> None:
    machine("npm", '[ "$1" = --version ] && echo 10.8.2 && exit; echo other > package.tgz')
    assert _refusal("mokapi") == (
        "Mokapi cannot be downloaded: @go-mokapi/linux-x64@0.52.0 has a wrong hash"
    )
    assert [p.suffix for p in cache_folder().iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("kafka:0.10.2?group.max.size=2", "Apache Kafka 0.10.2.2 has no setting group.max.size"),
        ("kfake?offset.metadata.max.bytes=1", "franz-go's kfake has no setting offset"),
        ("tansu?group.max.size=2", "Tansu has no setting group.max.size"),
        ("mokapi?topic=mine", "unknown broker setting 'topic'"),
        ("kafka:4.1?num.io.threads=2", "unknown broker setting 'num.io.threads'"),
        ("kafka:3.10", "'kafka:3.10'; it is one of: .*; VERSION is one of: 4.4, 4.3, "),
        ("kafak:3.9", "unknown PORT 'kafak:3.9'; it is one of: "),
    ],
)
def test_unknown_setting_or_broker_is_refused(spec: str, why: str) -> None:
    with pytest.raises(UnknownPortError, match=why.replace("(", r"\(").replace("?", r"\?")):
        port_source(spec)


def _definition(launch: Callable[..., tuple[str, int]]) -> BrokerDefinition:
    return definitions()["serve"]._replace(launch=launch)


def test_start_is_tried_three_times_when_its_network_port_is_taken() -> None:
    tried = []

    def launch(programs: Supervised, *_: object) -> tuple[str, int]:
        tried.append(programs.folder)
        why = "kafka ended (status 1)"
        raise NotStartedError(why, ["java.net.BindException: Address already in use"])

    with pytest.raises(PortUnavailableError, match="already in use"):
        start(_definition(launch), SETTINGS, Event())
    assert len(tried) == 3
    assert not any(folder.exists() for folder in tried)


def test_missing_program_is_reported_as_ended() -> None:
    programs = Supervised(Event())
    try:
        programs.start("none", [str(programs.folder / "none")])
        assert programs.wait("none", float("inf")) == "No such file or directory"
        assert programs.log("none") == []
    finally:
        programs.close()


def test_interrupted_start_leaves_no_folder() -> None:
    interrupted, folders = Event(), []

    def launch(programs: Supervised, settings: object, event: Event) -> tuple[str, int]:
        del settings
        folders.append(programs.folder)
        programs.start("sleeper", ["sh", "-c", "while :; do :; done"])
        event.set()
        programs.wait("sleeper", float("inf"))
        raise AssertionError

    with pytest.raises(PortUnavailableError, match="interrupted"):
        start(_definition(launch), SETTINGS, interrupted)
    assert not folders[0].exists()
