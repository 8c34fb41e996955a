"""The lines between a consumer's application, in a client's process, and the one that leads it.

The application connects to a port on loopback. It reads commands, each a word, and writes what
happens to it. It waits after each line until that is acknowledged: so the order of its lines and of
the consumer's requests is exact.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Final, NamedTuple

from groupcheck.model import client
from groupcheck.model.client import ClientEvent
from groupcheck.properties.clients.broker import HOST, Broker
from groupcheck.properties.ports.connection import CHUNK_BYTES
from groupcheck.properties.ports.messages import protocol_error, shorten

MAX_LINE_BYTES: Final = 64 * 1024
ACKNOWLEDGED: Final = "acknowledged"

# The lines of an application, besides those of events: it is ready, has read a command, has done
# the command, or has closed its consumer. STARTED and FAILED answer the connection.
STARTED: Final = "started"
FAILED: Final = "failed"
TAKEN: Final = "taken"
CLOSED: Final = "closed"

_CALLS: Final = {
    "assigned": client.ASSIGNED,
    "revoked": client.REVOKED,
    "lost": client.LOST,
}
_FAILURES: Final = {"commit-failed": client.COMMIT_FAILED, "raised": client.RAISED}
_KINDS: Final = {
    "retriable": client.RETRIABLE,
    "rebalancing": client.REBALANCING,
    "not-a-member": client.NOT_A_MEMBER,
    "fatal": client.FATAL,
    "other": client.OTHER,
}


class Line(NamedTuple):
    """A line of an application: a word, and what it says about it."""

    word: str
    rest: str = ""

    @property
    def event(self) -> ClientEvent | None:
        """The event that it reports, if any.

        Raises:
            PortFailedError: it has no partitions where it has to.
        """
        first = self.rest.partition(" ")[0]
        if self.word == "committed":
            return ClientEvent(client.COMMITTED)
        if self.word in _FAILURES and first in _KINDS:
            return ClientEvent(_FAILURES[self.word], error=_KINDS[first])
        if self.word in _CALLS:
            try:
                numbers = tuple(sorted(map(int, self.rest.split())))
            except ValueError:
                protocol_error(f"a line without partitions: {shorten(self.rest.encode())}")
            # An empty list is no news, but of the assignment.
            if numbers or self.word == "assigned":
                return ClientEvent(_CALLS[self.word], partitions=numbers)
        return None


class Control:
    """The connection to one application.

    Args:
        broker: that waits for lines too.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._is_application = False  # whether its first byte is that of a line
        self._listener = socket.create_server((HOST, 0))
        self._listener.settimeout(0)
        self.port = int(self._listener.getsockname()[1])
        self._opened: socket.socket | None = None
        self._received = b""
        self.ended = False
        broker.watch(self._listener)

    @property
    def is_connected(self) -> bool:
        """Whether the application has connected, and its connection has not ended."""
        return self._opened is not None and not self.ended

    def send(self, word: str) -> None:
        """Write a line; an application that has ended does not read it."""
        if self._opened is not None:
            with suppress(OSError):
                self._opened.sendall(f"{word}\n".encode())

    def lines(self) -> list[Line]:
        """The lines that have arrived; `ended` says whether there will be no more.

        Raises:
            PortFailedError: a line is too long.
        """
        if self._opened is None:
            self._accept()
        if self._opened is None or self.ended:
            return []
        try:
            chunk = self._opened.recv(CHUNK_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            chunk = b""
        if not chunk:
            self._broker.unwatch(self._opened)
            self.ended = True
        if not self._is_application and not self._identify(chunk):
            return []
        *lines, self._received = (self._received + chunk).split(b"\n")
        if len(self._received) > MAX_LINE_BYTES:
            protocol_error(f"a line that is too long: {shorten(self._received)}")
        return [_line(line.decode(errors="replace")) for line in lines]

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._listener.close()
        if self._opened is not None:
            self._opened.close()

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            self._opened, _ = self._listener.accept()
            self._opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._opened.settimeout(0)
            self._broker.watch(self._opened)

    def _identify(self, chunk: bytes) -> bool:
        """Whether the connection is that of the application; others are closed.

        A consumer that has ended looks for its broker, whose port this one may have now. Its first
        byte is 0, as that of every request of Kafka's protocol.
        """
        if chunk.startswith(b"\0") and self._opened is not None:
            self._broker.unwatch(self._opened)
            self._opened.close()
            self._opened = None
            return False
        self._is_application = True
        self._broker.unwatch(self._listener)
        self._listener.close()
        return True


def _line(text: str) -> Line:
    word, _, rest = text.partition(" ")
    return Line(word, rest)
