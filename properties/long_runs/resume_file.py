"""The file from which a long run resumes: JSON Lines, the settings and then a line per sequence."""

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
SYNC_INTERVAL_S: Final = 2.0  # a machine crash may lose the results of this time
CONFORMS, FOUND, UNDECIDED = "conforms", "found", "undecided"


class MalformedResumeFileError(ValueError):
    """The file does not belong to a long run, or to another one; the message says why."""


class Entry(NamedTuple):
    """A completed sequence.

    `covered` has the transitions that it covered first, by model instance, each as node and index;
    `rules` the rules that it applied first, beyond the instances. `sequence` is that of a finding.
    `began_s` and `ended_s` count from the start of the first run.
    """

    number: int
    stage: str
    steps: int
    outcome: str
    began_s: float
    ended_s: float
    covered: Mapping[str, tuple[tuple[int, int], ...]] = {}
    sequence: Sequence | None = None
    space: str = ""
    rules: tuple[str, ...] = ()


class ResumeFile:
    """The entries so far, and the file that gets the next ones; also a context manager.

    Args:
        path: the file, created if it is missing; None stores nothing.
        settings: what must be the same when the run resumes.

    Raises:
        MalformedResumeFileError: the file does not belong to such a run.
        OSError: it cannot be read or written.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, Any]) -> None:
        self.entries: list[Entry] = []
        self._lock = Lock()
        self._file = None
        self._synced_s = monotonic()
        if path is None:
            return
        whole = b""
        if path.exists():
            whole = _whole_lines(path.read_bytes())
            self.entries = _read(whole, path, settings)
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(len(whole))
        self._file.seek(len(whole))
        if not whole:
            self._write({"run": FORMAT, **settings})

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
                self._sync()
                self._file.close()

    @property
    def decided(self) -> set[int]:
        """The numbers of the sequences that are not undecided."""
        return {entry.number for entry in self.entries if entry.outcome != UNDECIDED}

    @property
    def seconds(self) -> float:
        """The duration of the runs so far."""
        return max((entry.ended_s for entry in self.entries), default=0.0)

    def add(self, entry: Entry) -> None:
        """Store an entry.

        Raises:
            OSError: it cannot be written.
        """
        with self._lock:
            self.entries.append(entry)
            if self._file is not None:
                self._write(_line(entry))

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._file is not None  # noqa: S101 - every caller checks it
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        if monotonic() - self._synced_s > SYNC_INTERVAL_S:
            self._sync()

    def _sync(self) -> None:
        assert self._file is not None  # noqa: S101 - every caller checks it
        self._file.flush()
        os.fsync(self._file.fileno())
        self._synced_s = monotonic()


def latest(entries: Iterable[Entry]) -> list[Entry]:
    """Return the last entry of each number: an undecided sequence may run again."""
    return list({entry.number: entry for entry in entries}.values())


def _whole_lines(data: bytes) -> bytes:
    """Drop an incomplete last line, which a killed run leaves behind."""
    return data[: data.rfind(b"\n") + 1]


def _line(entry: Entry) -> dict[str, Any]:
    line: dict[str, Any] = {
        "n": entry.number,
        "stage": entry.stage,
        "steps": entry.steps,
        "outcome": entry.outcome,
        "from_s": round(entry.began_s, 3),
        "to_s": round(entry.ended_s, 3),
    }
    optional = {
        "space": entry.space,
        "covered": {
            name: list(map(list, transitions)) for name, transitions in entry.covered.items()
        },
        "rules": entry.rules,
        "trace": None if entry.sequence is None else dump(entry.sequence),
    }
    return line | {name: value for name, value in optional.items() if value}


def _read(data: bytes, path: Path, settings: Mapping[str, Any]) -> list[Entry]:
    try:
        lines = [json.loads(line) for line in data.splitlines()]
        if not lines:
            return []
        head = lines[0]
        if head.get("run") != FORMAT:
            _refuse(path, "not the resume file of a long run")
        for name, value in settings.items():
            if head.get(name) != value:
                _refuse(path, f"the file's {name} is {head.get(name)!r}, this run's is {value!r}")
        return [_entry(line, path) for line in lines[1:]]
    except MalformedResumeFileError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError):
        _refuse(path, "not the resume file of a long run")


def _refuse(path: Path, reason: str) -> NoReturn:
    msg = f"{path}: {reason}"
    raise MalformedResumeFileError(msg)


def _entry(line: Mapping[str, Any], path: Path) -> Entry:
    trace = line.get("trace")
    return Entry(
        int(line["n"]),
        str(line["stage"]),
        int(line["steps"]),
        str(line["outcome"]),
        float(line["from_s"]),
        float(line["to_s"]),
        {
            str(name): tuple((int(node), int(place)) for node, place in transitions)
            for name, transitions in line.get("covered", {}).items()
        },
        None if trace is None else parse(trace, str(path)),
        str(line.get("space", "")),
        tuple(map(str, line.get("rules", ()))),
    )
