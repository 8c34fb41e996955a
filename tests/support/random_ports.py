"""Ports made by random edits of the built-in one's results and failures.

`builtin` edits the records that the coordinator returns to the built-in port, `python` the messages
of a port in Python, `exec` those of a program, and the bytes of its lines.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any, Final

from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.model.bodies import encode_record
from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.exec import ExecPort
from groupcheck.properties.ports.messages import protocol_error
from groupcheck.properties.ports.port import (
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.program import EndedError
from groupcheck.properties.ports.python import PythonPort
from groupcheck.properties.ports.source import PortSource
from support.junk import JSON_JUNK, PYTHON_JUNK, nodes, spoilt
from support.object_port import ObjectPort

LIMIT_S: Final = 0.03  # of a call that hangs
RATES: Final = (0.5, 0.1, 0.03, 0.01)


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class OtherError(BaseException):
    pass


ERRORS: Final[tuple[Callable[[], BaseException], ...]] = (
    lambda: ValueError("a\nb\x1b[31m\ud800"),
    lambda: KeyError("member"),
    AssertionError,
    lambda: IndexError("list index out of range"),
    lambda: TypeError(None),
    lambda: AttributeError("'NoneType' object has no attribute 'x'"),
    lambda: RecursionError("too deep"),
    MemoryError,
    lambda: OSError(28, "No space left on device"),
    lambda: TimeoutError("late"),
    lambda: StopIteration(3),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    NotImplementedError,
    lambda: ExceptionGroup("several", [ValueError(1), KeyError(2)]),
    lambda: PortFailedError("port crashed", "it says so\nitself"),
    lambda: PortUnavailableError("it says\nthat it is gone"),
    UnprintableError,
    lambda: SystemExit(3),
    GeneratorExit,
    OtherError,
)


class Edits:
    """A few random edits, which the calls of a port undergo at their rates."""

    def __init__(self, pick: Random, junk: tuple[Any, ...]) -> None:
        self.pick, self.junk = pick, junk
        kinds = (self.raise_error, self.spoil, self.spoil, self.spoil, *self._of_lists())
        self._rules = [
            (pick.choice(kinds), pick.choice(RATES), pick.choice(("", "", "request", "advance")))
            for _ in range(pick.choice((1, 1, 2, 4)))
        ]
        self._rare = [(self.raise_error, 0.3, call) for call in RARE if pick.random() < 0.03]
        self._last: Any = []  # what the last call would have returned

    def _of_lists(self) -> tuple[Callable[[Any], Any], ...]:
        return (self.drop, self.double, self.delay, self.swap, self.shuffle, self.repeat)

    def edited(self, call: str, returned: Any) -> Any:
        """The edited result of a call."""
        rare, meant = call in RARE, returned
        for edit, rate, where in self._rare if rare else self._rules:
            if (where == call or not (where or rare)) and self.pick.random() < rate:
                returned = edit(returned)
        self._last = meant
        return returned

    def raise_error(self, _returned: Any) -> Any:
        error = self.pick.choice(ERRORS)()
        raise error

    def spoil(self, returned: Any) -> Any:
        return spoilt(returned, self.pick, self.junk)

    def drop(self, returned: Any) -> Any:
        """Leave an item out."""
        if isinstance(returned, list) and returned:
            dropped = self.pick.randrange(len(returned))
            return [each for i, each in enumerate(returned) if i != dropped]
        return returned

    def double(self, returned: Any) -> Any:
        return returned * 2 if isinstance(returned, list) else returned

    def delay(self, _returned: Any) -> Any:
        """Return the delayed result of the last call now, and this one with the next call."""
        return self._last

    def repeat(self, returned: Any) -> Any:
        """Return what the last call returned, too."""
        both = isinstance(self._last, list) and isinstance(returned, list)
        return [*returned, *self._last] if both else self._last

    def shuffle(self, returned: Any) -> Any:
        if not isinstance(returned, list):
            return returned
        return self.pick.sample(returned, len(returned))

    def swap(self, returned: Any) -> Any:
        """Mix parts of the last result into this one."""
        parts = [node for _, node in nodes(self._last)]
        return spoilt(returned, self.pick, tuple(parts))


RARE: Final = ("open", "close", "factory")


# The records of the coordinator


class EditedCoordinator(Coordinator):
    """A coordinator whose answers and inner state are edited."""

    def __init__(self, edits: Edits, **options: Any) -> None:
        super().__init__(**options)
        self.edits = edits
        edits.edited("open", None)

    def receive(self, request: Request) -> Any:
        return self.edits.edited("request", super().receive(request))

    def advance(self, ms: int) -> Any:
        return self.edits.edited("advance", super().advance(ms))

    def views(self) -> Any:
        return self.edits.edited("views", super().views())

    def cleanup(self) -> Any:
        return self.edits.edited("fault", super().cleanup())

    def unload(self, partition: int) -> Any:
        return self.edits.edited("fault", super().unload(partition))


def builtin(pick: Random) -> PortSource:
    """The built-in port, of a coordinator that returns anything."""
    edits = Edits(pick, PYTHON_JUNK)
    return PortSource("builtin", lambda: BuiltinPort(1, lambda **o: EditedCoordinator(edits, **o)))


# The messages of a port


class EditedPort(ObjectPort):
    """The built-in port, with its inner state; its messages are edited."""

    def __init__(self, edits: Edits) -> None:
        super().__init__(BuiltinPort(1))
        self.edits = edits
        edits.edited("factory", None)

    def open(self, profile: str, config: dict[str, int]) -> Any:
        return self.edits.edited("open", super().open(profile, config))

    def close(self) -> Any:
        return self.edits.edited("close", None)

    def _returned(self, call: str, seen: Observation) -> Any:
        groups = [encode_record(view) for view in seen.groups or ()]
        messages = [*super()._returned(call, seen), {"type": "state", "groups": groups}]
        messages = self.edits.edited(call, messages)
        if self.edits.pick.random() < 0.02 and isinstance(messages, list):
            return (each for each in messages)
        if self.edits.pick.random() < 0.0005:
            time.sleep(2 * LIMIT_S)
        return messages


def python(pick: Random) -> PortSource:
    """A port in Python that returns anything."""
    edits = Edits(pick, PYTHON_JUNK)
    return PortSource(
        "python:edited", lambda: PythonPort(lambda: EditedPort(edits), limit_s=LIMIT_S)
    )


# The lines of a program


class EditedProgram:
    """Replaces `Program`: writes the lines of an edited port."""

    def __init__(self, edits: Edits) -> None:
        self.edits = edits
        self._port: EditedPort | None = None
        self._lines: list[bytes | None] = []  # None: it ends

    def send(self, line: bytes, _deadline: float) -> None:
        self._lines += self._answer(json.loads(line))

    def _answer(self, message: dict[str, Any]) -> Iterator[bytes | None]:
        call = message.pop("type")
        message.pop("protocol", None)
        done: dict[str, Any] = {"type": "done"}
        try:
            port = self._port = self._port or EditedPort(self.edits)
            if call == "request":
                returned = port.request(*message.values())
            elif call == "fault":
                returned = port.fault(message.pop("fault"), **message)
            else:
                returned = getattr(port, call)(**message)
        except BaseException:  # noqa: BLE001 (the program ends)
            yield None
            return
        if call == "open":
            returned, done = [], {"type": "done", "port": returned}
        for each in [*(returned if hasattr(returned, "__iter__") else []), done]:
            yield self._line(each)

    def _line(self, message: Any) -> bytes:
        line = json.dumps(message, default=repr, skipkeys=True).encode()
        pick = self.edits.pick
        if pick.random() < 0.995:
            return line
        at = pick.randrange(len(line) + 1)
        return pick.choice(
            [line[:at], line[:at] + b"\xff" + line[at:], b"", b"[" * 5_000, b"9" * 5_000, line * 2]
        )

    def line(self, _deadline: float) -> bytes:
        if not self._lines:
            raise TimeoutError
        line = self._lines.pop(0)
        if line is None:
            status = "exited with status 1"
            raise EndedError(status)
        return line

    def refuse_leftovers(self) -> None:
        if self._lines:
            protocol_error(f"a line after 'done': {self._lines[0]!r}")

    def end(self, _grace_s: float) -> str:
        return "\x1b[31mlast line\nof its standard error"


class EditedExecPort(ExecPort):
    """A port whose program is in this process."""

    def __init__(self, edits: Edits) -> None:
        super().__init__("edited", limit_s=LIMIT_S)
        self._edits = edits

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        if self._program is None:
            program: Any = EditedProgram(self._edits)
            self._program = program
        return super().open(profile, config)


def program(pick: Random) -> PortSource:
    """A program that writes anything."""
    edits = Edits(pick, JSON_JUNK)
    return PortSource("exec:edited", lambda: EditedExecPort(edits))


KINDS: Final[dict[str, Callable[[Random], PortSource]]] = {
    "builtin": builtin,
    "python": python,
    "exec": program,
}
