"""The exec port: how programs start, fail and end; the rest is in `test_contract`."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groupcheck.properties.ports.exec import ExecPort
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from support.scripted import PROGRAM, heartbeat

MakePort = Callable[..., ExecPort]
HANGING = "time.sleep(60)\n"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[MakePort]:
    """Makes ports of small Python programs; `on_request` runs before each request's `done`."""
    ports: list[ExecPort] = []

    def make(on_request: str = "pass", *, script: str = PROGRAM) -> ExecPort:
        indented = "".join(f"        {line}\n" for line in on_request.splitlines())
        path = tmp_path / f"port{len(ports)}.py"
        path.write_text(script % indented if "%s" in script else script, encoding="utf-8")
        ports.append(ExecPort(shlex.join([sys.executable, str(path)]), limit_s=30.0))
        return ports[-1]

    yield make
    for port in ports:
        port.shutdown()


def opened(port: ExecPort, limit_s: float = 30.0) -> ExecPort:
    """Open the port, and set its limit only then: a busy machine starts programs slowly."""
    port.open("2.7", {})
    port._limit_s = limit_s
    return port


def failure_of(port: ExecPort) -> PortFailedError:
    """Return the failure of the first request."""
    with pytest.raises(PortFailedError) as caught:
        port.request(heartbeat(), ())
    return caught.value


def is_running(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def ends_soon(pid: int) -> bool:
    """Return whether a process ends within ten seconds."""
    deadline = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


def pid_of(port: ExecPort) -> int:
    """Return the id of the port's process."""
    program = port._program
    assert program is not None
    return program._process.pid


# --- start


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/no/such/program --flag", "cannot start '/no/such/program': No such file or directory"),
        ("/etc/passwd", "cannot start '/etc/passwd': Permission denied"),
        ("", "the command is empty"),
        ("node 'unclosed", "No closing quotation"),
    ],
)
def test_program_that_cannot_be_started_is_unavailable(command: str, reason: str) -> None:
    with pytest.raises(PortUnavailableError, match=reason):
        ExecPort(command).open("2.7", {})


def test_program_that_ends_before_it_answers_open_is_unavailable(tmp_path: Path) -> None:
    port = ExecPort(shlex.join([sys.executable, str(tmp_path / "missing.py")]))
    with pytest.raises(PortUnavailableError, match=r"exited with status 2 .*can't open file"):
        port.open("2.7", {})


def test_program_that_does_not_know_the_profile_is_unavailable(program: MakePort) -> None:
    line = 'print(\'{"type":"unsupported","what":"2.7"}\\n{"type":"done"}\', flush=True)'
    port = program(script=f"input()\n{line}\ninput()")
    with pytest.raises(PortUnavailableError, match=r"does not support 2\.7"):
        port.open("2.7", {})


def test_program_without_a_name_is_a_protocol_error(program: MakePort) -> None:
    port = program(script='input()\nprint(\'{"type":"done"}\', flush=True)\ninput()')
    with pytest.raises(PortFailedError, match="the answer to 'open' does not name the port"):
        port.open("2.7", {})


def test_command_is_not_passed_to_a_shell(tmp_path: Path) -> None:
    prints_its_arguments = "import sys; input(); print('given', *sys.argv[1:])"
    port = ExecPort(f'{sys.executable} -c "{prints_its_arguments}" > {tmp_path}/out')
    with pytest.raises(PortFailedError, match="not JSON: 'given > "):
        port.open("2.7", {})
    assert list(tmp_path.iterdir()) == []


# --- failures


def test_exit_is_a_crash_with_the_last_lines_of_standard_error(program: MakePort) -> None:
    lines = "for n in range(30): print('word', n, file=sys.stderr)"
    port = program(f"{lines}\nsys.exit(3)")
    for _ in range(2):  # the next open starts the program again
        failure = failure_of(opened(port))
        assert failure.kind == "port crashed"
        assert failure.reason == "the program exited with status 3"
        assert failure.detail.splitlines() == [f"word {n}" for n in range(10, 30)]
        port.close()


def test_killed_program_is_a_crash(program: MakePort) -> None:
    failure = failure_of(opened(program("os.kill(os.getpid(), 9)")))
    assert failure.kind == "port crashed"
    assert failure.reason == "the program was killed by signal SIGKILL"


def test_exit_between_two_messages_is_a_crash(program: MakePort) -> None:
    port = opened(program("say(DONE)\nsys.exit(4)"))
    port.request(heartbeat(), ())
    ends_soon(pid_of(port))
    with pytest.raises(PortFailedError, match="exited with status 4"):
        port.advance(1, ())


