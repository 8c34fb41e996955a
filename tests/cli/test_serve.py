"""`groupcheck serve` as a process: start, stop, and messages."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

WAIT_S = 20


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its first line, when it serves."""
    with subprocess.Popen(
        [sys.executable, "-m", "groupcheck", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            yield process, process.stderr.readline()
        finally:
            process.kill()


def port_of(line: str) -> int:
    found = re.fullmatch(r"groupcheck: serving Kafka 2\.7 on 127\.0\.0\.1:(\d+)\n", line)
    assert found, line
    return int(found[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    record = tmp_path / "record"
    with serving("--listen", "127.0.0.1:0", "--record", str(record)) as (process, line):
        with socket.create_connection(("127.0.0.1", port_of(line)), WAIT_S) as client:
            client.sendall(b"\0\0\0\x0a" + b"\0\x12\0\0\0\0\0\7\xff\xff")  # ApiVersions
            assert client.recv(100)[4:10] == b"\0\0\0\7\0\0"
            process.send_signal(number)
            assert process.communicate(timeout=WAIT_S) == ("", "")
        assert process.returncode == 0
    assert record.read_bytes().startswith(b'{"type":"open","trace":1,"profile":"2.7"')


def test_memory_stays_below_256_mb_with_many_incomplete_requests() -> None:
    begun = struct.pack(">i", 2_000_000) + bytes(1_900_000)
    with serving("--listen", "127.0.0.1:0") as (process, line), ExitStack() as stack:
        for _ in range(200):
            client = socket.create_connection(("127.0.0.1", port_of(line)), WAIT_S)
            stack.enter_context(client)
            with suppress(OSError):  # the server closes the connection
                client.sendall(begun)
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        peak_kb = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert peak_kb is not None
        assert int(peak_kb[1]) < 256 * 1024


def test_it_warns_when_other_machines_can_connect() -> None:
    with serving("--listen", "0.0.0.0:0") as (process, line):
        assert line.startswith("groupcheck: serving Kafka 2.7 on 0.0.0.0:")
        assert process.stderr is not None
        warning = process.stderr.readline()
        what = "other machines can connect, and there is no authentication"
        assert warning == f"groupcheck: {what}\n"


def test_a_port_in_use_is_one_line(error: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        line = error("serve", "--listen", where)
    assert line == f"groupcheck: cannot listen on {where}: Address already in use\n"


def test_an_ipv6_address_is_in_brackets() -> None:
    if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):  # noqa: PTH110 - no file
        pytest.skip("this machine has no IPv6")
    with serving("--listen", "[::1]:0") as (_, line):
        assert line.startswith("groupcheck: serving Kafka 2.7 on [::1]:")


@pytest.mark.parametrize("package", ["kio", "aiokafka"])
def test_serve_without_its_extra_prints_the_packages_to_install(
    package: str, error: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = "groupcheck.implementation.server"
    for name in [*sys.modules]:
        if name.startswith((ours, "groupcheck.implementation.log", package)):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    line = f"groupcheck: this needs the package {package}: pip install 'groupcheck[serve]'\n"
    assert error("serve") == line
