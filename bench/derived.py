"""The time that the cache of derived values saves: `python bench/derived.py`.

Derives each value in an empty cache, and reads it in the same run: seconds of CPU, their ratio, and
the size. For each version these are the state spaces of `groupcheck verify`, and the data of
`groupcheck check` for logs, the offsets topic and the table of transitions.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from groupcheck import cache
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.pipeline.logs.automaton import automaton
from groupcheck.pipeline.offsets_topic.appends import appends
from groupcheck.pipeline.transitions import transitions
from groupcheck.properties.explored import space_of, steps_of, virtual
from groupcheck.properties.result import Settings


def spaces(version: str) -> None:
    """The instances of a verification with the defaults, and what their transitions change."""
    profile = PROFILES[version]
    for instance in virtual(profile, Settings(version)).values():
        steps_of(space_of(instance), profile)


VALUES: Final[dict[str, Callable[[str], Any]]] = {
    "state spaces": spaces,
    "logs": automaton.__wrapped__,
    "offsets topic": appends.__wrapped__,
    "transitions": transitions.__wrapped__,
}


def main() -> None:
    """Print the table."""
    sys.stdout.write(f"{'':22} {'derived s':>10} {'read s':>8} {'ratio':>6} {'kB':>8}\n")
    for version in PROFILES:
        for name, make in VALUES.items():
            with tempfile.TemporaryDirectory() as folder:
                row = measured(lambda: make(version), Path(folder))  # noqa: B023 - called at once
            derived_s, read_s, size = row
            sys.stdout.write(
                f"{version:<8}{name:<14} {derived_s:10.2f} {read_s:8.2f} "
                f"{derived_s / read_s:6.0f} {size / 1e3:8,.0f}\n"
            )


def measured(make: Callable[[], object], folder: Path) -> tuple[float, float, int]:
    """Seconds of CPU to derive and to read, and the size in bytes."""
    seconds = []
    with patch.object(cache, "cache_folder", lambda: folder):
        for _ in range(2):
            began = time.process_time()
            make()
            seconds.append(time.process_time() - began)
    size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    return seconds[0], seconds[1], size


if __name__ == "__main__":
    main()
