"""`groupcheck serve --brokers N` as a process: its commands and its messages."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

WAIT_S = 20
CLUSTER = ("--brokers", "3", "--listen", "127.0.0.1:0")


@contextmanager
def serving(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "groupcheck", "serve", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ask(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().rstrip("\n")


LINES = {
    "status": "brokers 1 2 3; controller 1; __consumer_offsets led 17 by 1, 17 by 2, 16 by 3; "
    "events led by 1 2 3",
    "kill 1": "broker 1 is stopped; its session ends after 60000 ms",
    "kill 1 ": "error: broker 1 does not run",
    "expire 1": "the session of broker 1 has ended",
    "move": "controller 2",
    "start 1": "broker 1 runs",
    "expire 2": "the session of broker 2 has ended",
    "elect events": "events led by 1 2 3",
    "create more:2": "more led by 1 2",
    "create more:3": "error: there is already a topic 'more'",
    "create a b:1": "error: the command is: create TOPIC:PARTITIONS",
    "create a": "error: the command is: create TOPIC:PARTITIONS",
    "create a:b": "error: 'b' is not a number of partitions",
    "stop 3": "broker 3 is stopped",
    "delete more": "more is deleted when all brokers of its replicas run",
    "delete events": "events is deleted when all brokers of its replicas run",
    "start 3": "broker 3 runs",
    "status ": "brokers 1 2 3; controller 1; __consumer_offsets led 33 by 1, 17 by 2",
    "delete events ": "error: there is no topic 'events'",
    "start": "error: the command is: start N",
    "start ten": "error: 'ten' is not a broker",
    "halt": "error: unknown command 'halt'; known: start, stop, kill, expire, move, elect, create, "
    "delete, status, quit",
    "": "error: unknown command ''; known: start, stop, kill, expire, move, elect, create, "
    "delete, status, quit",
}


def test_each_line_is_answered_with_a_line() -> None:
    with serving(*CLUSTER, "--topic", "events:3", "--session-timeout-ms", "60000") as process:
        assert {line: ask(process, line) for line in LINES} == LINES
        assert ask(process, "quit") == "stopped"
        assert process.stderr is not None
        served = process.stderr.read().splitlines()
        where = r"groupcheck: serving Kafka 2\.7 as broker (\d) on 127\.0\.0\.1:\d+"
        found = [re.fullmatch(where, line) for line in served]
        assert [each and each[1] for each in found] == ["1", "2", "3"]
        assert process.wait(WAIT_S) == 0


def test_it_serves_until_a_signal_after_its_input_has_ended() -> None:
    with serving(*CLUSTER) as process:
        assert process.stderr is not None
        assert process.stdin is not None
        for _ in range(3):
            process.stderr.readline()
        process.stdin.close()
        process.stdin = None
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=WAIT_S) == ("", "")
        assert process.returncode == 0


@pytest.mark.parametrize("option", ["--record", "--data-dir"])
def test_a_cluster_is_neither_recorded_nor_stored(
    option: str, error: Callable[..., str], tmp_path: Path
) -> None:
    line = error("serve", *CLUSTER, option, str(tmp_path / "out"))
    assert line == "groupcheck: a cluster of several brokers is neither recorded nor stored\n"


def test_every_port_of_a_cluster_exists(error: Callable[..., str]) -> None:
    line = error("serve", "--brokers", "3", "--listen", "127.0.0.1:65534")
    assert line == "groupcheck: the port of broker 3 is above 65535\n"
