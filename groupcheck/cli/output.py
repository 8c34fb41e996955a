"""The output of commands: text and JSON, buffered, with colours on a terminal; saved results."""

from __future__ import annotations

import io
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.cli.exit_status import ending_with_message

if TYPE_CHECKING:
    from groupcheck.reports.command_records import Took
    from groupcheck.reports.record import ResultRecord


def print_text(text: str) -> None:
    """Print text, with colours if enabled."""
    from groupcheck.reports.colours import painted, wanted

    sys.stdout.write(painted(text) if wanted(sys.stdout) else text)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=1) + "\n")


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
