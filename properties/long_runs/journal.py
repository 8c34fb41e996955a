"""The file in which a long run keeps what it has done, so that it can go on where it ended.

JSON Lines: what was asked for, then a line for each sequence as it ends. How sequences are run is
not here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Any, Final, NamedTuple, NoReturn, Self

from groupcheck.properties.sequence import Sequence, dump, parse

FORMAT: Final = 1
SAFE_EVERY_S: Final = 2.0  # so much of a run may be lost with the machine
LAWFUL, FOUND, UNDECIDED = "lawful", "found", "undecided"


class MalformedJournalError(ValueError):
    """A file is not what a long run keeps, or that of another run; the message says why."""


class Entry(NamedTuple):
    """A sequence that has ended.

    `shown` are the labelled edges that were shown first by then, by space, each a node and a place;
    `rules` were applied first in it, beyond the spaces. `sequence` is that of a finding. `began_s`
    and `ended_s` count from the start of the first run.
    """

    number: int
    stage: str
    steps: int
    came: str
    began_s: float
    ended_s: float
    shown: Mapping[str, tuple[tuple[int, int], ...]] = {}
    sequence: Sequence | None = None
    space: str = ""
    rules: tuple[str, ...] = ()


class Journal:
    """The entries until now, and where more of them are written; also a context manager.

    Args:
        path: of the file, which is begun if there is none; None keeps nothing.
        asked: what the run is, which has to be the same when it goes on.

    Raises:
        MalformedJournalError: the file is not that of such a run.
        OSError: it cannot be read or written.
    """

    def __init__(self, path: Path | None, asked: Mapping[str, Any]) -> None:
        self.entries: list[Entry] = []
        self._lock = Lock()
        self._file = None
        self._safe_s = monotonic()
        if path is None:
            return
        whole = b""
        if path.exists():
            whole = _whole_lines(path.read_bytes())
            self.entries = _read(whole, path, asked)
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(len(whole))
        self._file.seek(len(whole))
        if not whole:
            self._write({"run": FORMAT, **asked})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            with self._lock:
                self._make_safe()
                self._file.close()

    @property
    def done(self) -> set[int]:
        """The numbers of the sequences that need not be run again."""
        return {entry.number for entry in self.entries if entry.came != UNDECIDED}

    @property
    def seconds(self) -> float:
        """How long the runs until now took."""
        return max((entry.ended_s for entry in self.entries), default=0.0)

    def add(self, entry: Entry) -> None:
        """Keep an entry.

        Raises:
            OSError: it cannot be written.
        """
        with self._lock:
            self.entries.append(entry)
            if self._file is not None:
                self._write(_line(entry))

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._file is not None  # noqa: S101 - as who calls it has seen
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        if monotonic() - self._safe_s > SAFE_EVERY_S:
            self._make_safe()

    def _make_safe(self) -> None:
        assert self._file is not None  # noqa: S101 - as who calls it has seen
        self._file.flush()
        os.fsync(self._file.fileno())
        self._safe_s = monotonic()


def latest(entries: Iterable[Entry]) -> list[Entry]:
    """The last entry of each number: what was undecided may have been run again."""
    return list({entry.number: entry for entry in entries}.values())


def _whole_lines(data: bytes) -> bytes:
    """What was written whole: a run that was killed may have ended in the middle of a line."""
    return data[: data.rfind(b"\n") + 1]


def _line(entry: Entry) -> dict[str, Any]:
    line: dict[str, Any] = {
        "n": entry.number,
        "stage": entry.stage,
        "steps": entry.steps,
        "came": entry.came,
        "from_s": round(entry.began_s, 3),
        "to_s": round(entry.ended_s, 3),
    }
    if entry.space:
        line["space"] = entry.space
    if entry.shown:
        line["shown"] = {name: list(map(list, hops)) for name, hops in entry.shown.items()}
    if entry.rules:
        line["rules"] = entry.rules
    if entry.sequence is not None:
        line["trace"] = dump(entry.sequence)
    return line


def _read(data: bytes, path: Path, asked: Mapping[str, Any]) -> list[Entry]:
    try:
        lines = [json.loads(line) for line in data.splitlines()]
        if not lines:
            return []
        head = lines[0]
        if head.get("run") != FORMAT:
            _refuse(path, "not what a long run has kept")
        _check_same(path, {**head, "run": FORMAT}, {"run": FORMAT, **asked})
        return [_entry(line, path) for line in lines[1:]]
    except MalformedJournalError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError):
        _refuse(path, "not what a long run has kept")


def _check_same(path: Path, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name, value in now.items():
        if was.get(name) != value:
            _refuse(path, f"of a run whose {name} was {was.get(name)!r}, and not {value!r}")


def _refuse(path: Path, reason: str) -> NoReturn:
    msg = f"{path}: {reason}"
    raise MalformedJournalError(msg)


def _entry(line: Mapping[str, Any], path: Path) -> Entry:
    trace = line.get("trace")
    return Entry(
        int(line["n"]),
        str(line["stage"]),
        int(line["steps"]),
        str(line["came"]),
        float(line["from_s"]),
        float(line["to_s"]),
        {
            str(name): tuple((int(node), int(place)) for node, place in hops)
            for name, hops in line.get("shown", {}).items()
        },
        None if trace is None else parse(trace, str(path)),
        str(line.get("space", "")),
        tuple(map(str, line.get("rules", ()))),
    )
