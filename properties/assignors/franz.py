"""The assignors of franz-go, in a small program that is built once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from groupcheck.properties.brokers.go import GoProgram

PROGRAM: Final = GoProgram("franz-go", Path(__file__).with_name("franz_main"))


def command(report: Callable[[str], None]) -> list[str]:
    """Return the program and its arguments; builds it once.

    Raises:
        PortUnavailableError: it cannot be built, or the cache is not writable.
    """
    return [str(PROGRAM.built(report))]
