"""A child process that reads and writes lines, whatever their meaning.

For POSIX systems: `poll` waits on the pipes, and signals go to the process group.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import weakref
from collections import deque
from time import monotonic, sleep
from typing import IO, Final, NoReturn

from groupcheck.properties.ports.messages import protocol_error, shorten
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
CHUNK_BYTES: Final = 64 * 1024
STDERR_LINES: Final = 20
STDERR_LINE_BYTES: Final = 4096
EXIT_S: Final = 1.0
WATCH_S: Final = 0.002
LAST_CHUNKS: Final = 16


class EndedError(PortFailedError):
    """The program ended, or closed its standard input or output."""

    def __init__(self, status: str) -> None:
        super().__init__("port crashed", f"the program {status}")
        self.status = status


def argv_of(command: str) -> list[str]:
    """Return the program and its arguments of a command that is quoted as for a shell.

    Raises:
        PortUnavailableError: the command is empty, or a quotation does not end.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        msg = f"cannot start {command!r}: {error}"
        raise PortUnavailableError(msg) from error
    if not argv:
        msg = "cannot start a port: the command is empty"
        raise PortUnavailableError(msg)
    return argv


class Program:
    """A child process that reads and writes lines.

    One `poll` waits on standard output and standard error together, so that no thread is needed and
    a program that fills standard error never blocks.
    """

    def __init__(self, argv: list[str]) -> None:
        # A new session: the program's children end with it, and Ctrl-C reaches this process only.
        self._process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 (the user's own)
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        # Runs at the interpreter's exit too, for a port that was never shut down.
        self._finalizer = weakref.finalize(self, _release, self._process)
        self._stdin = _fileno(self._process.stdin)
        self._stdout = _fileno(self._process.stdout)
        self._stderr = _fileno(self._process.stderr)
        os.set_blocking(self._stdin, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._lines: deque[bytes] = deque()
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._ended = False
        self._stderr_lines: deque[bytes] = deque(maxlen=STDERR_LINES)
        self._stderr_rest = b""

    def send(self, line: bytes, deadline: float) -> None:
        """Write a line; reads the program's output while the program does not read.

        Raises:
            TimeoutError: the program did not read the whole line before `deadline`.
            EndedError: the program does not read any more.
        """
        try:
            written = self._write(line)
            if written < len(line):
                self._poll.register(self._stdin, select.POLLOUT)
                while written < len(line):
                    self._pump(deadline)
                    written += self._write(line[written : written + CHUNK_BYTES])
                self._poll.unregister(self._stdin)
        except BrokenPipeError:
            self._raise_ended("closed its standard input")

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0

    def line(self, deadline: float) -> bytes:
        """Return the next line, without its newline.

        Raises:
            TimeoutError: the program wrote none before `deadline`.
            EndedError: the program will write none.
        """
        while not self._lines:
            if self._ended:
                self._raise_ended("closed its standard output")
            self._pump(deadline)
        return self._lines.popleft()

    def refuse_leftovers(self, last: str = "'done'") -> None:
        """Check that the program has written nothing since what it had to write last.

        Raises:
            PortFailedError: it has, or it has ended.
        """
        if not self._lines:
            self._read(self._poll.poll(0))
        if self._lines or self._partial:
            line = self._lines[0] if self._lines else b"".join(self._partial)
            protocol_error(f"a line after {last}: {shorten(line)}")
        if self._ended:
            self._raise_ended("closed its standard output")

    def _pump(self, deadline: float) -> None:
        """Wait until the program writes or reads, then read what it wrote."""
        left_s = deadline - monotonic()
        # Checked before reading: a program that never stops writing has a deadline too.
        if left_s <= 0:
            raise TimeoutError
        self._read(self._poll.poll(left_s * 1000))

    def _read(self, ready: list[tuple[int, int]]) -> None:
        for fd, _ in ready:
            if fd == self._stdin:
                continue
            chunk = os.read(fd, CHUNK_BYTES)
            if not chunk:
                self._poll.unregister(fd)
            if fd == self._stderr:
                self._add_stderr(chunk)
            elif chunk:
                self._add_output(chunk)
            else:
                self._ended = True

    def _add_output(self, chunk: bytes) -> None:
        head, *rest = chunk.split(b"\n")
        self._partial_bytes += len(head)
        if self._partial_bytes > MAX_LINE_BYTES:
            start = shorten(b"".join(self._partial[:1]))
            protocol_error(f"a line longer than {MAX_LINE_BYTES} bytes: {start}")
        if rest:
            self._lines.append(b"".join([*self._partial, head]))
            self._lines.extend(rest[:-1])
            self._partial.clear()
            head = rest[-1]
            self._partial_bytes = len(head)
        if head:
            self._partial.append(head)

    def _add_stderr(self, chunk: bytes) -> None:
        *lines, rest = (self._stderr_rest + chunk).split(b"\n")
        self._stderr_lines.extend(line[:STDERR_LINE_BYTES] for line in lines)
        self._stderr_rest = rest[:STDERR_LINE_BYTES]

    def _raise_ended(self, otherwise: str) -> NoReturn:
        """Raise with the program's exit status, or with `otherwise` while it still runs."""
        status = _status_within(EXIT_S, self._process)
        if status is None:
            raise EndedError(otherwise)
        if status >= 0:
            how = f"exited with status {status}"
        else:
            how = f"was killed by signal {_signal_name(-status)}"
        raise EndedError(how)

    def end(self, grace_s: float) -> str:
        """End the program; it has `grace_s` seconds after its input ends, and again after SIGTERM.

        Returns:
            The last lines of its standard error.
        """
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
            if grace_s and not self._ends_within(grace_s):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGTERM)
                self._ends_within(grace_s)
            _kill_group(self._process)
            self._read_last_stderr()
        finally:
            self._finalizer()
        lines = [*self._stderr_lines, *([self._stderr_rest] if self._stderr_rest else [])]
        return b"\n".join(lines[-STDERR_LINES:]).decode(errors="replace")

    def _read_last_stderr(self) -> None:
        os.set_blocking(self._stderr, False)
        with contextlib.suppress(BlockingIOError):
            # Bounded: a child of the program may have left the group and still be writing.
            for _ in range(LAST_CHUNKS):
                self._add_stderr(os.read(self._stderr, CHUNK_BYTES))

    def _ends_within(self, seconds: float) -> bool:
        """Wait for the program to end; reads its output, so that it cannot block on a full pipe."""
        deadline = monotonic() + seconds
        with contextlib.suppress(TimeoutError, PortFailedError):
            while not self._ended:
                self._pump(deadline)
        return _status_within(deadline - monotonic(), self._process) is not None


def _status_within(seconds: float, process: subprocess.Popen[bytes]) -> int | None:
    """Return the program's exit status, negative for a signal; None if it still runs.

    The program stays a zombie, so that its id, which is also the group's, is not reused before the
    group is killed.
    """
    if not hasattr(os, "waitid"):  # macOS, before Python 3.13
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(seconds, 0))
        return process.returncode
    deadline = monotonic() + seconds
    while True:
        try:
            ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:  # SIGCHLD is ignored, so the status is lost
            return 0
        if ended is not None:
            return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        if monotonic() >= deadline:
            return None
        sleep(WATCH_S)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the program's process group, and wait for the program."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _release(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        _kill_group(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _fileno(pipe: IO[bytes] | None) -> int:
    if pipe is None:
        msg = "the process has no pipe"
        raise OSError(msg)
    return pipe.fileno()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
