"""Reads a file as rows of `READ`; its first lines determine the reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from groupcheck.pipeline.logs.files import LogReader, LogSource, is_log
from groupcheck.pipeline.offsets_topic.formatter_text import FormatterReader, is_formatted
from groupcheck.pipeline.offsets_topic.group_records import MOST_EXAMINED, profile_of
from groupcheck.pipeline.offsets_topic.partition_reader import PartitionReader
from groupcheck.pipeline.offsets_topic.segments import Batch, batches
from groupcheck.pipeline.sources import Read, file_row, lines, place, quarantined, segments
from groupcheck.properties.histories.lines import Line, RejectedLineError
from groupcheck.properties.histories.reader import RecordingReader

if TYPE_CHECKING:
    from pyarrow import fs

FIRST: Final = 20  # lines that reveal the kind of a file


def rows_of(source: str, log_source: LogSource | None = None) -> Read:
    """The rows of `READ` of a file, each with the name of its column."""
    if paths := segments(source):
        return SegmentReader(source, place(source)[0], paths).rows()
    found = lines(source)
    first = list(islice(found, FIRST))
    all_lines = chain(first, found)
    if first and is_formatted(first[0]):
        return FormatterReader(source, first[0]).rows(all_lines)
    if is_log(first):
        return LogReader(source, log_source or LogSource()).rows(all_lines)
    return rows_of_recording(source, all_lines)


def rows_of_recording(source: str, lines: Iterator[Line]) -> Read:
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


class SegmentReader:
    """Reads the segments of one partition.

    Args:
        source: the partition's folder, or its one segment, as a URI.
        system: its file system.
        paths: the segments, in the order of their offsets.

    """

    def __init__(self, source: str, system: fs.FileSystem, paths: list[str]) -> None:
        self._system = system
        self._paths = paths
        self._scheme = source.partition("://")[0]
        self._partition = PartitionReader(
            source, self._profile(), int(PurePosixPath(paths[0]).stem)
        )

    def rows(self) -> Read:
        """Each row with the name of its table."""
        for number, path in enumerate(self._paths):
            uri, counts, before = f"{self._scheme}://{path}", Counter[str](), self._partition.events
            for batch in self._batches(path):
                rows, rejected = self._partition.take(batch)
                yield from (("event", row) for row in rows)
                counts["kept"] += len(batch.records) - len(rejected) if batch.next_offset else 0
                counts["quarantined"] += len(rejected)
                for each in rejected:
                    yield "quarantined", {"source": uri, "line": batch.position, **each}
            events, first = self._partition.events - before, int(number == 0)
            yield file_row(uri, counts["kept"], counts["quarantined"], events, sessions=first)

    def _profile(self) -> str:
        """The version that has written the segments, by the first records."""
        records = (
            record
            for path in self._paths
            for batch in self._batches(path)
            for record in batch.records
            if not batch.control
        )
        return profile_of((each.key, each.value) for each in islice(records, MOST_EXAMINED))

    def _batches(self, path: str) -> Iterator[Batch]:
        size = self._system.get_file_info(path).size
        try:
            with self._system.open_input_stream(path, compression=None) as file:
                yield from batches(file, size)
        except OSError as error:
            yield Batch(0, reason=f"cannot be read from here on: {error}")
