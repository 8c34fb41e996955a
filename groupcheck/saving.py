"""How `replay`, `check` and `explore` save what they came to, for `groupcheck report`."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.status import CONFORMS, DIVERGES, IMPOSSIBLE, ImpossibleError

if TYPE_CHECKING:
    from groupcheck.model.exploring.exploration import Exploration
    from groupcheck.properties.laws.law import Law
    from groupcheck.properties.laws.laws import Counterexample
    from groupcheck.reports.saved import Saved
    from groupcheck.reports.told_otherwise import Took


def add_save(command: argparse.ArgumentParser) -> None:
    """The option by which a result is saved."""
    command.add_argument(
        "--save", metavar="FILE", type=Path, help="write the result there, for groupcheck report"
    )


class Watch:
    """Says when a command began and how long it took."""

    def __init__(self) -> None:
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._since = time.monotonic()

    def took(self) -> Took:
        """Until now."""
        from groupcheck.reports.told_otherwise import Took

        return Took(self._started, time.monotonic() - self._since)


def save(saved: Saved, path: Path, status: int) -> None:
    """Write a result to a file; `status` is what its command comes to.

    Raises:
        ImpossibleError: it cannot be written; what was found was found.
    """
    from groupcheck.reports.saved_file import as_text

    try:
        path.write_text(as_text(saved), encoding="utf-8")
    except OSError as error:
        msg = f"cannot write the result to {path}: {error.strerror}"
        raise ImpossibleError(msg, status or IMPOSSIBLE) from error


def finish_exploration(
    exploration: Exploration,
    broken: list[Counterexample] | None,
    asked: tuple[Law, ...],
    path: Path | None,
    watch: Watch,
) -> int:
    """The status of an exploration, which is saved if it is said where.

    Raises:
        ImpossibleError: it cannot be written.
    """
    from groupcheck.reports.told_otherwise import explore as told

    wrong = exploration.errors or any(each.known is None for each in broken or ())
    status = DIVERGES if wrong else CONFORMS
    if path is not None:
        save(told(exploration, broken, asked, watch.took()), path, status)
    return status
