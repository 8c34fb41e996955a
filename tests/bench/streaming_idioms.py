"""The idioms for per-group state in a stream, each with the same replay on the same events.

`python tests/bench/streaming_idioms.py`, some minutes; Spark's own two want `pip install protobuf`.
Events come in files, one a batch; what waits of each group between them is the frozen replay. Each
idiom has to come to the same findings. Seconds of processor are told beside the time, as other work
on the machine does not count in them. Spark's start is left out.

With `--groups 400 --events 200` (80,000 events in 4 batches), Spark 4.3, Java 17, Python 3.11, on
two cores that other programs used at the same time:

foreachBatch, mapInArrow, buckets      35.5 s   19.3 s of processor    4,163 events/s
applyInPandasWithState                 56.4 s   25.6 s of processor    3,139 events/s
transformWithStateInPandas             33.3 s   28.1 s of processor    2,866 events/s

The first is taken: Spark's own call Python once for each group of a batch, and carry what is frozen
of it through the JVM; and `transformWithStateInPandas` wants one package more.
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

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from groupcheck.pipeline.following.buckets import Following
from groupcheck.pipeline.following.stream import gone_on
from groupcheck.pipeline.ingest import ORDER
from groupcheck.pipeline.recordings.events import Event
from groupcheck.pipeline.recordings.frozen import freeze, thaw
from groupcheck.pipeline.recordings.replay import Replay
from groupcheck.pipeline.recordings.traces import TraceReader
from groupcheck.pipeline.schemas import EVENTS, arrow
from groupcheck.pipeline.session import session
from groupcheck.pipeline.sources import lines
from support.made_recordings import Wanted, recordings
from support.processes import TICKS, family, ticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OUT = "group_id string, line long"
STATE = "replay binary"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
Findings = set[tuple[str, int]]


def replayed(frozen: bytes | None, frames: Iterator[pd.DataFrame]) -> tuple[bytes, pd.DataFrame]:
    """The replay of a group after more events, and what is unlawful of them."""
    table = pa.Table.from_pandas(pd.concat(list(frames)), arrow(EVENTS), preserve_index=False)
    table = table.sort_by([(name, "ascending") for name in ORDER])
    events = [Event(**row) for row in table.to_pylist()]
    replay: Replay = Replay(events[0]) if frozen is None else thaw(frozen)
    was = replay.rejected
    for event in events:
        replay.take(event)
    again, told = freeze(replay), []
    if replay.rejected and not was:
        found = (row for name, row in replay.end() if name == "finding")
        told = [(row["group_id"], row["line"]) for row in found]
    return again, pd.DataFrame(told, columns=["group_id", "line"])


def with_state_in_pandas(events: DataFrame) -> DataFrame:
    """`applyInPandasWithState`: a call for each group in a batch, its state as a row."""

    def one(_: Any, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        frozen, told = replayed(bytes(state.get[0]) if state.exists else None, frames)
        state.update((frozen,))
        yield told

    by_group = events.groupBy("group_id")
    return by_group.applyInPandasWithState(one, OUT, STATE, "append", "NoTimeout")


class Processor(StatefulProcessor):
    """What `transformWithStateInPandas` calls."""

    def init(self, handle: Any) -> None:
        """Name the state."""
        self._replay = handle.getValueState("replay", STATE)

    def handleInputRows(  # noqa: N802 - Spark's name
        self, _key: Any, rows: Iterator[pd.DataFrame], _timers: Any
    ) -> Iterator[pd.DataFrame]:
        """Go on by the rows of a group in a batch."""
        frozen = bytes(self._replay.get()[0]) if self._replay.exists() else None
        again, told = replayed(frozen, rows)
        self._replay.update((again,))
        yield told

    def close(self) -> None:
        """Nothing is held."""


def transformed_with_state(events: DataFrame) -> DataFrame:
    """`transformWithStateInPandas`: a call for each group in a batch, its state asked for."""
    by_group = events.groupBy("group_id")
    return by_group.transformWithStateInPandas(Processor(), OUT, "append", "None")


def by_spark(
    idiom: Callable[[DataFrame], DataFrame],
) -> Callable[[SparkSession, Path, Path], Findings]:
    """An idiom of Spark's, from file to file."""

    def run(spark: SparkSession, arriving: Path, scratch: Path) -> Findings:
        files = spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1)
        rows = idiom(files.parquet(str(arriving)))
        found: Findings = set()

        def batch(told: DataFrame, _number: int) -> None:
            found.update((row.group_id, row.line) for row in told.collect())

        writer = rows.writeStream.foreachBatch(batch).outputMode("append")
        writer = writer.option("checkpointLocation", str(scratch / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return found

    return run


def by_buckets(spark: SparkSession, arriving: Path, scratch: Path) -> Findings:
    """What `check --follow` does: `foreachBatch`, and the state in files by bucket."""
    found: Findings = set()

    def batch(events: DataFrame, number: int) -> None:
        how = Following(str(scratch / "waiting"), number, time.time(), 3_600, None, "2.7")
        told = gone_on(events, how).where("finding is not null").select("finding.*")
        found.update((row.group_id, row.line) for row in told.select("group_id", "line").collect())

    files = spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1)
    writer = files.parquet(str(arriving)).writeStream.foreachBatch(batch)
    writer = writer.option("checkpointLocation", str(scratch / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return found


IDIOMS: dict[str, Callable[[SparkSession, Path, Path], Findings]] = {
    "foreachBatch, mapInArrow, buckets": by_buckets,
    "applyInPandasWithState": by_spark(with_state_in_pandas),
    "transformWithStateInPandas": by_spark(transformed_with_state),
}


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=100, help="of each group")
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--only", nargs="*", default=[*IDIOMS])
    options = parser.parse_args()
    conf = {
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.streaming.stateStore.providerClass": ROCKS,
    }
    with (
        tempfile.TemporaryDirectory(prefix="streaming-") as name,
        session("local[2]", conf) as spark,
    ):
        scratch = Path(name)
        unlawful, number = made(scratch, options.groups, options.events, options.files)
        spark.range(1_000).repartition(4).mapInArrow(_imported, "id long").count()
        for idiom in options.only:
            (scratch / idiom).mkdir()
            began, before = time.monotonic(), _processor_s()
            found = IDIOMS[idiom](spark, scratch / "arriving", scratch / idiom)
            seconds, took_s = time.monotonic() - began, _processor_s() - before
            assert found == unlawful, (idiom, len(found), len(unlawful))
            rate = number / took_s
            sys.stdout.write(
                f"{idiom:<36} {seconds:6.1f} s {took_s:6.1f} s of processor {rate:8,.0f} events/s\n"
            )
            sys.stdout.flush()


def _imported(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The worker has imported what each idiom needs."""
    freeze(())
    yield from batches


def made(scratch: Path, groups: int, events: int, files: int) -> tuple[Findings, int]:
    """Files of events in the order in which they happened: what is unlawful, and how many."""
    sources, arriving = scratch / "sources", scratch / "arriving"
    sources.mkdir()
    arriving.mkdir()
    written = recordings(sources, Wanted(groups, events, 1, groups // 20))
    (path,) = sources.iterdir()
    rows = [row for name, row in TraceReader(str(path)).rows(lines(str(path))) if name == "event"]
    table = pa.Table.from_pylist(rows, arrow(EVENTS))
    for number in range(files):
        begin, end = len(rows) * number // files, len(rows) * (number + 1) // files
        pq.write_table(table.slice(begin, end - begin), arriving / f"{number}.parquet")
    return {(group, line) for group, (_, line) in written.unlawful.items()}, len(rows)


def _processor_s() -> float:
    """The seconds of processor of this and of what Spark has started so far."""
    return sum(map(ticks, family(os.getpid()))) / TICKS


if __name__ == "__main__":
    main()
