"""The assignors of Apache Kafka, which run in Java."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from groupcheck.model.assignors.group import Group, Member, Partition, Topic
from groupcheck.properties.assignors import java
from groupcheck.properties.assignors.port import AssignorFailedError, ProgramPort
from support.needs import needs_assignors

CLIENT = ("range", "roundrobin", "sticky", "cooperative-sticky")
BROKER = ("broker:range", "broker:uniform")
ASSIGNORS = {"2.7.2": CLIENT, "4.1.2": (*CLIENT, *BROKER)}
STICKY = ("sticky", "cooperative-sticky", "broker:uniform")

TOPIC = Topic("t0", (frozenset(),) * 4)
OWNED = {"m0": (Partition("t0", 3), Partition("t0", 0)), "m1": (Partition("t0", 2),)}


VERSIONS = [
    pytest.param(version, marks=needs_assignors(f"kafka-clients:{version.rpartition('.')[0]}"))
    for version in ASSIGNORS
]


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def port(version: str) -> Iterator[ProgramPort]:
    port = ProgramPort(java.command(version, lambda _: None))
    port.open()
    yield port
    port.shutdown()


def _group(generation: int | None, instance_id: str | None = None) -> Group:
    members = (
        Member("m0", ("t0",), owned=OWNED["m0"], generation=generation),
        Member("m1", ("t0",), instance_id, owned=OWNED["m1"], generation=generation),
    )
    return Group((TOPIC,), members)


def test_java_names_its_version_and_its_assignors(version: str) -> None:
    port = ProgramPort(java.command(version, lambda _: None))
    assert port.open() == ("kafka-clients", version, ASSIGNORS[version])
    port.shutdown()


# Without a generation, the user data of `sticky` has version 0; with one, version 1.
@pytest.mark.parametrize("generation", [None, 3])
def test_java_reads_what_members_owned(
    version: str, port: ProgramPort, generation: int | None
) -> None:
    for assignor in STICKY:
        if assignor in ASSIGNORS[version]:
            assigned = port.assign(assignor, _group(generation))
            assert all(set(OWNED[member]) <= set(assigned[member]) for member in OWNED)


def test_java_reads_instance_ids(version: str, port: ProgramPort) -> None:
    for assignor in ("range", "roundrobin", "broker:range"):
        if assignor in ASSIGNORS[version]:
            # Static members come first.
            assigned = port.assign(assignor, _group(None, "i0"))
            assert Partition("t0", 0) in assigned["m1"]


@needs_assignors("kafka-clients:4.1")
@pytest.mark.parametrize("version", ["4.1.2"], indirect=True)
def test_java_reads_racks(port: ProgramPort) -> None:
    topic = Topic("t0", (frozenset({"r1"}), frozenset({"r0"})))
    members = (Member("m0", ("t0",), rack="r0"), Member("m1", ("t0",), rack="r1"))
    for assignor in ("range", "sticky", "cooperative-sticky"):
        assigned = port.assign(assignor, Group((topic,), members))
        assert assigned == {"m0": (Partition("t0", 1),), "m1": (Partition("t0", 0),)}


def test_java_goes_on_after_an_exception(port: ProgramPort) -> None:
    with pytest.raises(
        AssignorFailedError, match=r"^java\.lang\.IllegalArgumentException: [^\n]+$"
    ):
        port.assign("roundrobin", Group((TOPIC,), ()))
    assert port.assign("roundrobin", _group(None)).keys() == OWNED.keys()


def test_java_says_what_a_machine_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java.missing("4.1.2") == "java is not on this machine"
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"'\n")
    program.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert java.missing("4.1.2") == (
        "mvn is not on this machine, and the jars are not in the cache"
    )
