"""`groupcheck ingest` on Spark: a task reads a file, sorts its events, and writes them.

Spark itself sorts the events only if a group is in several files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's convention

from groupcheck.pipeline.errors import in_a_line
from groupcheck.pipeline.ingest import MOST_REASONS, Ingested, Request
from groupcheck.pipeline.inputs import ORDER, Counts, counts_of, files_of
from groupcheck.pipeline.kernels import read_files, read_topic
from groupcheck.pipeline.offsets_topic.topic import Topic
from groupcheck.pipeline.output import Output
from groupcheck.pipeline.schemas import (
    EVENTS,
    INGESTED,
    READ,
    for_spark,
    persisted,
    rows_of_table,
)
from groupcheck.pipeline.sources import TOPIC_SCHEME, Row

if TYPE_CHECKING:
    import pyarrow as pa

    Kernel = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

MOST_TASKS: Final = 10_000


def read(
    spark: SparkSession, sources: list[str], time_zone: str, folder: str | None = None
) -> DataFrame:
    """The rows of the sources; a file, or a partition of a topic, is one task.

    These are rows of `READ`; with a folder the tasks write the events to it, and return rows of
    `INGESTED`.

    Raises:
        PipelineError: a source is missing or has nothing to read, or the time zone is invalid.
    """
    files = files_of(sources, time_zone)
    topics = [Topic.of(each) for each in sources if each.startswith(TOPIC_SCHEME)]
    tables = [of_topic(topic.records(spark), topic.source, folder) for topic in topics]
    if files:
        numbers = numbered(spark, len(files))
        tables.append(_read(numbers, partial(read_files, files, folder), folder))
    return reduce(DataFrame.union, tables)


def of_topic(records: DataFrame, source: str, folder: str | None = None) -> DataFrame:
    """The rows of records of an offsets topic, as `read` has them; a partition is one task."""
    in_order = records.repartition("partition").sortWithinPartitions("partition", "offset")
    return _read(in_order, partial(read_topic, source, folder), folder)


def _read(rows: DataFrame, kernel: Kernel, folder: str | None) -> DataFrame:
    return rows.mapInArrow(kernel, for_spark(READ if folder is None else INGESTED))


def numbered(spark: SparkSession, files: int) -> DataFrame:
    """The numbers of files, one for each task."""
    return spark.range(0, files, 1, min(files, MOST_TASKS))


def counts_in(rows: DataFrame) -> Counts:
    """The counts in rows of `READ` or `INGESTED`.

    Raises:
        PipelineError: no line was kept.
    """
    return counts_of(_collected(rows, "file"), _collected(rows, "quarantined", 1))


def _collected(rows: DataFrame, table: str, most: int | None = None) -> Iterator[Row]:
    of_table = rows_of_table(rows, table)
    found = of_table if most is None else of_table.limit(most)
    yield from (row.asDict() for row in found.collect())


def on_spark(spark: SparkSession, asked: Request, output: Output) -> Ingested:
    """Read the sources on Spark.

    Raises:
        PipelineError: the message has the reason.
    """
    events = f"{output.uri}/events"
    with (
        in_a_line(),
        persisted(read(spark, asked.sources, asked.time_zone, events)) as rows,
    ):
        counts = counts_in(rows)
        quarantined = rows_of_table(rows, "quarantined").coalesce(1)
        quarantined.write.parquet(f"{output.uri}/quarantine")
        rows_of_table(rows, "file").coalesce(1).write.parquet(f"{output.uri}/files")
        times = rows_of_table(rows, "group").groupBy("group_id").count()
        groups, most = times.agg(F.count("*"), F.max("count")).first() or (0, 0)
        if not groups:
            output.write("events", [], EVENTS)
        elif most > 1:
            _sort(spark, events, f"{output.uri}/sorted")
            output.replace("events", "sorted")
        reasons = _most_frequent(quarantined)
    return Ingested(counts, groups, reasons)


def _sort(spark: SparkSession, events: str, to: str) -> None:
    """Write events so that each group is in one file, and sorted."""
    rows = spark.read.schema(for_spark(EVENTS)).parquet(events).repartition("group_id")
    # A group is in one file, whatever the setting for the size of files.
    writer = rows.sortWithinPartitions(*ORDER).write.option("maxRecordsPerFile", 0)
    writer.parquet(to)


def _most_frequent(rows: DataFrame) -> tuple[tuple[str, int], ...]:
    """The most frequent values of the column `reason`, and how often each occurs."""
    most = rows.groupBy("reason").count().orderBy(F.desc("count"), "reason").limit(MOST_REASONS)
    return tuple((row[0], row[1]) for row in most.collect())
