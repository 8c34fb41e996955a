"""The job of `groupcheck ingest`: reads sources into the tables `events` and `quarantine`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's convention

from groupcheck.pipeline.errors import in_a_line
from groupcheck.pipeline.inputs import (
    EVENTS_KIND,
    ORDER,
    Counts,
    counts_of,
    files_of,
)
from groupcheck.pipeline.kernels import read_files, read_topic
from groupcheck.pipeline.offsets_topic.topic import Topic
from groupcheck.pipeline.output import Output
from groupcheck.pipeline.schemas import EVENTS, READ, for_spark, persisted, rows_of_table
from groupcheck.pipeline.sources import TOPIC_SCHEME, Row

MOST_TASKS: Final = 10_000


class Ingested(NamedTuple):
    """The result of `ingest`."""

    counts: Counts
    groups: int
    reasons: tuple[tuple[str, int], ...]  # the most frequent of quarantine


def read(spark: SparkSession, sources: list[str], time_zone: str = "UTC") -> DataFrame:
    """The rows of `READ` of the sources; a file, or a partition of a topic, is one task.

    Raises:
        PipelineError: a source is missing or has nothing to read, or the time zone is invalid.
    """
    files = files_of(sources, time_zone)
    topics = [Topic.of(each) for each in sources if each.startswith(TOPIC_SCHEME)]
    tables = [of_topic(topic.records(spark), topic.source) for topic in topics]
    if files:
        numbers = numbered(spark, len(files))
        tables.append(numbers.mapInArrow(partial(read_files, files), for_spark(READ)))
    return reduce(DataFrame.union, tables)


def of_topic(records: DataFrame, source: str) -> DataFrame:
    """The rows of `READ` of an offsets topic; a partition is one task."""
    in_order = records.repartition("partition").sortWithinPartitions("partition", "offset")
    return in_order.mapInArrow(partial(read_topic, source), for_spark(READ))


def numbered(spark: SparkSession, files: int) -> DataFrame:
    """The numbers of files, one for each task."""
    return spark.range(0, files, 1, min(files, MOST_TASKS))


def counts_in(rows: DataFrame) -> Counts:
    """The counts in rows of `READ`.

    Raises:
        PipelineError: no line was kept.
    """
    return counts_of(_collected(rows, "file"), _collected(rows, "quarantined", 1))


def _collected(rows: DataFrame, table: str, most: int | None = None) -> Iterator[Row]:
    of_table = rows_of_table(rows, table)
    found = of_table if most is None else of_table.limit(most)
    yield from (row.asDict() for row in found.collect())


def ingest(
    spark: SparkSession, sources: list[str], out: str, *, overwrite: bool, time_zone: str = "UTC"
) -> Ingested:
    """Write the tables of the sources to a folder.

    Raises:
        PipelineError: the message has the reason; there is no folder then.
    """
    output = Output(out)
    output.check(overwrite=overwrite)
    with output.written(EVENTS_KIND) as marked, in_a_line():
        with persisted(read(spark, sources, time_zone)) as rows:
            counts = counts_in(rows)
            events = rows_of_table(rows, "event").repartition("group_id")
            # A group is in one file, whatever the setting for the size of files.
            writer = events.sortWithinPartitions(*ORDER).write.option("maxRecordsPerFile", 0)
            writer.parquet(f"{output.uri}/events")
            quarantined = rows_of_table(rows, "quarantined").coalesce(1)
            quarantined.write.parquet(f"{output.uri}/quarantine")
            rows_of_table(rows, "file").coalesce(1).write.parquet(f"{output.uri}/files")
            written = spark.read.schema(for_spark(EVENTS)).parquet(f"{output.uri}/events")
            groups = written.select("group_id").distinct().count()
            reasons = _most_frequent(quarantined)
        marked["counts"] = counts._asdict()
    return Ingested(counts, groups, reasons)


def _most_frequent(rows: DataFrame) -> tuple[tuple[str, int], ...]:
    """The most frequent values of the column `reason`, and how often each occurs."""
    most = rows.groupBy("reason").count().orderBy(F.desc("count"), "reason").limit(5)
    return tuple((row[0], row[1]) for row in most.collect())
