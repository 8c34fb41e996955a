"""Reads the segments of a partition of the offsets topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from groupcheck.pipeline.offsets_topic.group_records import LOOKED_AT, profile_of
from groupcheck.pipeline.offsets_topic.partition_reader import PartitionReader
from groupcheck.pipeline.offsets_topic.segments import Batch, batches
from groupcheck.pipeline.sources import file_row

if TYPE_CHECKING:
    from pyarrow import fs

Row = dict[str, Any]


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

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Each row with the name of its table."""
        for number, path in enumerate(self._paths):
            uri, counts, before = f"{self._scheme}://{path}", Counter[str](), self._partition.events
            for batch in self._batches(path):
                rows, refused = self._partition.take(batch)
                yield from (("event", row) for row in rows)
                counts["kept"] += len(batch.records) - len(refused) if batch.next_offset else 0
                counts["quarantined"] += len(refused)
                for each in refused:
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
        return profile_of((each.key, each.value) for each in islice(records, LOOKED_AT))

    def _batches(self, path: str) -> Iterator[Batch]:
        size = self._system.get_file_info(path).size
        try:
            with self._system.open_input_stream(path, compression=None) as file:
                yield from batches(file, size)
        except OSError as error:
            yield Batch(0, reason=f"cannot be read from here on: {error}")
