"""Sorted files of events, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from support.needs import needs_packages

needs_packages("pyarrow")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from groupcheck.pipeline import sorted_events  # noqa: E402
from groupcheck.pipeline.schemas import EVENTS, columns_of  # noqa: E402
from groupcheck.pipeline.sorted_events import Runs, write_sorted  # noqa: E402
from groupcheck.properties.histories.events import Event  # noqa: E402


def written(events: list[Event], folder: Path) -> list[str]:
    """The groups that are returned for events in batches of ten."""
    runs = Runs()
    for start in range(0, len(events), 10):
        columns = columns_of(events[start : start + 10], EVENTS)
        runs.add(pa.record_batch(columns, EVENTS))
    return list(write_sorted(runs, f"file://{folder}/events/part"))


def stored(folder: Path) -> list[list[Event]]:
    """The events of each file."""
    paths = sorted((folder / "events").glob("*.parquet"))
    return [[Event(**row) for row in pq.read_table(path).to_pylist()] for path in paths]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Events of several groups and sessions, many runs of them, and several files."""
    monkeypatch.setattr(sorted_events, "MOST_BYTES", 2_000)
    monkeypatch.setattr(sorted_events, "MOST_IN_FILE", 40)
    groups = Random(3).choices("abcdé", weights=(60, 20, 10, 5, 5), k=300)
    return [
        Event(group, "file:///x", 1 + seq // 200, seq, seq, 0, "open", body="{}" * (seq % 7))
        for seq, group in enumerate(groups)
    ]


def test_files_are_sorted_and_each_group_is_in_one(made: list[Event], tmp_path: Path) -> None:
    assert written(made, tmp_path) == list("abcdé")
    files = stored(tmp_path)
    assert len(files) > 1
    assert [event for file in files for event in file] == sorted(made, key=lambda each: each[:4])
    groups = [{event.group_id for event in file} for file in files]
    assert sum(map(len, groups)) == len(set("abcdé"))


def test_a_group_that_is_not_in_order_is_returned_again(made: list[Event], tmp_path: Path) -> None:
    late = [event._replace(seq=event.seq - 290) if event.seq > 295 else event for event in made]
    found = written(late, tmp_path)
    again = {event.group_id for event in made if event.seq > 295}
    assert {group for group in found if found.count(group) > 1} <= again
    assert len(found) > len(set(found))


def test_the_temporary_file_is_in_the_folder_of_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/none,/tmp")
    with pytest.raises(FileNotFoundError):
        Runs()


def test_without_events_there_is_no_file(tmp_path: Path) -> None:
    assert written([], tmp_path) == []
    assert stored(tmp_path) == []
