"""The idioms of a stateful replay on Spark, each with the project's own oracle on the same events.

`python tests/bench/pipeline_idioms.py`, some minutes. Each idiom has to come to the same verdicts.
Processor seconds are told beside the time, as other work on the machine does not count in them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa

from groupcheck.pipeline.check import judged
from groupcheck.pipeline.ingest import ORDER, events_of, read
from groupcheck.pipeline.kernels import replay
from groupcheck.pipeline.schemas import JUDGED
from groupcheck.pipeline.session import session
from support.made_recordings import Wanted, recordings
from support.processes import TICKS, family, ticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PARTITIONS = 8


def a_group_a_call_in_pandas(events: DataFrame) -> DataFrame:
    """`applyInPandas`: a data frame for each group, sorted inside."""

    def one(frame: Any) -> Any:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        return _replayed(table).to_pandas()

    return events.groupBy("group_id").applyInPandas(one, JUDGED)


def a_group_a_call_in_arrow(events: DataFrame) -> DataFrame:
    """`applyInArrow`: a table for each group, sorted inside."""
    return events.groupBy("group_id").applyInArrow(_replayed, JUDGED)


def partitions_sorted_in_the_worker(events: DataFrame) -> DataFrame:
    """`mapInArrow` on whole partitions, sorted by Arrow: a partition has to fit into memory."""

    def whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if found:
            yield from _replayed(pa.Table.from_batches(found)).to_batches()

    return events.repartition(PARTITIONS, "group_id").mapInArrow(whole, JUDGED)


def _replayed(table: pa.Table) -> pa.Table:
    in_order = table.sort_by([(name, "ascending") for name in ORDER])
    return pa.Table.from_batches(replay(in_order.to_batches(10_000)))


IDIOMS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "sorted partitions, mapInArrow": judged,
    "partitions sorted in the worker": partitions_sorted_in_the_worker,
    "applyInArrow": a_group_a_call_in_arrow,
    "applyInPandas": a_group_a_call_in_pandas,
}


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=100, help="of each group")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="pipeline-") as scratch,
        session("local[2]", {"spark.sql.shuffle.partitions": str(PARTITIONS)}) as spark,
    ):
        made = recordings(Path(scratch), Wanted(options.groups, options.events, 4, 10))
        events = events_of(read(spark, [scratch])).persist()
        events.count()
        for name, idiom in IDIOMS.items():
            began, before = time.monotonic(), _workers_s()
            rows = idiom(events).where("finding is not null").count()
            seconds = time.monotonic() - began
            assert rows == len(made.unlawful), name
            rate, took_s = made.events / seconds, _workers_s() - before
            sys.stdout.write(
                f"{name:<32} {seconds:6.1f} s {rate:8,.0f} events/s {took_s:6.1f} s of processor\n"
            )
            sys.stdout.flush()


def _workers_s() -> float:
    """The processor seconds of what Spark has started so far, JVM and Python workers."""
    return sum(map(ticks, family(os.getpid())[1:])) / TICKS


if __name__ == "__main__":
    main()
