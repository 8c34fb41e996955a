"""A recording as rows of the tables `events`, `quarantine` and `files`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.pipeline.sources import file_row
from groupcheck.properties.histories.lines import Line, RejectedLineError
from groupcheck.properties.histories.reader import RecordingReader

Row = dict[str, Any]
MOST_TEXT: Final = 200  # characters that quarantine has of a line


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


def quarantined(source: str, line: Line, reason: str) -> Row:
    """A row of `quarantine`."""
    text = json.dumps(line.message)[:MOST_TEXT] if line.message is not None else None
    if line.data is not None:
        text = line.data[: 4 * MOST_TEXT].decode(errors="replace").rstrip("\n")[:MOST_TEXT]
    return {"source": source, "line": line.number, "reason": reason, "text": text}
