"""Speed and memory of the server, in a process of its own: `python bench/server.py`.

Rebalances and commits per second of one group of 50 consumers: consumers of confluent-kafka, which
learn of a rebalance at their next heartbeat, and 50 plain connections, which send the next request
as soon as they receive a response. Then the memory of 5,000 idle connections and of 10,000 groups
of one client, and how long another client waits meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from groupcheck.properties.ports import codec

CONSUMERS = 50
SECONDS = 10.0
HEARTBEAT_MS = 50
IDLE = 5_000
GROUPS = 10_000


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
        message = codec.message_class(f"{api}Request")(version=version, **fields)
        return await self.send(api, version, codec.frame(message, 1, "bare"))

    async def send(self, api: str, version: int, frame: bytes) -> Any:
        """Send an encoded request; returns its response."""
        answer = await self.raw(frame)
        return codec.message_class(f"{api}Response").decode(answer, version=version, header=True)

    async def raw(self, frame: bytes) -> bytes:
        """Send an encoded request; returns the encoded response."""
        self._writer.write(frame)
        (length,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(length)


async def connect(served: Served) -> Connection:
    """Open a connection."""
    return Connection(*await asyncio.open_connection("127.0.0.1", served.port))


def join(group: str, member_id: str = "") -> dict[str, Any]:
    """The fields of a JoinGroup."""
    times = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
    # Changed metadata forces a rebalance; with the same metadata the response comes at once.
    offer = [("range", os.urandom(100))]
    member = {"group_id": group, "member_id": member_id, "protocol_type": "consumer"}
    return {**times, **member, "protocols": offer}


async def plain_connections(served: Served) -> None:
    """Rebalances and commits of plain connections."""
    bare = [await connect(served) for _ in range(CONSUMERS)]
    ids = [(await bare[0].ask("JoinGroup", 1, **join("bare"))).member_id]
    others = [asyncio.ensure_future(one.ask("JoinGroup", 1, **join("bare"))) for one in bare[1:]]
    while await members(bare[0]) < CONSUMERS:
        pass
    await bare[0].ask("JoinGroup", 1, **join("bare", ids[0]))
    ids += [(await other).member_id for other in others]
    began, rebalances = time.perf_counter(), 0
    while (seconds := time.perf_counter() - began) < SECONDS:
        answers = await asyncio.gather(
            *(b.ask("JoinGroup", 1, **join("bare", i)) for b, i in zip(bare, ids, strict=True))
        )
        generation = answers[0].generation_id
        await asyncio.gather(*(sync(b, a, ids) for b, a in zip(bare, answers, strict=True)))
        rebalances += 1
    row("rebalances, 50 plain connections", rebalances / seconds, "a second", "100 requests each")
    topics = [("bench", [(0, 1, None)])]
    cls = codec.message_class("OffsetCommitRequest")
    fields = {"group_id": "bare", "generation_id_or_member_epoch": generation}
    frames = [
        bytes(codec.frame(cls(version=2, **fields, member_id=i, topics=topics), 1, "bare"))
        for i in ids
    ]
    commits = [0] * CONSUMERS
    began = time.perf_counter()

    async def commit(number: int) -> None:
        while time.perf_counter() - began < SECONDS:
            await bare[number].raw(frames[number])
            commits[number] += 1

    await asyncio.gather(*map(commit, range(CONSUMERS)))
    row("commits, 50 plain connections", sum(commits) / (time.perf_counter() - began), "a second")


async def members(bare: Connection) -> int:
    """The number of members of the group."""
    answer = await bare.ask("DescribeGroups", 0, groups=["bare"])
    return len(answer.groups[0].members)


async def sync(bare: Connection, joined: Any, ids: list[str]) -> None:
    """Send SyncGroup, with assignments if this connection is the leader."""
    assignments = [(i, b"a" * 100) for i in ids] if joined.leader == joined.member_id else []
    fields = {"generation_id": joined.generation_id, "member_id": joined.member_id}
    answer = await bare.ask("SyncGroup", 1, group_id="bare", **fields, assignments=assignments)
    assert answer.error_code == 0, answer


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
    cpus = os.cpu_count()
    print(f"Python {platform.python_version()}, {platform.machine()}, {cpus} cores")  # noqa: T201
    for measure in (real_consumers, plain_connections, many):
        with ExitStack() as stack:
            served = stack.enter_context(serving())
            outcome = measure(served)
            if outcome is not None:
                asyncio.run(outcome)


if __name__ == "__main__":
    main()
