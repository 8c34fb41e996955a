"""How `replay`, `check` and `explore` save what they came to, for `groupcheck report`.

What `explore` comes to is told here, too: it is the same of both engines.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from groupcheck.status import CONFORMS, DIVERGES, IMPOSSIBLE, ImpossibleError
from groupcheck.telling import tell

if TYPE_CHECKING:
    from groupcheck.model.exploring.exploration import Exploration
    from groupcheck.properties.generators.suite import Suite
    from groupcheck.properties.laws.laws import Counterexample
    from groupcheck.reports.saved import Saved
    from groupcheck.reports.told_otherwise import Took


class CameOfExploring(NamedTuple):
    """What an exploration came to: `broken` are the laws that do not hold, None if none were asked.

    `files` were written, and `suites` of tests by the names of their spaces.
    """

    exploration: Exploration
    broken: list[Counterexample] | None
    files: list[Path]
    suites: Mapping[str, Suite]


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


def finish_exploration(came: CameOfExploring, options: argparse.Namespace, watch: Watch) -> int:
    """Tell what came of an exploration, and save it if it is said where; its status.

    Raises:
        ImpossibleError: it cannot be written.
    """
    from groupcheck.reports.exploration import as_json, summary
    from groupcheck.reports.exploration_details import details
    from groupcheck.reports.told_otherwise import explore as told

    exploration, broken, files, suites = came
    if options.json:
        sys.stdout.write(json.dumps(as_json(exploration, broken), indent=1) + "\n")
    else:
        more = details(exploration, broken) if options.verbose else ""
        tell(summary(exploration, files, broken, suites) + more)
    wrong = exploration.errors or any(each.known is None for each in broken or ())
    status = DIVERGES if wrong else CONFORMS
    if options.save is not None:
        save(told(exploration, broken, watch.took()), options.save, status)
    return status
