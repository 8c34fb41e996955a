"""Which reader a file is for; how each kind of file is read is in the module of its reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.pipeline.sources import lines
from groupcheck.pipeline.traces import TraceReader


def rows_of(source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of `READ` that a file holds, each with the name of its column."""
    return TraceReader(source).rows(lines(source))
