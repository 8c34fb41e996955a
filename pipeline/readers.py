"""Which reader a file is for; how each kind of file is read is in the module of its reader."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

from groupcheck.pipeline.logs.files import LogReader, Manner, is_log
from groupcheck.pipeline.offsets_topic.formatter_text import FormatterReader, is_formatted
from groupcheck.pipeline.offsets_topic.segment_files import SegmentReader
from groupcheck.pipeline.recordings.traces import TraceReader
from groupcheck.pipeline.sources import lines, place, segments

FIRST: Final = 20  # lines that are looked at, to see what a file is


def rows_of(source: str, manner: Manner | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of `READ` that a file holds, each with the name of its column."""
    if paths := segments(source):
        return SegmentReader(source, place(source)[0], paths).rows()
    found = lines(source)
    first = list(islice(found, FIRST))
    whole = chain(first, found)
    if first and is_formatted(first[0]):
        return FormatterReader(source, first[0]).rows(whole)
    if is_log(first):
        return LogReader(source, manner or Manner()).rows(whole)
    return TraceReader(source).rows(whole)
