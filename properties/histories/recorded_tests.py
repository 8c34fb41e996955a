"""Recorded tests: the responses of a coordinator on a real clock, checked without it.

`verify --record` writes them, and `replay FILE` checks them. Each test is a trace whose first line
also has the port and its tolerances. After each step come its responses, and a `done` with the time
that the step took. Member ids are symbols, in the responses too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, NamedTuple, Self

from groupcheck.model.bodies import Json, camel, decode_response
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request, Response
from groupcheck.properties.compare import MEMBER_IDS
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.histories.recording_file import opened, opened_intact
from groupcheck.properties.ports.numbering import first_generation
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.run import Checks
from groupcheck.properties.sequence import (
    MalformedTraceError,
    Sequence,
    Taken,
    as_lines,
    excused,
    header,
    header_message,
    natural,
    read_line,
    response_message,
    step_message,
    step_of,
)
from groupcheck.properties.tolerances import Tolerances

KEY: Final = "recorded"  # of the first line of a test
ID_FIELDS: Final = frozenset(map(camel, MEMBER_IDS))
MOST_BYTES: Final = 16 * 1024 * 1024  # of a line


class RecordedTest(NamedTuple):
    """A test of a port on a real clock, and the profile that checked it, with its deviations."""

    port: str
    profile: Profile
    test: ObservedTest

    @property
    def sequence(self) -> Sequence:
        """The steps of the test."""
        steps = tuple(each.given for each in self.test.exchanges)
        return Sequence(self.profile.name, self.test.broker, steps, self.profile.edits)


def dump(recorded: RecordedTest, names: Mapping[str, str]) -> str:
    """The test as JSON Lines; `names` maps the member ids in its responses to symbols."""
    tolerances = recorded.test.tolerances or Tolerances()
    clock = {"port": recorded.port, "lateMs": tolerances.late_ms, "earlyMs": tolerances.early_ms}
    messages = [header_message(recorded.sequence) | {KEY: clock}]
    versions: dict[int, int] = {}
    for step, seen in recorded.test.exchanges:
        messages.append(step_message(step))
        if isinstance(step, Request):
            versions[step.request_id] = step.api_version
        for response in seen.responses:
            message = response_message(response, versions[response.request_id])
            messages.append(message | {"body": _with_symbols(message["body"], names)})
        messages.append({"type": "done", "elapsedMs": seen.elapsed_ms})
    return as_lines(messages)


def _with_symbols(value: object, names: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_with_symbols(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: names.get(each, each) if key in ID_FIELDS else _with_symbols(each, names)
        for key, each in value.items()
    }


def has_recorded_tests(path: Path) -> bool:
    """Whether a file begins with a recorded test.

    Raises:
        MalformedTraceError: it cannot be decompressed.
        OSError: it cannot be read.
    """
    with opened_intact(path) as file:
        first = file.readline(MOST_BYTES)
    try:
        return _read_line(first, "", lambda message: KEY in message)
    except MalformedTraceError:
        return False


def load(path: Path) -> Iterator[RecordedTest]:
    """Read the tests of a file, one after the other.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    with opened_intact(path) as file:
        yield from read(iter(lambda: file.readline(MOST_BYTES), b""), str(path))


def read(lines: Iterable[bytes], name: str) -> Iterator[RecordedTest]:
    """Read the tests in these lines; errors begin with `name`.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
    """
    reading: _Reading | None = None
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        after = _read_line(line, where, partial(_next, reading))
        if reading is not None and after is not reading:
            yield reading.whole(where)
        reading = after
    if reading is not None:
        yield reading.whole(name)


def _read_line(line: bytes, where: str, take: Callable[[Json], Taken]) -> Taken:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        msg = f"{where}: not text in UTF-8"
        raise MalformedTraceError(msg) from error
    return read_line(text, where, take)


def _next(reading: _Reading | None, message: Json) -> _Reading:
    """The test that a line belongs to."""
    if message.get("type") == "open":
        return _Reading(message)
    if reading is None:
        msg = "not the first line of a recorded test"
        raise MalformedTraceError(msg)
    reading.take(message)
    return reading


