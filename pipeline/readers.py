"""Chooses the reader of a file by its first lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

from groupcheck.pipeline.logs.files import LogReader, Manner, is_log
from groupcheck.pipeline.offsets_topic.formatter_text import FormatterReader, is_formatted
from groupcheck.pipeline.offsets_topic.segment_files import SegmentReader
from groupcheck.pipeline.recordings.reader import rows_of_recording
from groupcheck.pipeline.sources import lines, place, segments

FIRST: Final = 20  # lines that reveal the kind of a file


def rows_of(source: str, manner: Manner | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of `READ` of a file, each with the name of its column."""
    if paths := segments(source):
        return SegmentReader(source, place(source)[0], paths).rows()
    found = lines(source)
    first = list(islice(found, FIRST))
    whole = chain(first, found)
    if first and is_formatted(first[0]):
        return FormatterReader(source, first[0]).rows(whole)
    if is_log(first):
        return LogReader(source, manner or Manner()).rows(whole)
    return rows_of_recording(source, whole)
