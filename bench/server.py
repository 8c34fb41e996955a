"""Speed and memory of the server, in a process of its own: `python bench/server.py`.

Rebalances and commits per second of one group of 50 consumers: consumers of confluent-kafka, which
learn of a rebalance at their next heartbeat, and 50 plain connections, which send the next request
as soon as they receive a response. Then the memory of 5,000 idle connections and of 10,000 groups
of one client, and how long another client waits meanwhile.

`--beside kafka:4.1 kfake` instead compares this server with other brokers: the same 50 plain
connections on each, in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from statistics import median
from threading import Event
from typing import Any, Final, cast

from confluent_kafka import Consumer, TopicPartition

from groupcheck.model.classic.instances.inputs import TOPIC, TOPIC_PROTOCOLS
from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.brokers.catalogue import definitions
from groupcheck.properties.brokers.definition import start, to_stderr
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.librdkafka import MockBroker

CONSUMERS = 50
SECONDS = 10.0
HEARTBEAT_MS = 50
ANSWER_S = 10
READ_BYTES = 64 * 1024
IDLE = 5_000
GROUPS = 10_000

OURS = "serve:4.1"
MOCK = "librdkafka-mock"
TURNS = 3
TURN_S = 5.0
THREADS = {"num.network.threads": 3, "num.io.threads": 8}  # Kafka's defaults

GENERATION: Final = struct.Struct(">i")
NO_GENERATION: Final = 0x7EADBEEF
ERROR: Final = struct.Struct(">h")
# Where a response has its error; that of OffsetCommit has one partition.
ERROR_AT: Final = {"JoinGroup": 12, "SyncGroup": 12, "OffsetCommit": -2}


class Served:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port
        self.address = f"127.0.0.1:{port}"

    @property
    def resident_mb(self) -> float:
        """Its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0


