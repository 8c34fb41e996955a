"""The output of commands: text and JSON, buffered, with colours on a terminal; saved results."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from groupcheck.cli.exit_status import ending_with_message

if TYPE_CHECKING:
    from groupcheck.reports.command_records import Took
    from groupcheck.reports.record import ResultRecord

Run = TypeVar("Run")


def print_text(text: str) -> None:
    """Print text, with colours if enabled."""
    from groupcheck.reports.colours import painted, wanted

    sys.stdout.write(painted(text) if wanted(sys.stdout) else text)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=1) + "\n")


def print_run(
    run: Run, to_json: Callable[[Run], object], to_text: Callable[[Run], str], *, as_json: bool
) -> None:
    """Print the result of a command."""
    if as_json:
        print_json(to_json(run))
    else:
        print_text(to_text(run))


def save_findings(folder: Path | None, findings: Mapping[str, Callable[[Path], None]]) -> None:
    """Have each finding write a file of its own to a folder, if one is given.

    Raises:
        CommandError: it cannot be written.
    """
    if folder is not None:
        with ending_with_message(action=f"write to {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
            for finding_id, write in findings.items():
                write(folder / f"finding_{finding_id}.json")


def print_record(saved: ResultRecord) -> None:
    """Print a result as JSON."""
    from groupcheck.reports.record_file import as_text

    sys.stdout.write(as_text(saved))


class BufferedOutput(io.StringIO):
    """The output of a command, printed when the command ends; a terminal if stdout is one."""

    def __init__(self) -> None:
        super().__init__()
        self._goes_to = sys.stdout

    def isatty(self) -> bool:
        """Whether the output goes to a terminal."""
        return self._goes_to is not None and self._goes_to.isatty()


class Stopwatch:
    """Measures the time since the start of a command."""

    def __init__(self) -> None:
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._since = time.monotonic()

    def took(self) -> Took:
        """The start and the duration until now."""
        from groupcheck.reports.command_records import Took

        return Took(self._started, time.monotonic() - self._since)


def save(saved: ResultRecord, path: Path, status: int) -> None:
    """Write a result to a file.

    Raises:
        CommandError: it cannot be written; `status` is the exit status of the command.
    """
    from groupcheck.reports.record_file import as_text

    with ending_with_message(action=f"write the result to {path}", status=status):
        path.write_text(as_text(saved), encoding="utf-8")
