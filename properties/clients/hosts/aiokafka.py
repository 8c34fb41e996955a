"""Consumers of aiokafka, in one event loop."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Coroutine
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, errors
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from groupcheck.properties.clients.hosts.application import (
    ACKNOWLEDGED,
    CLOSE_S,
    COMMIT_OFFSET,
    END,
    END_S,
    HOST,
    POLL_S,
    TOPIC,
    Kind,
    Settings,
    numbers,
)

STRATEGY: Final = "partition.assignment.strategy"
# The first that an error is an instance of; others say whether they are retriable.
KINDS: Final = (
    (errors.CommitFailedError, "not-a-member"),
    (errors.RebalanceInProgressError, "rebalancing"),
)


class Control:
    """The connection to the process that leads the consumer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.commands: asyncio.Queue[str] = asyncio.Queue()
        self._acknowledged = asyncio.Semaphore(0)
        self._sending = asyncio.Lock()
        self._ended = False
        self._reading = asyncio.create_task(self._read())
        self._reports: set[asyncio.Task[None]] = set()

    async def report(self, *words: object) -> None:
        """Write a line, and wait until it is acknowledged, also if the caller is interrupted."""
        task = asyncio.create_task(self._report(*words))
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)
        await asyncio.shield(task)

    async def _report(self, *words: object) -> None:
        async with self._sending:
            self.state(*words)
            if not self._ended:
                await self._acknowledged.acquire()

    def state(self, *words: object) -> None:
        """Write a line that is not acknowledged."""
        line = " ".join(" ".join(map(str, words)).split())
        self._writer.write(f"{line}\n".encode())

    def close(self) -> None:
        """Close the connection."""
        self._reading.cancel()
        self._writer.close()

    async def _read(self) -> None:
        with suppress(OSError):
            while line := (await self._reader.readline()).decode().strip():
                if line == ACKNOWLEDGED:
                    self._acknowledged.release()
                else:
                    self.commands.put_nowait(line)
        self._ended = True
        self.commands.put_nowait(END)
        for _ in range(1_000):  # no thread waits any more
            self._acknowledged.release()


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Reports what the consumer calls it with."""

    def __init__(self, control: Control) -> None:
        self._control = control

    async def on_partitions_assigned(self, assigned: Any) -> None:  # noqa: ANN401 - the library's
        """Report partitions."""
        await self._control.report("assigned", *numbers(assigned))

    async def on_partitions_revoked(self, revoked: Any) -> None:  # noqa: ANN401 - as above
        """Report partitions."""
        await self._control.report("revoked", *numbers(revoked))


class Application:
    """What an application does with its consumer.

    It polls in a task of its own: `getmany` does not return before a rebalance has ended, whatever
    its timeout. Each command interrupts it.
    """

    def __init__(self, control: Control, consumer: AIOKafkaConsumer) -> None:
        self._control = control
        self._consumer = consumer
        self._polls = False
        self._polling: asyncio.Task[None] | None = None
        self._closed = False
        self._commits: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Do what the commands say, and poll meanwhile, until the connection ends."""
        while (command := await self._control.commands.get()) != END:
            self._control.state("taken")
            await self._interrupt()
            await self._do(command)
            if self._polls:
                self._polling = asyncio.create_task(self._poll())
        await self._interrupt()
        for task in self._commits:
            task.cancel()
        await self._close(END_S)
        self._control.close()

    async def _interrupt(self) -> None:
        task, self._polling = self._polling, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _do(self, command: str) -> None:
        try:
            if command == "subscribe":
                self._consumer.subscribe([TOPIC], listener=Listener(self._control))
            elif command == "unsubscribe":
                self._polls = False
                self._consumer.unsubscribe()
            elif command == "commit":
                self._in_background(self._commit())
            elif command == "commit-sync":
                await self._commit()
        except Exception as error:  # noqa: BLE001 - whatever the library raises
            await self._raised(error)
        if command in ("subscribe", "poll"):
            self._polls = True
        elif command == "stall":
            self._polls = False
        elif command == "close":
            await self._close(CLOSE_S)
            self._control.state("closed")

    def _in_background(self, commit: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(commit)
        self._commits.add(task)
        task.add_done_callback(self._commits.discard)

    async def _commit(self) -> None:
        try:
            await self._consumer.commit(dict.fromkeys(self._consumer.assignment(), COMMIT_OFFSET))
        except Exception as error:  # noqa: BLE001 - as above
            await self._control.report("commit-failed", _kind(error), repr(error))
        else:
            await self._control.report("committed")

    async def _poll(self) -> None:
        while True:
            try:
                await self._consumer.getmany(timeout_ms=int(POLL_S * 1000))
            except Exception as error:  # noqa: BLE001 - as above
                await self._raised(error)
                await asyncio.sleep(POLL_S)

    async def _raised(self, error: Exception) -> None:
        # It has no class for the one fatal error.
        await self._control.report("raised", "other", repr(error))

    async def _close(self, limit_s: float) -> None:
        self._polls = False
        if not self._closed:
            self._closed = True
            with suppress(Exception):
                await asyncio.wait_for(self._consumer.stop(), limit_s)


def _kind(error: BaseException) -> Kind:
    kind = next((kind for cls, kind in KINDS if isinstance(error, cls)), None)
    return kind or ("retriable" if getattr(error, "retriable", False) else "other")


async def _lead(started: dict[str, Any]) -> None:
    control = Control(*await asyncio.open_connection(HOST, started["control"]))
    try:
        consumer = await _consumer(started["settings"])
    except Exception as error:  # noqa: BLE001 - whatever the library raises
        control.state("failed", repr(error))
        control.close()
        return
    control.state("started")
    await Application(control, consumer).run()


async def _consumer(settings: Settings) -> AIOKafkaConsumer:
    settings[STRATEGY] = [RangePartitionAssignor]
    consumer = AIOKafkaConsumer(**{name.replace(".", "_"): v for name, v in settings.items()})
    await consumer.start()
    return consumer


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    tasks = set()
    print(version("aiokafka"), flush=True)  # noqa: T201 - the answer to the parent
    while line := await lines.readline():
        task = asyncio.create_task(_lead(json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    os._exit(0)  # whatever a consumer still waits for


if __name__ == "__main__":
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    logging.getLogger("aiokafka").propagate = False
    asyncio.run(_serve())
