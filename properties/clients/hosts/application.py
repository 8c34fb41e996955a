"""The application of a consumer: it reads commands, polls, and reports what happens to it.

The program reads a line of JSON for each consumer that it has to make, and ends with its input.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import sleep
from typing import Any, Final, Protocol

HOST: Final = "127.0.0.1"
POLL_S: Final = 0.02
CLOSE_S: Final = 20.0  # a consumer that commits first waits for the answer
END_S: Final = 1.0
SWITCH_S: Final = 0.0005
COMMIT_OFFSET: Final = 6
ACKNOWLEDGED: Final = "acknowledged"
END: Final = "end"
FATAL: Final = "fatal"
TOPIC: Final = "t"

Settings = dict[str, Any]
Kind = str  # of an error: one of those that `control` knows
Report = Callable[..., None]  # with the words of a line


class Control:
    """The connection to the process that leads the consumer."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._commands: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._acknowledged = threading.Semaphore(0)
        self._sending = threading.Lock()
        self.ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def command(self, *, wait: bool) -> str | None:
        """The next command; None if there is none yet."""
        try:
            return self._commands.get(block=wait)
        except queue.Empty:
            return None

    def report(self, *words: object) -> None:
        """Write a line, and wait until it is acknowledged."""
        with self._sending:
            if self._write(*words):
                self._acknowledged.acquire()

    def state(self, *words: object) -> None:
        """Write a line that is not acknowledged."""
        with self._sending:
            self._write(*words)

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _write(self, *words: object) -> bool:
        line = " ".join(" ".join(map(str, words)).split())
        try:
            self._socket.sendall(f"{line}\n".encode())
        except OSError:
            return False
        return not self.ended

    def _read(self) -> None:
        with suppress(OSError), self._socket.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                if line.strip() == ACKNOWLEDGED:
                    self._acknowledged.release()
                else:
                    self._commands.put(line.strip())
        self.ended = True
        self._commands.put(END)
        self._acknowledged.release(1_000)  # no thread waits any more


class Consumer(Protocol):
    """A library's consumer. Errors are those of the library; `kind` says what they mean."""

    def subscribe(self) -> None:
        """Subscribe to the topic, with a listener that reports."""
        ...

    def unsubscribe(self) -> None:
        """Give up the subscription."""
        ...

    def poll(self) -> None:
        """Poll for a short time."""
        ...

    def commit(self) -> None:
        """Commit all assigned partitions; a callback reports the result."""
        ...

    def commit_sync(self) -> None:
        """Commit all assigned partitions, and wait for the result."""
        ...

    def close(self, limit_s: float) -> None:
        """Close the consumer within so many seconds."""
        ...

    def kind(self, error: BaseException) -> Kind:
        """What an error means."""
        ...


class Application:
    """What an application does with its consumer, in its own thread.

    Args:
        control: where its commands come from.
        consumer: which it uses.
        polls_unsubscribed: whether it polls after `unsubscribe`, which the listener needs.
    """

    def __init__(
        self, control: Control, consumer: Consumer, *, polls_unsubscribed: bool = False
    ) -> None:
        self._control = control
        self._consumer = consumer
        self._polls_unsubscribed = polls_unsubscribed
        self._polling = False
        self._closed = False

    def run(self) -> None:
        """Do what the commands say, and poll meanwhile, until the connection ends."""
        while (command := self._control.command(wait=not self._polling)) != END:
            if command is not None:
                self._control.state("taken")
                self._do(command)
            if self._polling:
                self._poll()
        self._close(END_S)
        self._control.close()

    def _do(self, command: str) -> None:
        try:
            if command == "subscribe":
                self._consumer.subscribe()
            elif command == "unsubscribe":
                self._polling = self._polls_unsubscribed
                self._consumer.unsubscribe()
            elif command == "commit":
                self._commit(self._consumer.commit)
            elif command == "commit-sync" and self._commit(self._consumer.commit_sync):
                self._control.report("committed")
        except Exception as error:  # noqa: BLE001 - whatever the library raises
            self._raised(error)
        if command in ("subscribe", "poll"):
            self._polling = True
        elif command == "stall":
            self._polling = False
        elif command == "close":
            self._close(CLOSE_S)
            self._control.state("closed")

    def _commit(self, commit: Callable[[], None]) -> bool:
        """Commit, and return whether no error was raised."""
        try:
            commit()
        except Exception as error:  # noqa: BLE001 - as above
            kind = self._consumer.kind(error)
            self._polling = self._polling and kind != FATAL
            self._control.report("commit-failed", kind, repr(error))
            return False
        return True

    def _poll(self) -> None:
        try:
            self._consumer.poll()
        except Exception as error:  # noqa: BLE001 - as above
            self._raised(error)
            sleep(POLL_S)

    def _raised(self, error: Exception) -> None:
        kind = self._consumer.kind(error)
        if kind == FATAL:
            self._polling = False
        self._control.report("raised", FATAL if kind == FATAL else "other", repr(error))

    def _close(self, limit_s: float) -> None:
        self._polling = False
        if not self._closed:
            self._closed = True
            with suppress(Exception):
                self._consumer.close(limit_s)


def numbers(partitions: Iterable[Any]) -> list[int]:
    """The numbers of some partitions."""
    return sorted(partition.partition for partition in partitions)


def serve(
    version: str, make: Callable[[Settings, Report], Consumer], *, polls_unsubscribed: bool = False
) -> None:
    """Make a consumer for each line of standard input, in a thread of its own.

    Args:
        version: of the library.
        make: returns a consumer with settings; it reports the arguments of its callbacks.
        polls_unsubscribed: see `Application`.
    """

    def run(line: str) -> None:
        started = json.loads(line)
        control = Control(started["control"])
        try:
            consumer = make(started["settings"], control.report)
        except Exception as error:  # noqa: BLE001 - whatever the library raises
            control.state("failed", repr(error))
            control.close()
            return
        control.state("started")
        Application(control, consumer, polls_unsubscribed=polls_unsubscribed).run()

    # With many threads, the usual one delays what a consumer does between two polls.
    sys.setswitchinterval(SWITCH_S)
    print(version, flush=True)  # noqa: T201 - the answer to the parent
    for line in sys.stdin:
        threading.Thread(target=run, args=(line,), daemon=True).start()
    os._exit(0)  # whatever a library still waits for
