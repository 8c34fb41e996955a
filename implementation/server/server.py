"""The server: listening sockets, connections, shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.implementation.log.errors import LogError
from groupcheck.implementation.server.broker import Broker
from groupcheck.implementation.server.connection import Connection
from groupcheck.implementation.server.groups import Embedded, Groups, embed
from groupcheck.implementation.server.known import Known
from groupcheck.implementation.server.maintenance import Maintenance, Notes
from groupcheck.implementation.server.recording import Recording
from groupcheck.implementation.server.settings import Limits, Settings
from groupcheck.implementation.server.topics import BadTopicError, Topics

BACKLOG: Final = 1_024
LONGEST_SWEEP_S: Final = 30.0
DRAIN_S: Final = 0.5  # for responses that are still to be sent at shutdown
TURNS_OF_ACCEPT: Final = 3  # of asyncio's loop, at most, from accept() to connection_made


class CannotServeError(Exception):
    """The server cannot start; the message is one line."""


class Options(NamedTuple):
    """The options of the server."""

    host: str = "127.0.0.1"
    port: int = 9092
    topics: tuple[tuple[str, int], ...] = ()
    profile: str = "2.7"
    settings: Settings = Settings()
    record: Path | None = None
    data_dir: Path | None = None


class Service(Protocol):
    """What `serve` runs."""

    async def start(self) -> None:
        """Start serving.

        Raises:
            CannotServeError: it cannot start; nothing stays open.
        """
        ...

    async def stop(self) -> None:
        """Stop serving, and release all resources."""
        ...

    def served_at(self) -> list[tuple[str, str, int]]:
        """What is served, and on which host and port."""
        ...


class Server:
    """A broker of one node, on a running loop: `start` it, then `stop` it.

    Args:
        options: the options.
        say: writes a line for the operator.

    """

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.limits: Limits = options.settings.limits
        self.addresses: list[tuple[str, int]] = []
        self.broker: Broker
        self._options = options
        self._say = say
        self._connections: set[Connection] = set()
        self._is_empty = asyncio.Event()  # set while there are no connections
        self._reserved = 0
        self._recording: Recording | None = None
        self._embedded: Embedded | None = None
        self._groups: Groups | None = None
        self._maintenance: Maintenance | None = None
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Start serving.

        Raises:
            CannotServeError: it cannot start; nothing stays open.
        """
        loop = asyncio.get_running_loop()
        self.notes = Notes(self._say, loop.time)
        loop.set_exception_handler(self._failed)
        try:
            self._open(loop)
            await self._listen(loop)
        except CannotServeError:
            await self.stop()
            raise
        self._sweep_later()

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        options = self._options
        if options.profile not in PROFILES:
            msg = (
                f"no coordinator of profile {options.profile[:40]!r}; known: {', '.join(PROFILES)}"
            )
            raise CannotServeError(msg)
        topics = Topics(self.limits)
        try:
            for name, partitions in options.topics:
                topics.create(name, partitions)
        except BadTopicError as error:
            raise CannotServeError(str(error)) from error
        try:
            embedded = embed(options.settings.config, options.profile, options.data_dir)
        except LogError as error:
            raise CannotServeError(str(error)) from error
        self._serve(embedded, topics, loop)

    def _serve(
        self,
        embedded: Embedded,
        topics: Topics,
        loop: asyncio.AbstractEventLoop,
        known: Known | None = None,
    ) -> Groups:
        """Create the broker of a coordinator."""
        options = self._options
        self._embedded = embedded
        self._recording = self._record(embedded)
        self._groups = Groups(embedded, loop, self._recording)
        self.broker = Broker(
            options.profile, embedded.apis, self._groups, topics, options.settings, known=known
        )
        interval_ms = self.limits.offsets_retention_check_interval_ms
        self._maintenance = Maintenance(self._groups, embedded.disk, interval_ms, self.notes)
        return self._groups

    def _record(self, embedded: Embedded) -> Recording | None:
        path = self._options.record
        if path is None:
            return None
        config = self._options.settings.config_names()
        groups = [view.group_id for view in embedded.coordinator.views()]
        try:
            return Recording(path, self._options.profile, config, self._recording_failed, groups)
        except OSError as error:
            msg = f"cannot record to {path}: {error.strerror}"
            raise CannotServeError(msg) from error

    async def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        host, port = self._options.host, self._options.port
        _allow_many_files()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self), host, port, backlog=BACKLOG
            )
        except (OSError, UnicodeError) as error:  # of an invalid host name
            msg = f"cannot listen on {shown(host, port)}: {_reason(error)}"
            raise CannotServeError(msg) from error
        names = [each.getsockname() for each in self._server.sockets]
        self.addresses = [(name[0], name[1]) for name in names]

    async def stop(self) -> None:
        """Stop serving, and release all resources."""
        if self._sweep is not None:
            self._sweep.cancel()
        if self._server is not None:
            await self._stop_listening(self._server)
        if self._maintenance is not None:
            await self._maintenance.close()
        for connection in list(self._connections):
            connection.close()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_empty.wait(), DRAIN_S)
        for connection in list(self._connections):
            connection.abort("the client does not read its responses")
        await asyncio.sleep(0)  # the loop reports the closed connections
        if self._groups is not None:
            await self._groups.close()
        if self._recording is not None:
            self._recording.close()
        if self._embedded is not None and self._embedded.disk is not None:
            self._embedded.disk.close()

    async def _stop_listening(self, server: asyncio.Server) -> None:
        """Accept no more connections; those that are accepted begin, so that they can be closed."""
        for listening in server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(TURNS_OF_ACCEPT):
            await asyncio.sleep(0)
        # Now: in a closed server, accepted connections fail and stay open (CPython, gh-109564).
        server.close()

    def served_at(self) -> list[tuple[str, str, int]]:
        """See `Service`."""
        return [(f"Kafka {self._options.profile}", *address) for address in self.addresses]

    def add(self, connection: Connection) -> bool:
        """Add a connection; False if there are too many."""
        if len(self._connections) >= self.limits.max_connections:
            return False
        self._connections.add(connection)
        self._is_empty.clear()
        return True

    def remove(self, connection: Connection) -> None:
        """Remove a connection."""
        self._connections.discard(connection)
        if not self._connections:
            self._is_empty.set()

    def reserve(self, size: int) -> bool:
        """Reserve bytes for requests, or release if negative; False above the limit."""
        if size > 0 and self._reserved + size > self.limits.queued_max_request_bytes:
            return False
        self._reserved += size
        return True

    def _sweep_later(self) -> None:
        idle_s = self.limits.connections_max_idle_ms / 1000
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(min(max(idle_s / 4, 0.1), LONGEST_SWEEP_S), self._sweep_idle)

    def _sweep_idle(self) -> None:
        """Close connections that have been idle too long."""
        now = asyncio.get_running_loop().time()
        idle_s = self.limits.connections_max_idle_ms / 1000
        for connection in list(self._connections):
            if connection.idle and now - connection.active_s > idle_s:
                connection.abort("idle")
        self._sweep_later()

    def _recording_failed(self, why: str) -> None:
        self._say(f"recording stopped: {why}; the file is complete up to then")

    def _failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report an unhandled error; serving continues."""
        error = context.get("exception")
        self.notes.note("a failure", f"{context['message'][:80]} ({type(error).__name__})")


def _allow_many_files() -> None:
    """Raise the limit of open files to the maximum."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _reason(error: OSError | UnicodeError) -> str:
    """The reason why an address cannot be used, without asyncio's prefix."""
    if isinstance(error, OSError) and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno or 0)
    return "there is no such host"


def shown(host: str, port: int) -> str:
    """The address as a user types it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def run(options: Options) -> None:
    """Serve until SIGINT or SIGTERM; messages go to standard error.

    Raises:
        CannotServeError: it cannot start.
    """
    asyncio.run(serve(Server(options, say)))


async def serve(
    service: Service, end: asyncio.Event | None = None, started: asyncio.Event | None = None
) -> None:
    """Serve until SIGINT or SIGTERM, or until `end` is set; set `started` after the start.

    Raises:
        CannotServeError: it cannot start.
    """
    logging.basicConfig(format="groupcheck: %(message)s")
    await service.start()
    loop, end = asyncio.get_running_loop(), end or asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    served_at = service.served_at()
    for what, host, port in served_at:
        say(f"serving {what} on {shown(host, port)}")
    if not all(ipaddress.ip_address(host).is_loopback for _, host, _ in served_at):
        say("other machines can connect, and there is no authentication")
    if started is not None:
        started.set()
    await end.wait()
    await service.stop()


def say(line: str) -> None:
    """Write a line to standard error."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"groupcheck: {line}\n")
            sys.stderr.flush()