class _Reading:
    """A test whose lines are read, from its first line on."""

    def __init__(self, message: Json) -> None:
        kafka, self.broker = header(message)
        self.profile = deviating(kafka, excused(kafka, message))
        clock = message.get(KEY)
        if not isinstance(clock, dict) or not isinstance(clock.get("port"), str):
            msg = f"{KEY}: expected the port and its tolerances"
            raise MalformedTraceError(msg)
        self.port: str = clock["port"]
        times = [natural(clock.get(each), f"{KEY}: {each}") for each in ("lateMs", "earlyMs")]
        self.tolerances = Tolerances(*times)
        self._exchanges: list[Exchange] = []
        self._step: Input | None = None  # without its `done`
        self._responses: list[Response] = []
        self._requests: dict[int, Request] = {}

    def take(self, message: Json) -> None:
        """Take the next line.

        Raises:
            MalformedTraceError: it cannot come next.
            MalformedBodyError: a body does not fit its API.
        """
        match message:
            case {"type": "response"} if self._step is not None:
                self._responses.append(self._response(message))
            case {"type": "done"} if self._step is not None:
                elapsed_ms = natural(message.get("elapsedMs"), "elapsedMs")
                seen = Observation(tuple(self._responses), elapsed_ms=elapsed_ms)
                self._exchanges.append(Exchange(self._step, seen))
                self._step, self._responses = None, []
            case {"type": "response" | "done"}:
                msg = f"a {message['type']!r} that does not follow a step"
                raise MalformedTraceError(msg)
            case _ if self._step is not None:
                msg = "the step before it has no 'done'"
                raise MalformedTraceError(msg)
            case _:
                self._step = step_of(message, self.profile, self._requests)
                if isinstance(self._step, Request):
                    self._requests[self._step.request_id] = self._step

    def _response(self, message: Json) -> Response:
        """A response; a second response to one request is a finding."""
        number = natural(message.get("id"), "id")
        request = self._requests.get(number)
        if request is None:
            msg = f"no request {number}"
            raise MalformedTraceError(msg)
        body = decode_response(request.api, request.api_version, message.get("body"))
        return Response(number, body)

    def whole(self, where: str) -> RecordedTest:
        """The complete test.

        Raises:
            MalformedTraceError: its last step is not complete.
        """
        if self._step is not None:
            msg = f"{where}: the last step of a test has no 'done'"
            raise MalformedTraceError(msg)
        first = first_generation(self.profile)
        test = ObservedTest(self.broker, tuple(self._exchanges), self.tolerances, first)
        return RecordedTest(self.port, self.profile, test)


class PortChecked(NamedTuple):
    """How many recorded tests of a port, and steps of them, were checked against a profile."""

    port: str
    profile: str
    tests: int = 0
    steps: int = 0


class Checked(NamedTuple):
    """The result for a file of recorded tests: its ports, and the first finding."""

    parts: tuple[PortChecked, ...]
    finding: Finding | None = None


def check_tests(path: Path) -> Checked:
    """Check the recorded tests of a file, up to the first finding.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
        OSError: the file cannot be read.
    """
    parts: dict[tuple[str, str], PortChecked] = {}
    finding = None
    for port, profile, test in load(path):
        finding = test.finding(profile)
        exchanges = test.exchanges if finding is None else finding.exchanges
        part = parts.pop((port, profile.name), PortChecked(port, profile.name))
        parts[port, profile.name] = part._replace(
            tests=part.tests + 1, steps=part.steps + len(exchanges)
        )
        if finding is not None:
            break
    return Checked(tuple(parts.values()), finding)


class RecordingOfTests:
    """Appends the tests of a port to a file, also from several threads.

    A file whose name ends in .xz is compressed.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, port: str, tolerances: Tolerances) -> None:
        self._port = port
        self._tolerances = tolerances
        self._lock = Lock()
        self._file = opened(path, "ab")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, checks: Checks) -> None:
        """Add a finished test, without the step at which the port failed, if any."""
        profile = checks.oracle.profile
        first = first_generation(profile)
        test = ObservedTest(checks.broker, checks.observed, self._tolerances, first)
        text = dump(RecordedTest(self._port, profile, test), checks.oracle.names)
        with self._lock:
            self._file.write(text.encode())
