"""Save the result of `replay`, `check` and `explore`, for `groupcheck report`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.cli.exit_status import ending_with_message

if TYPE_CHECKING:
    from groupcheck.reports.command_records import Took
    from groupcheck.reports.record import ResultRecord


class Stopwatch:
    """Knows when a command started."""

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
