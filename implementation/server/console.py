"""The commands of an operator of several brokers: a line in, a line of answer out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from groupcheck.implementation.server.brokers import Brokers, CannotDoError, Status
from groupcheck.implementation.server.server import Options, say, serve

LONGEST_LINE: Final = 1_000
MOST_SHOWN: Final = 10  # partitions of a topic
_READ_BYTES: Final = 4_096


class BadLineError(Exception):
    """A line is no command; the message is one line."""


class Command(NamedTuple):
    """A command: what its argument is, and what answers it."""

    argument: str
    answer: Callable[[str], Awaitable[str]]


class Console:
    """Answers the lines of an operator.

    Args:
        brokers: the cluster.
        end: is set by `quit`.

    """

    def __init__(self, brokers: Brokers, end: asyncio.Event) -> None:
        self._brokers = brokers
        self._end = end
        self._commands = {
            "start": Command("N", self._start),
            "stop": Command("N", self._stop),
            "kill": Command("N", self._kill),
            "expire": Command("N", self._expire),
            "move": Command("", self._move),
            "elect": Command("TOPIC", self._elect),
            "create": Command("TOPIC:PARTITIONS", self._create),
            "delete": Command("TOPIC", self._delete),
            "status": Command("", self._status),
            "quit": Command("", self._quit),
        }

    async def answer(self, line: str) -> str:
        """The line that answers a line."""
        try:
            return await self._answer(line)
        except (BadLineError, CannotDoError) as error:
            return f"error: {error}"

    async def _answer(self, line: str) -> str:
        name, *arguments = line.split() or [""]
        command = self._commands.get(name)
        if command is None:
            msg = f"unknown command {name[:40]!r}; known: {', '.join(self._commands)}"
            raise BadLineError(msg)
        if len(arguments) != (1 if command.argument else 0):
            msg = f"the command is: {name} {command.argument}".rstrip()
            raise BadLineError(msg)
        return await command.answer("".join(arguments))

    async def _start(self, argument: str) -> str:
        number = _broker(argument)
        await self._brokers.start_broker(number)
        return f"broker {number} runs"

    async def _stop(self, argument: str) -> str:
        number = _broker(argument)
        await self._brokers.stop_broker(number)
        return f"broker {number} is stopped"

    async def _kill(self, argument: str) -> str:
        number = _broker(argument)
        await self._brokers.kill_broker(number)
        return (
            f"broker {number} is stopped; "
            f"its session ends after {self._brokers.session_timeout_ms} ms"
        )

    async def _expire(self, argument: str) -> str:
        number = _broker(argument)
        await self._brokers.expire_session(number)
        return f"the session of broker {number} has ended"

    async def _move(self, _argument: str) -> str:
        return _controller(await self._brokers.move_controller())

    async def _elect(self, argument: str) -> str:
        await self._brokers.elect(argument)
        return _led(argument, self._brokers.status())

    async def _create(self, argument: str) -> str:
        topic, _, partitions = argument.rpartition(":")
        if not topic:
            msg = "the command is: create TOPIC:PARTITIONS"
            raise BadLineError(msg)
        await self._brokers.create_topic(topic, _number(partitions, "a number of partitions"))
        return _led(topic, self._brokers.status())

    async def _delete(self, argument: str) -> str:
        if await self._brokers.delete_topic(argument):
            return f"{argument} is deleted"
        return f"{argument} is deleted when all brokers of its replicas run"

    async def _status(self, _argument: str) -> str:
        status = self._brokers.status()
        parts = [
            f"brokers {' '.join(map(str, status.running)) or 'none'}",
            _controller(status.controller),
            *(_led(topic, status) for topic in status.leaders),
            *(f"{topic} is to be deleted" for topic in status.deletions),
        ]
        return "; ".join(parts)

    async def _quit(self, _argument: str) -> str:
        self._end.set()
        return "stopped"


def _broker(text: str) -> int:
    return _number(text, "a broker")


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        msg = f"{text[:40]!r} is not {what}"
        raise BadLineError(msg)
    return int(text)


def _controller(number: int | None) -> str:
    return "no controller" if number is None else f"controller {number}"


def _led(topic: str, status: Status) -> str:
    """The leaders of a topic: of each partition, or how many each broker leads if they are many."""
    leaders = status.leaders.get(topic, ())
    if len(leaders) > MOST_SHOWN:
        counts = Counter(leaders)
        shown = ", ".join(f"{counts[each]} by {each}" for each in sorted(counts))
        return f"{topic} led {shown}"
    return f"{topic} led by {' '.join(map(str, leaders)) or 'none'}"


def run(options: Options, brokers: int, session_timeout_ms: int) -> None:
    """Serve a cluster until SIGINT, SIGTERM or `quit`; answer lines of standard input.

    Messages go to standard error, and answers to standard output.

    Raises:
        CannotServeError: a broker cannot start.
    """
    asyncio.run(_serve(options, brokers, session_timeout_ms))


async def _serve(options: Options, number: int, session_timeout_ms: int) -> None:
    brokers = Brokers(options, number, say, session_timeout_ms=session_timeout_ms)
    end = asyncio.Event()
    started = asyncio.Event()
    console = asyncio.create_task(_answer_lines(Console(brokers, end), started))
    try:
        await serve(brokers, end, started)
    finally:
        console.cancel()


async def _answer_lines(console: Console, started: asyncio.Event) -> None:
    """Answer the lines of standard input one by one, once the brokers run."""
    await started.wait()
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read_lines, args=(loop, lines), daemon=True).start()
    while True:
        answer = await console.answer(await lines.get())
        with contextlib.suppress(OSError):  # the operator does not read the answers
            os.write(1, f"{answer}\n".encode())  # `sys.stdout` is printed at the end of a command


def _read_lines(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str]) -> None:
    """Read standard input until it ends; the brokers go on after that.

    A thread reads, since a loop cannot wait for a file; it does not lock `sys.stdin`.
    """
    arrived = b""
    try:
        while data := os.read(0, _READ_BYTES):
            *complete, arrived = (arrived + data).split(b"\n")
            for line in complete:
                text = line[:LONGEST_LINE].decode(errors="replace")
                loop.call_soon_threadsafe(lines.put_nowait, text)
            arrived = arrived[: LONGEST_LINE + 1]
    except (OSError, RuntimeError):  # there is no standard input, or the loop has ended
        return
