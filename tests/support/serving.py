"""A server for the duration of a test, on its own thread."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from groupcheck.implementation.server.brokers import Brokers
from groupcheck.implementation.server.server import CannotServeError, Options, Server, Service
from groupcheck.implementation.server.settings import parse
from groupcheck.properties.histories.checker import GroupsChecked, check_groups, load
from groupcheck.properties.ports import codec
from groupcheck.reports.finding_text import text_of

T = TypeVar("T")

QUICK = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=100")
WAIT_S = 20.0  # timeout for short operations
# The fields of a JoinGroup.
JOIN: dict[str, Any] = {
    "group_id": "group",
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [("range", b"mine")],
}


class Hosted:
    """A service on an event loop with its own thread; `notes` are its log messages."""

    service: Service

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.run(self.service.start())
        except CannotServeError:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.run(self.service.stop())
        self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S)
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a function on the server's thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)


class ServedBrokers(Hosted):
    """A cluster of several brokers on free ports of the loopback.

    Args:
        brokers: how many there are.
        topics: the initial topics, with the number of their partitions.
        config: broker settings, NAME=NUMBER.
        profile: the version of Kafka.
        session_timeout_ms: when the session of a killed broker ends.

    """

    def __init__(
        self,
        brokers: int,
        *topics: tuple[str, int],
        config: Sequence[str] = QUICK,
        profile: str = "2.7",
        session_timeout_ms: int = 300,
    ) -> None:
        super().__init__()
        options = Options("127.0.0.1", 0, topics, profile, parse(config))
        self.service = self.brokers = Brokers(
            options, brokers, self.notes.append, session_timeout_ms=session_timeout_ms
        )

    @property
    def addresses(self) -> list[str]:
        """The addresses of the running brokers."""
        return [f"{host}:{port}" for host, port in self.brokers.addresses]

    @contextmanager
    def connected(self, broker: int) -> Iterator[Wire]:
        """A connection of bytes to a running broker."""
        running = self.brokers.status().running
        with connected_to(self.brokers.addresses[running.index(broker)][1]) as wire:
            yield wire


class Served(Hosted):
    """A server on a free port of the loopback; `notes` are its log messages.

    Args:
        topics: the initial topics, with the number of their partitions.
        config: broker settings, NAME=NUMBER.
        record: where to record.
        port: to listen on.
        profile: the version of Kafka.
        data_dir: where groups and offsets are stored.

    """

    def __init__(
        self,
        *topics: tuple[str, int],
        config: Sequence[str] = QUICK,
        record: Path | None = None,
        port: int = 0,
        profile: str = "2.7",
        data_dir: Path | None = None,
    ) -> None:
        super().__init__()
        self.record = record
        options = Options("127.0.0.1", port, topics, profile, parse(config), record, data_dir)
        self.service = self.server = Server(options, self.notes.append)

    def __enter__(self) -> Self:
        super().__enter__()
        self.host, self.port = self.server.addresses[0]
        self.address = f"{self.host}:{self.port}"
        return self

    def checked(self) -> GroupsChecked:
        """The model's verdict on the recording so far."""
        assert self.record is not None
        return check_groups(load(self.record))

    @contextmanager
    def connected(self) -> Iterator[Wire]:
        """A connection of bytes."""
        with connected_to(self.port) as wire:
            yield wire


@contextmanager
def connected_to(port: int) -> Iterator[Wire]:
    """A connection of bytes to a server on the loopback."""
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as opened:
        yield Wire(opened)


@contextmanager
def checked_session(
    directory: Path,
    profile: str,
    *topics: tuple[str, int],
    data_dir: Path | None = None,
    config: Sequence[str] = QUICK,
) -> Iterator[Served]:
    """A server whose recorded session the model has to accept at the end, without failures."""
    record = directory / "session.jsonl"
    with Served(
        *topics, config=config, record=record, profile=profile, data_dir=data_dir
    ) as server:
        yield server
    checked = server.checked()
    if checked.finding is not None:
        msg = f"In group {checked.group_id!r}:\n{text_of(checked.finding)}"
        raise AssertionError(msg)
    assert checked.cut == ()
    assert checked.steps > 0
    assert server.notes == []


class Wire:
    """A client that sends arbitrary bytes."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        """A request and its answer, as kafka-python's message."""
        self.request(api, version, **fields)
        return self.answer(api, version)

    def request(self, api: str, version: int, **fields: Any) -> None:
        """A request."""
        message = codec.message_class(f"{api}Request")(version=version, **fields)
        self.socket.sendall(codec.frame(message, 7, "client"))

    def answer(self, api: str, version: int) -> Any:
        """The answer to the request that was sent first of those not answered yet."""
        frame = self.receive()
        assert frame is not None, "the server closed the connection"
        return codec.parse(api, version, frame)

    def join(self, version: int = 3, **fields: Any) -> Any:
        """A JoinGroup and its answer."""
        return self.ask("JoinGroup", version, **{**JOIN, **fields})

    def state_of(self, group_id: str = "group") -> str:
        """The state of a group."""
        (group,) = self.ask("DescribeGroups", 5, groups=[group_id]).groups
        return str(group.group_state)

    def send(self, frame: bytes) -> None:
        """A frame with its length."""
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self) -> bytes | None:
        """The next frame, None if the server closed the connection."""
        length = self._read(4)
        return length and self._read(struct.unpack(">i", length)[0])

    def _read(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            try:
                more = self.socket.recv(size - len(data))
            except ConnectionError:
                return None
            if not more:
                return None
            data += more
        return data
