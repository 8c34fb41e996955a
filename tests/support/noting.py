"""Clients on threads that record their requests to a broker, the responses and the times."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from groupcheck.model.vocabulary import Request, RequestBody, Response, ResponseBody
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import Connection
from groupcheck.properties.ports.port import PortFailedError
from support.overlapping import Client, Line, request_line, response_line
from support.served_process import served

NUMBERS = count(1)
WAIT_S: Final = 20
LEAST: Final = 300  # lines that a history has at least


class Notes:
    """A connection that records its requests and responses in `lines`, by one clock for all."""

    def __init__(self, port: int, client_id: str) -> None:
        self.lines: list[Line] = []
        self._client_id = client_id
        self._connection = Connection[Request]("127.0.0.1", port, WAIT_S)

    def ask(self, version: int, body: RequestBody) -> ResponseBody:
        """Send a request, receive the response, and record both.

        Raises:
            PortFailedError: the connection is broken, which is recorded too.
        """
        request = Request(next(NUMBERS), version, body, self._client_id)
        self.lines.append(request_line(request, now_ms()))
        try:
            self._connection.send(request, codec.to_message(body, version), request.client_id)
            ((_, answer),) = self._connection.receive()
        except PortFailedError:
            lost = {"type": "lost", "id": request.request_id, "endMs": now_ms()}
            self.lines.append(lost)
            raise
        answer_body = codec.answer_body(request.api, version, answer, null_as_empty=False)
        response = Response(request.request_id, answer_body)
        self.lines.append(response_line(response, version, now_ms()))
        return answer_body

    def hang_up(self) -> None:
        """Stop the clients."""
        with suppress(OSError):
            self._connection.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class NotingClient(threading.Thread):
    """A client with its own connection, until either side closes it."""

    def __init__(self, port: int, client: Client) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.notes = Notes(port, client.name)

    def run(self) -> None:
        with suppress(PortFailedError):  # the client is stopped, or the server has ended
            while True:
                version, body = self.client.next()
                self.client.receive(body, self.notes.ask(version, body))
                time.sleep(0.002)

    def stop(self) -> list[Line]:
        """Close the connection; the lines, without the losses that this causes."""
        self.notes.hang_up()
        lines = self.end()
        return [line for line in lines if line["type"] != "lost"]

    def end(self) -> list[Line]:
        """The recorded lines, once the server has closed the connection."""
        self.join(WAIT_S)
        self.notes.close()
        return self.notes.lines


def _started(port: int, clients: list[Client]) -> list[NotingClient]:
    started = [NotingClient(port, client) for client in clients]
    for client in started:
        client.start()
    return started


def _clients(number: int) -> list[Client]:
    return [Client(f"noted{each}", "noted", Random(each)) for each in range(number)]


def _go_on(clients: list[NotingClient], for_s: float, least: int) -> None:
    """Wait for a time, and until a number of lines is recorded, even on a busy machine."""
    time.sleep(for_s)
    until = time.monotonic() + WAIT_S
    while sum(len(each.notes.lines) for each in clients) < least and time.monotonic() < until:
        time.sleep(0.05)


def noted(port: int, header: Line, *, clients: int, for_s: float, least: int = LEAST) -> list[Line]:
    """The history that clients of one group record together."""
    started = _started(port, _clients(clients))
    _go_on(started, for_s, least)
    return [header, *(line for client in started for line in client.stop())]


def noted_while_killed(
    data_dir: Path, header: Line, *options: str, clients: int, for_s: float, kills: int
) -> list[Line]:
    """The history that clients record of a server that is killed and restarted meanwhile."""
    lines, known, killed_ms = [header], _clients(clients), None
    for last in range(kills, -1, -1):
        with served(data_dir, *options) as server:
            if killed_ms is not None:
                lines.append(crash_line(killed_ms))
            started = _started(server.port, known)
            _go_on(started, for_s, LEAST)
            killed_ms = now_ms()
            if last:
                server.kill()
            lines += [x for each in started for x in (each.end() if last else each.stop())]
    return lines


def crash_line(killed_ms: float) -> Line:
    """The line for a server that was killed at that time and has restarted."""
    return {"type": "fault", "fault": "crash", "startMs": killed_ms, "endMs": now_ms()}


def now_ms() -> float:
    """The time of the clock that all clients share."""
    return time.monotonic() * 1000
