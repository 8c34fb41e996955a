"""The sums of a check are the same however the groups are divided into partitions."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.properties.histories.events import Event
from support.made_recordings import Wanted, recordings
from support.needs import needs_packages

needs_packages("pyarrow")

from groupcheck.pipeline import summary  # noqa: E402
from groupcheck.pipeline.kernels import replayed  # noqa: E402
from groupcheck.pipeline.readers import rows_of_recording  # noqa: E402
from groupcheck.pipeline.sources import lines  # noqa: E402
from groupcheck.pipeline.summary import added  # noqa: E402
from support.replayed import batch  # noqa: E402

GROUPS = 12


@cache
def groups() -> list[list[Event]]:
    """The events of each group of two recordings that have the same groups."""
    with TemporaryDirectory() as folder:
        recordings(Path(folder), Wanted(GROUPS, 60, files=1, violations=4, seed=2, kinds=6))
        (path,) = Path(folder).glob("*.jsonl")
        rows = [row for table, row in rows_of_recording("a", lines(str(path))) if table == "event"]
    events = sorted(row._replace(source=source) for row in rows for source in "ab")
    return [list(of_group) for _, of_group in groupby(events, key=attrgetter("group_id"))]


def sums(partition: list[list[Event]]) -> bytes:
    (last,) = (row for table, row in replayed(map(batch, partition)) if table == "summary")
    pickled: bytes = last["pickled"]
    return pickled


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(st.integers(0, 3), min_size=GROUPS, max_size=GROUPS), st.integers(1, 5))
def test_partitions_add_up_to_the_whole(places: list[int], most: int) -> None:
    """With limits that omit some of the findings, groups and rebalances."""
    limits: dict[str, Any] = dict.fromkeys(
        ("MOST_FINDINGS", "MOST_NAMED", "MOST_GROUPS", "MOST_REBALANCES"), most
    )
    with patch.multiple(summary, **limits):
        whole = added([sums(groups())])
        parts = [
            [group for at, group in zip(places, groups(), strict=True) if at == place]
            for place in range(4)
        ]
        together = added(map(sums, parts))
    assert together == whole
    assert whole.histories.total() == 2 * GROUPS
    assert len(whole.findings) == min(8, most)
    assert len(whole.timelines) == min(2 * GROUPS, most)
    assert all(len(each.rows) <= most for each in whole.timelines)
