"""Reads a recording that has to be intact: a line that the reader rejects is an error."""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

from groupcheck.model.bodies import Json
from groupcheck.properties.histories.events import Event
from groupcheck.properties.histories.lines import Line, RejectedLineError
from groupcheck.properties.histories.reader import RecordingReader
from groupcheck.properties.sequence import MalformedTraceError

GIVEN: Final = {"request", "hold", "release", "fault"}  # events that are an input of the model


class Recorded(NamedTuple):
    """The events of one group in one session; `before`: the group existed before it.

    Up to `quiet_ms`, when the last advance of the session begins, no further response arrived.
    """

    group_id: str
    header: Json
    events: list[Event]
    before: bool = False
    quiet_ms: int = 0

    @property
    def profile(self) -> str:
        """The Kafka version of the recording."""
        return str(self.header["profile"])

    @property
    def steps(self) -> int:
        """The number of requests, other inputs and advances that it gives the checker."""
        kinds = [each.kind for each in self.events]
        events = self.events[: kinds.index("cut") if "cut" in kinds else None]
        passed = sum(now.at_ms > before.at_ms for before, now in pairwise(events))
        return passed + sum(each.kind in GIVEN for each in events)


def opened(path: Path, mode: str = "rb") -> IO[bytes]:
    """Open a file, which is compressed if its name ends in .xz.

    Raises:
        OSError: it cannot be opened.
    """
    return cast("IO[bytes]", lzma.open(path, mode) if path.suffix == ".xz" else path.open(mode))


@contextmanager
def opened_intact(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to read it; raises as `opened` does.

    Raises:
        MalformedTraceError: it cannot be decompressed.
    """
    try:
        with opened(path) as file:
            yield file
    except (lzma.LZMAError, EOFError) as error:
        msg = f"{path}: {error}"
        raise MalformedTraceError(msg) from error


def read(lines: Iterable[bytes], name: str, *, partial: bool = False) -> list[Recorded]:
    """Read the lines of a recording.

    A `partial` recording leaves responses out: its first line names their APIs in `unseen`.

    Raises:
        MalformedTraceError: with the line and what is wrong with it.
    """
    reader = RecordingReader(name)
    found: dict[tuple[int, str], Recorded] = {}  # by session and group
    quiet_ms: dict[int, int] = {}  # by session
    for number, rows in _intact(reader, lines, name):
        session = reader.sessions
        for row in rows:
            of = session, row.group_id
            if of not in found:
                found[of] = Recorded(row.group_id, reader.header, [])
            found[of].events.append(row)
        if session not in quiet_ms:
            for each in reader.before:
                found[session, each] = Recorded(each, reader.header, [], before=True)
        quiet_ms[session] = reader.quiet_ms
        if "unseen" in reader.header and not partial:
            msg = f"{name}:{number}: it leaves responses out: groupcheck history checks it"
            raise MalformedTraceError(msg)
    if not (reader.answered or partial):
        msg = f"{name}: it has no response, so it is no recording; name a PORT to replay it on"
        raise MalformedTraceError(msg)
    return [each._replace(quiet_ms=quiet_ms[of]) for (of, _), each in found.items()]


def _intact(
    reader: RecordingReader, lines: Iterable[bytes], name: str
) -> Iterator[tuple[int, list[Event]]]:
    """The events of each line.

    After a crash of the machine the last line of a session may be incomplete; only another session
    can follow.
    """
    torn: MalformedTraceError | None = None
    whole = False
    for number, data in enumerate(lines, 1):
        sessions = reader.sessions
        try:
            rows = list(reader.take(Line(number, data)))
        except RejectedLineError as error:
            malformed = MalformedTraceError(f"{name}:{number}: {error}")
            if torn is not None or not reader.sessions:
                raise torn or malformed from error
            torn, whole = malformed, data.endswith(b"\n")
            continue
        if torn is not None and reader.sessions == sessions:
            raise torn
        torn = None
        yield number, rows
    if torn is not None and whole:
        raise torn