def test_missing_done_is_a_hang(program: MakePort) -> None:
    failure = failure_of(opened(program(f"print('dozing', file=sys.stderr)\n{HANGING}"), 2.0))
    assert failure.kind == "port hung"
    assert failure.reason == "no 'done' to 'request' within 2 s"
    assert failure.detail == "dozing"


def test_program_that_does_not_read_is_a_hang(program: MakePort) -> None:
    port = opened(program(HANGING), 0.5)
    with pytest.raises(PortFailedError, match="port hung"):
        port.request(heartbeat()._replace(client_id="x" * 1_000_000), ())


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_endless_output_is_a_failure(program: MakePort, stream: str) -> None:
    flood = f"while True: sys.{stream}.write('x' * 65_536)"
    failure = failure_of(opened(program(flood), 0.5))
    assert failure.kind in {"port hung", "protocol error"}


def test_standard_error_never_blocks_the_program(program: MakePort) -> None:
    port = opened(program("sys.stderr.write('chat ' * 200_000)"))
    for n in range(3):
        port.request(heartbeat(n), ())


@pytest.mark.parametrize(
    ("on_request", "reason"),
    [
        ("say('listening on 80')", "a line that is not JSON: 'listening on 80'"),
        ("say('')", "a line that is not JSON: ''"),
        ("say('[' * 200_000)", "a line that is not JSON: '[[["),
        ("sys.stdout.buffer.write(b'\\xff\\n')", "a line that is not UTF-8: b'\\xff'"),
        ("say('x' * (17 << 20))", "a line longer than 16777216 bytes: b'xxx"),
    ],
)
def test_line_that_is_no_message_is_a_protocol_error(
    program: MakePort, on_request: str, reason: str
) -> None:
    failure = failure_of(opened(program(on_request)))
    assert failure.kind == "protocol error"
    assert failure.reason.startswith(reason)
    assert len(failure.reason) < 200


def test_second_done_is_a_protocol_error_at_the_next_message(program: MakePort) -> None:
    port = opened(program("say(DONE)"))
    port.request(heartbeat(), ())
    time.sleep(0.5)
    with pytest.raises(PortFailedError, match=r"a line after 'done': .*done"):
        port.advance(1, ())


# --- no process is left


def test_shutdown_waits_for_the_program_to_exit(program: MakePort, tmp_path: Path) -> None:
    goodbye = tmp_path / "goodbye"
    port = opened(program(script=PROGRAM % "" + f"open({str(goodbye)!r}, 'w').close()\n"))
    pid = pid_of(port)
    port.shutdown()
    assert goodbye.exists()
    assert not is_running(pid)


def test_shutdown_kills_a_program_that_ignores_sigterm(program: MakePort) -> None:
    stubborn = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    port = opened(program(script=stubborn + PROGRAM % "" + HANGING))
    pid = pid_of(port)
    port.shutdown()
    assert not is_running(pid)


@pytest.mark.parametrize(
    "ends", ["time.sleep(60)", "sys.exit(3)", "os.close(1); sys.exit(3)", "pass"]
)
def test_children_of_the_program_are_killed_while_the_program_still_has_its_id(
    program: MakePort, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ends: str
) -> None:
    child = tmp_path / "child"
    spawn = (
        "child = subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL)\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\n"
    )
    kill, killed = os.killpg, []

    def killpg(group: int, number: int) -> None:
        os.kill(group, 0)  # raises unless there is such a process, or a zombie
        killed.append(group)
        kill(group, number)

    monkeypatch.setattr(os, "killpg", killpg)
    port = opened(program(spawn + ends), 3.0)
    pid = pid_of(port)
    with contextlib.suppress(PortFailedError):
        port.request(heartbeat(), ())
    port.shutdown()
    assert pid in killed
    assert not Path(f"/proc/{pid}").exists()
    assert ends_soon(int(child.read_text(encoding="utf-8")))


def test_program_ends_when_sigchld_is_ignored(program: MakePort) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        port = opened(program("sys.exit(3)"))
        with pytest.raises(PortFailedError, match="port crashed"):
            port.request(heartbeat(), ())
        port.shutdown()
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_interrupt_ends_the_program_and_propagates(program: MakePort) -> None:
    port = opened(program(HANGING))
    pid = pid_of(port)

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            port.request(heartbeat(), ())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not is_running(pid)


def test_program_of_a_port_without_shutdown_ends_with_the_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "deaf.py"
    script.write_text(PROGRAM % "" + HANGING, encoding="utf-8")
    code = (
        "from groupcheck.properties.ports.exec import ExecPort\n"
        f"port = ExecPort({shlex.join([sys.executable, str(script)])!r})\n"
        "port.open('2.7', {})\n"
        "print(port._program._process.pid)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert ends_soon(int(run.stdout))
