"""Reads a file as rows of `READ`; its first lines say which reader it needs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from groupcheck.pipeline.logs.files import LogReader, Manner, is_log
from groupcheck.pipeline.offsets_topic.formatter_text import FormatterReader, is_formatted
from groupcheck.pipeline.offsets_topic.segment_files import SegmentReader
from groupcheck.pipeline.sources import Row, file_row, lines, place, quarantined, segments
from groupcheck.properties.histories.lines import Line, RejectedLineError
from groupcheck.properties.histories.reader import RecordingReader

FIRST: Final = 20  # lines that reveal the kind of a file


def rows_of(source: str, manner: Manner | None = None) -> Iterator[tuple[str, Row]]:
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


def rows_of_recording(source: str, lines: Iterator[Line]) -> Iterator[tuple[str, Row]]:
    """Each row with the name of its table."""
    reader = RecordingReader(source)
    read = kept = 0
    for line in lines:
        read += 1
        try:
            for row in reader.take(line):
                yield "event", row
            kept += 1
        except RejectedLineError as rejected:
            reader.skip(line, rejected)
            yield "quarantined", quarantined(source, line, str(rejected))
    for row in reader.finish():
        yield "event", row
    yield file_row(source, kept, read - kept, reader.events, sessions=reader.sessions)
