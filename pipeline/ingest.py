"""The job of `groupcheck ingest`: reads sources into the tables `events` and `quarantine`."""

from __future__ import annotations

from functools import partial, reduce
from operator import attrgetter
from typing import Final, NamedTuple

from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.pipeline.errors import PipelineError, in_a_line
from groupcheck.pipeline.kernels import read_files, read_topic
from groupcheck.pipeline.logs.files import Manner
from groupcheck.pipeline.logs.lines import zone
from groupcheck.pipeline.offsets_topic.topic import SCHEME, Topic
from groupcheck.pipeline.output import Output, marker
from groupcheck.pipeline.schemas import EVENTS, READ, persisted, rows_of_table
from groupcheck.pipeline.sources import LOCAL, by_age, files, folder_of, place

ORDER = ("group_id", "source", "session", "seq")
EVENTS_KIND = "events"
MOST_TASKS: Final = 10_000


class Counts(NamedTuple):
    """The lines that were read, and what they contain.

    Each line is `kept` or `quarantined`; `other` are kept lines of logs that are not about groups.
    """

    files: int
    read: int
    kept: int
    quarantined: int
    sessions: int
    events: int
    other: int


class Ingested(NamedTuple):
    """The result of `ingest`."""

    counts: Counts
    groups: int
    reasons: tuple[tuple[str, int], ...]  # the most frequent of quarantine


def read(spark: SparkSession, sources: list[str], time_zone: str = "UTC") -> DataFrame:
    """The rows of `READ` of the sources; a file, or a partition of a topic, is one task.

    All logs among them are of one cluster; `time_zone` is that of times without a zone.

    Raises:
        PipelineError: a source is missing or has nothing to read, or the time zone is invalid.
    """
    zone(time_zone)
    topics = [Topic.of(each) for each in sources if each.startswith(SCHEME)]
    tables = [of_topic(topic.records(spark), topic.source) for topic in topics]
    if len(topics) < len(sources):
        found = by_age(files([each for each in sources if not each.startswith(SCHEME)]))
        together = folder_of(found)
        named = [(each, Manner(together, rank, time_zone)) for rank, each in enumerate(found)]
        tables.append(numbered(spark, len(found)).mapInArrow(partial(read_files, named), READ))
    return reduce(DataFrame.union, tables)


def of_topic(records: DataFrame, source: str) -> DataFrame:
    """The rows of `READ` of an offsets topic; a partition is one task."""
    in_order = records.repartition("partition").sortWithinPartitions("partition", "offset")
    return in_order.mapInArrow(partial(read_topic, source), READ)


def numbered(spark: SparkSession, files: int) -> DataFrame:
    """The numbers of files, one for each task."""
    return spark.range(0, files, 1, min(files, MOST_TASKS))


def counts_of(rows: DataFrame) -> Counts:
    """The sums of the rows of `FILES` among rows of `READ`.

    Raises:
        PipelineError: no line was kept.
    """
    names = Counts._fields[1:]
    sums = [F.coalesce(F.sum(f"file.{name}"), F.lit(0)).alias(name) for name in names]
    one = rows.where("file is not null").agg(F.count("*").alias("files"), *sums).first()
    counts = Counts(*(one or ()))
    if not counts.kept:
        first = rows_of_table(rows, "quarantined").first()
        why = f"{first.source}:{first.line}: {first.reason}" if first else "the input is empty"
        files = "the one file" if counts.files == 1 else f"{counts.files} files"
        of = f" of {files}" if counts.files else ""  # a topic may be empty
        msg = f"nothing could be read{of}: {why}"
        raise PipelineError(msg)
    return counts


def ingest(
    spark: SparkSession, sources: list[str], out: str, *, overwrite: bool, time_zone: str = "UTC"
) -> Ingested:
    """Write the tables of the sources to a folder.

    Raises:
        PipelineError: the message says why not; no folder is left.
    """
    output = Output(out)
    output.check(overwrite=overwrite)
    with output.written(EVENTS_KIND) as marked, in_a_line():
        with persisted(read(spark, sources, time_zone)) as rows:
            counts = counts_of(rows)
            events = rows_of_table(rows, "event").repartition("group_id")
            # A group is in one file, whatever the setting for the size of files.
            whole = events.sortWithinPartitions(*ORDER).write.option("maxRecordsPerFile", 0)
            whole.parquet(f"{output.uri}/events")
            quarantined = rows_of_table(rows, "quarantined").coalesce(1)
            quarantined.write.parquet(f"{output.uri}/quarantine")
            rows_of_table(rows, "file").coalesce(1).write.parquet(f"{output.uri}/files")
            written = spark.read.schema(EVENTS).parquet(f"{output.uri}/events")
            groups = written.select("group_id").distinct().count()
            reasons = most_frequent(quarantined)
        marked["counts"] = counts._asdict()
    return Ingested(counts, groups, reasons)


def most_frequent(rows: DataFrame) -> tuple[tuple[str, int], ...]:
    """The most frequent values of the column `reason`, and how often each occurs."""
    most = rows.groupBy("reason").count().orderBy(F.desc("count"), "reason").limit(5)
    return tuple((row[0], row[1]) for row in most.collect())


def is_ingested(path: str) -> bool:
    """Whether `ingest` has written a folder.

    Raises:
        PipelineError: another version has written it.
    """
    found = None if path.startswith(SCHEME) else marker(path)
    return found is not None and found.get("kind") == EVENTS_KIND


def stored(path: str) -> list[str]:
    """The files of events in a folder of `ingest`; no group is in two of them.

    Raises:
        PipelineError: the folder cannot be read.
    """
    scheme = path.partition("://")[0] + "://" if "://" in path else LOCAL
    system, inside = place(path.rstrip("/"))
    try:
        there = system.get_file_info(fs.FileSelector(f"{inside}/events"))
    except OSError as error:
        msg = f"cannot read {path}/events: {error.strerror or error}"
        raise PipelineError(msg) from error
    files = [each for each in there if each.path.endswith(".parquet")]
    files.sort(key=attrgetter("size"), reverse=True)  # the longest task starts first
    return [f"{scheme}{each.path}" for each in files]
