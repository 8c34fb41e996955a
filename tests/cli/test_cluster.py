"""`groupcheck cluster verify`: output, files, exit statuses, and what is left of a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from groupcheck.cli import main
from groupcheck.model.brokers import CREATE, MOVE, ClusterInput
from groupcheck.properties.cluster.real.actions import Action
from groupcheck.properties.cluster.real.sequence_file import write_sequence
from support.needs import needs_broker

NAME = "kafka-cluster:2.7"
OTHERS = ("kafka-cluster:2.4", "kafka-cluster:4.1", "kafka-cluster:4.4")
PATIENCE_S = 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("nothing",),
            f"unknown cluster 'nothing'; known: {', '.join((NAME, *OTHERS))}",
        ),
        ((NAME, "--sequence", "missing"), "cannot read missing: No such file or directory"),
        ((NAME, "--sequences", "0"), "--sequences"),
        ((NAME, "--seed", "-1"), "--seed"),
    ],
)
def test_bad_arguments_are_one_line(
    error: Callable[..., str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in error("cluster", "verify", *arguments)


def test_a_file_without_a_sequence_is_one_line(error: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("{}")
    line = error("cluster", "verify", NAME, "--sequence", file)
    assert line.startswith(f"groupcheck: {file} has no sequence: ")


def test_a_sequence_of_another_kind_of_cluster_is_one_line(
    error: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    write_sequence(file, NAME, [Action(ClusterInput(MOVE))])
    line = error("cluster", "verify", "kafka-cluster:4.1", "--sequence", file)
    assert line.endswith(f"there is no action {MOVE!r} of this cluster\n")


def test_without_java_there_is_no_verdict(
    error: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert error("cluster", "verify", NAME) == (
        "groupcheck: a cluster of 3 brokers of Apache Kafka 2.7.2 cannot run here: java is not on"
        " this machine\n"
    )


@needs_broker("kafka:2.7")
def test_a_sequence_of_a_file_is_tried_on_a_cluster(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    actions = [Action(ClusterInput(CREATE, topic=0), at_once=True), Action(ClusterInput(MOVE))]
    write_sequence(file, NAME, actions)
    status = main(["cluster", "verify", NAME, "--sequence", str(file), "--json"])
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert (status, result["verdict"]) == (0, "no promise is broken in what was tried")
    assert (result["title"], result["seed"]) == ("Apache Kafka 2.7.2", None)
    assert result["actions"] == {CREATE: 1, MOVE: 1}
    assert result["findings"] == []


@needs_broker("kafka:2.7")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_and_no_folder_of_a_cluster_survives_a_run(
    number: signal.Signals, tmp_path: Path
) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "groupcheck", "cluster", "verify", NAME, "--sequences", "1000"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        assert run.stderr is not None
        assert b"runs" in run.stderr.readline()
        (folder,) = tmp_path.glob("groupcheck-broker-*")
        assert _processes(folder)
        run.send_signal(number)
        assert run.wait(PATIENCE_S) in {2, -number}
    finally:
        run.kill()
        run.communicate()
    deadline = time.monotonic() + PATIENCE_S
    while list(tmp_path.glob("groupcheck-*")) and time.monotonic() < deadline:
        time.sleep(0.05)  # the supervisor removes it
    assert list(tmp_path.glob("groupcheck-*")) == []
    assert _processes(folder) == []


def _processes(folder: Path) -> list[int]:
    """The processes that have a path in the folder in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # it has ended
            continue
    return found


def test_explore_uses_the_rules_of_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "explore", "groups", "--profile", "2.4"]) == 0
    out = capsys.readouterr().out
    assert "groups-2.4: 2 brokers, 1 topic, 1 fault, 1 request, as Kafka 2.4 with ZooKeeper" in out


@pytest.mark.parametrize(
    ("profile", "message"),
    [("3.9", "no rules of Kafka 3.9; known: 2.4, 2.7"), ("2.4", "no instance 'creation-2.4'")],
)
def test_rules_that_are_not_there_are_one_line(
    error: Callable[..., str], profile: str, message: str
) -> None:
    assert message in error("cluster", "explore", "creation", "--profile", profile)