@contextmanager
def serving() -> Iterator[Served]:
    """Start a server without an initial rebalance delay."""
    command = [sys.executable, "-m", "groupcheck", "serve", "--listen", "127.0.0.1:0"]
    options = ["--topic", f"bench:{CONSUMERS}", "--config", "group.initial.rebalance.delay.ms=0"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Served(process, int(line.rpartition(":")[2]))
    finally:
        process.terminate()
        process.wait()


def row(what: str, count: float, unit: str, note: str = "") -> None:
    """Print one row."""
    print(f"{what:46} {count:>10,.1f} {unit:16} {note}")  # noqa: T201


class Real:
    """50 consumers of confluent-kafka, which one thread polls."""

    def __init__(self, address: str) -> None:
        self.assigned = [0] * CONSUMERS  # number of assignments of each consumer
        self.commits = 0
        self.consumers = [
            Consumer(
                {
                    "bootstrap.servers": address,
                    "group.id": "real",
                    "enable.auto.commit": False,
                    "heartbeat.interval.ms": HEARTBEAT_MS,
                    "partition.assignment.strategy": "range",
                    "on_commit": self._committing(number),
                }
            )
            for number in range(CONSUMERS)
        ]
        self.committing = False
        for number in range(CONSUMERS):
            self.subscribe(number)

    def subscribe(self, number: int) -> None:
        """Let a consumer join."""

        def count(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
            self.assigned[number] += bool(partitions)

        self.consumers[number].subscribe(["bench"], on_assign=count)

    def _committing(self, number: int) -> Callable[..., None]:
        def committed(error: object, _partitions: object) -> None:
            assert error is None, error
            self.commits += 1
            if self.committing:
                self.commit(number)

        return committed

    def commit(self, number: int) -> None:
        """Commit the current assignment of a consumer."""
        consumer = self.consumers[number]
        offsets = [TopicPartition("bench", p.partition, 1) for p in consumer.assignment()]
        consumer.commit(offsets=offsets, asynchronous=True)

    def poll_until(self, done: Callable[[], bool]) -> None:
        """Poll all consumers until a condition holds."""
        while not done():
            for consumer in self.consumers:
                consumer.poll(0)
            time.sleep(0.001)

    def wait_for_assignments(self) -> None:
        """Poll until each consumer has a partition."""
        self.poll_until(lambda: all(consumer.assignment() for consumer in self.consumers))


def real_consumers(served: Served) -> None:
    """Rebalances and commits of consumers of confluent-kafka."""
    real = Real(served.address)
    real.wait_for_assignments()
    began, before = time.perf_counter(), real.assigned[1]
    while time.perf_counter() - began < SECONDS:
        seen = list(real.assigned)
        real.consumers[0].unsubscribe()
        real.poll_until(lambda seen=seen: real.assigned[1] > seen[1])  # type: ignore[misc] # bound
        real.subscribe(0)
        real.poll_until(lambda seen=seen: real.assigned[0] > seen[0])  # type: ignore[misc] # bound
        real.wait_for_assignments()
    rate = (real.assigned[1] - before) / (time.perf_counter() - began)
    note = f"heartbeats every {HEARTBEAT_MS} ms"
    row("rebalances, 50 consumers of confluent-kafka", rate, "a second", note)
    real.committing = True
    began = time.perf_counter()
    for number in range(CONSUMERS):
        real.commit(number)
    real.poll_until(lambda: time.perf_counter() - began > SECONDS)
    row("commits, 50 consumers of confluent-kafka", real.commits / SECONDS, "a second")
    real.committing = False
    # Concurrently: a consumer that leaves waits for the others, which no thread polls now.
    with ThreadPoolExecutor(CONSUMERS) as threads:
        list(threads.map(Consumer.close, real.consumers))


class Connection:
    """A connection without a Kafka client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, api: str, version: int, **fields: Any) -> Any:
        """Send a request; returns its response."""
        self._writer.write(request(api, version, **fields))
        length = int.from_bytes(await self._reader.readexactly(4), "big")
        answer = await self._reader.readexactly(length)
        return codec.message_class(f"{api}Response").decode(answer, version=version, header=True)


async def connect(served: Served) -> Connection:
    """Open a connection."""
    return Connection(*await asyncio.open_connection("127.0.0.1", served.port))


def join(group: str, member_id: str = "") -> dict[str, Any]:
    """The fields of a JoinGroup."""
    times = {"session_timeout_ms": 600_000, "rebalance_timeout_ms": 60_000}
    # Changed metadata forces a rebalance; with the same metadata the response comes at once.
    # Kafka 4.1 did not answer within 10 s when it was only random bytes, so it is a subscription.
    ((protocol, subscription),) = TOPIC_PROTOCOLS
    offer = [(protocol, subscription[:-4] + struct.pack(">i", 100) + os.urandom(100))]
    member = {"group_id": group, "member_id": member_id, "protocol_type": "consumer"}
    return {**times, **member, "protocols": offer}


def plain_connections(served: Served) -> None:
    """Rebalances and commits of plain connections."""
    plain = Plain(("127.0.0.1", served.port))
    plain.join()
    rate = plain.rebalances(SECONDS)
    row("rebalances, 50 plain connections", rate, "a second", "100 requests each")
    row("commits, 50 plain connections", plain.commits(SECONDS), "a second")


class RefusedError(Exception):
    """A broker does not answer a request of plain connections, or with an error."""


class Plain:
    """50 connections without a Kafka client, of the members of one group.

    Each sends its next request as soon as it has a response. Requests are encoded beforehand, and
    of the responses only errors and the generation are read, so that this process takes less time
    than the broker. The versions are the oldest that Kafka 4 has.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self._sockets = [socket.create_connection(address) for _ in range(CONSUMERS)]
        for one in self._sockets:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", ANSWER_S, 0))
        self._ids = [""] * CONSUMERS
        self._generation = -1
        self._times = 0
        # The second has other metadata, which forces a rebalance.
        self._joins: tuple[list[bytes], list[bytes]] = ([], [])
        self._syncs: list[list[list[bytes]]] = []
        topic = codec.message_class("MetadataRequest").fields["topics"](name=TOPIC)
        creating = request("Metadata", 4, topics=[topic], allow_auto_topic_creation=True)
        exchange("Metadata", self._sockets[:1], [creating])

    def join(self) -> None:
        """Let all of them join the group."""
        new = request("JoinGroup", 2, **join("plain"))
        # The last creates the group, and leads: librdkafka's mock wants its SyncGroup last.
        *others, leader = self._sockets
        for one in (leader, *others):
            one.sendall(new)
            time.sleep(0.02)
        answers = [answer("JoinGroup", leader)]
        first = joined(answers[0])
        if len(first.members) < CONSUMERS:  # the others wait for it
            again = request("JoinGroup", 2, **join("plain", first.member_id))
            answers = exchange("JoinGroup", [leader], [again])
        answers = [*(answer("JoinGroup", one) for one in others), *answers]
        self._ids = [joined(each).member_id for each in answers]
        self._joins = (self._joining(), self._joining())
        given = [(i, b"a" * 100) for i in self._ids]
        self._syncs = [[self._syncing(i, []), self._syncing(i, given)] for i in self._ids]
        self._sync(answers)

    def _joining(self) -> list[bytes]:
        return [request("JoinGroup", 2, **join("plain", i)) for i in self._ids]

    def _syncing(self, member: str, assignments: list[tuple[str, bytes]]) -> list[bytes]:
        """A SyncGroup, split where its generation belongs."""
        fields = {"group_id": "plain", "generation_id": NO_GENERATION, "member_id": member}
        frame = request("SyncGroup", 1, **fields, assignments=assignments)
        return frame.split(GENERATION.pack(NO_GENERATION), 1)

    def _sync(self, answers: list[bytes]) -> None:
        """Send SyncGroup, with assignments if a connection is the leader."""
        self._generation = GENERATION.unpack_from(answers[0], 14)[0]
        generation = GENERATION.pack(self._generation)
        # Only the response of the leader has its member id twice.
        leads = (each.count(i.encode()) > 1 for i, each in zip(self._ids, answers, strict=True))
        frames = [
            generation.join(sync[lead]) for sync, lead in zip(self._syncs, leads, strict=True)
        ]
        exchange("SyncGroup", self._sockets, frames)

    def rebalances(self, seconds: float) -> float:
        """Rebalances per second."""
        began, count = time.perf_counter(), 0
        while (passed := time.perf_counter() - began) < seconds:
            self._times += 1
            self._sync(exchange("JoinGroup", self._sockets, self._joins[self._times % 2]))
            count += 1
        return count / passed

    def commits(self, seconds: float) -> float:
        """Commits per second."""
        fields = {"group_id": "plain", "generation_id_or_member_epoch": self._generation}
        topics = [(TOPIC, [(0, 1, None)])]
        count = 0
        with DefaultSelector() as waiting:
            for one, i in zip(self._sockets, self._ids, strict=True):
                frame = request("OffsetCommit", 2, **fields, member_id=i, topics=topics)
                waiting.register(one, EVENT_READ, frame)
                one.sendall(frame)
            began = time.perf_counter()
            while (passed := time.perf_counter() - began) < seconds:
                for key, _ in waiting.select(ANSWER_S):
                    one = cast("socket.socket", key.fileobj)
                    answer("OffsetCommit", one)
                    one.sendall(key.data)
                    count += 1
        for one in self._sockets:
            answer("OffsetCommit", one)
        return count / passed


def request(api: str, version: int, **fields: Any) -> bytes:
    """An encoded request."""
    message = codec.message_class(f"{api}Request")(version=version, **fields)
    return codec.frame(message, 1, "plain")


def exchange(api: str, sockets: list[socket.socket], frames: list[bytes]) -> list[bytes]:
    """Send a request on each connection; returns the responses."""
    for one, frame in zip(sockets, frames, strict=True):
        one.sendall(frame)
    return [answer(api, one) for one in sockets]


def answer(api: str, one: socket.socket) -> bytes:
    """The response on a connection, with its length."""
    data = b""
    try:
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            data += (more := one.recv(READ_BYTES))
            if not more:
                msg = f"{api}: closes the connection"
                raise RefusedError(msg)
    except BlockingIOError:
        msg = f"{api}: no response within {ANSWER_S} s"
        raise RefusedError(msg) from None
    if api in ERROR_AT:
        (error,) = ERROR.unpack_from(data, ERROR_AT[api] % len(data))
        if error:
            msg = f"{api}: {ErrorCode(error).name}"
            raise RefusedError(msg)
    return data


def joined(response: bytes) -> Any:
    """The message of a response to JoinGroup."""
    return codec.message_class("JoinGroupResponse").decode(response[4:], version=2, header=True)


@contextmanager
def started(name: str) -> Iterator[tuple[str, int]]:
    """Start a broker that groupcheck knows, with Kafka's own number of threads."""
    if name == MOCK:
        mock = MockBroker()
        try:
            yield mock.renew()
        finally:
            mock.stop()
        return
    definition = definitions()[name]
    definition.prepare(to_stderr)
    threads = THREADS if name.startswith("kafka:") else {}
    running = start(definition, {**definition.settings, **threads}, Event())
    try:
        yield running.address
    finally:
        running.stop()


def beside(names: list[str]) -> None:
    """Print a table of the plain connections on this server and on other brokers, in turns."""
    table: dict[str, dict[str, float | str]] = {name: {} for name in (OURS, *names)}
    with ExitStack() as stack:
        plain = {name: Plain(stack.enter_context(started(name))) for name in table}
        for each in plain.values():
            each.join()
        for call in ("commits", "rebalances"):
            rates = taking_turns(plain, call)
            for name, rate in rates.items():
                table[name][call] = rate
    print(f"{'broker':16} {'commits/s':>42} {'rebalances/s':>42}")  # noqa: T201
    for name, cells in table.items():
        texts = (cell(rate, table[OURS][call]) for call, rate in cells.items())
        print(f"{name:16}", *(f"{text:>42}" for text in texts))  # noqa: T201


def taking_turns(plain: dict[str, Plain], call: str) -> dict[str, float | str]:
    """The median rate of each broker after a first turn, or why it has none."""
    rates: dict[str, list[float]] = {name: [] for name in plain}
    refused: dict[str, float | str] = {}
    for _ in range(1 + TURNS):
        for name in plain.keys() - refused.keys():
            try:
                rates[name].append(getattr(plain[name], call)(TURN_S))
            except RefusedError as error:
                refused[name] = str(error)
    return {name: refused.get(name) or median(each[1:]) for name, each in rates.items()}


def cell(rate: float | str, ours: float | str) -> str:
    """A rate and its ratio to that of this server."""
    if isinstance(rate, str) or isinstance(ours, str):
        return str(rate)
    return f"{rate:,.0f} ({rate / ours:.1f} times ours)"


async def latency_of_new_client(served: Served) -> float:
    """The time in ms that a new client waits for its first response."""
    began = time.perf_counter()
    bare = await connect(served)
    await bare.ask("Heartbeat", 0, group_id="none", generation_id=1, member_id="nobody")
    return (time.perf_counter() - began) * 1_000


async def many(served: Served) -> None:
    """Many idle connections, and many groups."""
    before = served.resident_mb
    idle = [await connect(served) for _ in range(IDLE)]
    await asyncio.sleep(0.5)
    grown = served.resident_mb - before
    wait = await latency_of_new_client(served)
    row(f"memory of {IDLE:,} idle connections", grown, "MB", f"another client waits {wait:.1f} ms")
    before = served.resident_mb
    began = time.perf_counter()
    for number in range(GROUPS):
        await idle[0].ask("JoinGroup", 1, **join(f"group-{number}"))
    seconds = time.perf_counter() - began
    grown = served.resident_mb - before
    wait = await latency_of_new_client(served)
    note = f"made in {seconds:.1f} s, another client waits {wait:.1f} ms"
    row(f"memory of {GROUPS:,} groups of one member", grown, "MB", note)
    row("memory of the server in total", served.resident_mb, "MB")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--beside", nargs="+", metavar="BROKER", help="see `groupcheck brokers`")
    options = parser.parse_args()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"Python {platform.python_version()}, {machine}")  # noqa: T201
    if options.beside:
        beside(options.beside)
        return
    for measure in (real_consumers, plain_connections, many):
        with ExitStack() as stack:
            served = stack.enter_context(serving())
            outcome = measure(served)
            if outcome is not None:
                asyncio.run(outcome)


if __name__ == "__main__":
    main()
