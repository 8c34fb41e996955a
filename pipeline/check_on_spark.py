"""`groupcheck check` on Spark: a partition of histories, or a file of `ingest`, is a task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from groupcheck.pipeline.check import TABLES, Request, Sums
from groupcheck.pipeline.errors import in_a_line
from groupcheck.pipeline.ingest_on_spark import counts_in, numbered, read
from groupcheck.pipeline.inputs import ORDER, is_ingested, stored
from groupcheck.pipeline.kernels import replay, replay_files
from groupcheck.pipeline.output import Output
from groupcheck.pipeline.schemas import CHECKED, for_spark, persisted, rows_of_table
from groupcheck.pipeline.summary import Summary, added

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def on_spark(spark: SparkSession, asked: Request, output: Output | None) -> Sums:
    """Check on Spark.

    Raises:
        PipelineError: the message has the reason.
    """
    with in_a_line():
        if is_ingested(asked.sources):
            return Sums(
                "spark", _written(check_files(spark, asked.sources[0], asked.profile), output)
            )
        with persisted(read(spark, asked.sources, asked.time_zone)) as rows:
            counts = counts_in(rows)
            checked = check_events(rows_of_table(rows, "event"), asked.profile)
            summary = _written(checked, output)
            if output is not None:
                _write(rows, "quarantined", f"{output.uri}/quarantine")
            return Sums("spark", summary, counts)


def check_events(events: DataFrame, profile: str | None = None) -> DataFrame:
    """Rows of `CHECKED` for the histories in rows of `EVENTS`.

    They are checked against the version of their sources, unless `profile` names another.
    """
    in_order = events.repartition("group_id").sortWithinPartitions(*ORDER)
    return in_order.mapInArrow(partial(replay, profile=profile), for_spark(CHECKED))


def check_files(spark: SparkSession, path: str, profile: str | None = None) -> DataFrame:
    """The same for a folder that `ingest` has written, which is sorted already.

    Each file is a task, which reads it with Arrow: sorting it again, or sending every row through
    the JVM, would take longer than the check.
    """
    files, schema = stored(path), for_spark(CHECKED)
    return numbered(spark, len(files)).mapInArrow(partial(replay_files, files, profile), schema)


def _written(checked: DataFrame, output: Output | None) -> Summary:
    """Write the tables, if there is an output, and return the sums."""
    if output is None:  # nothing is read twice
        return _summed(checked)
    with persisted(checked) as rows:
        summary = _summed(rows)  # first: a table is written by one task, which would check alone
        for column, name in TABLES.items():
            _write(rows, column, f"{output.uri}/{name}")
        return summary


def _summed(checked: DataFrame) -> Summary:
    return added(row["pickled"] for row in rows_of_table(checked, "summary").collect())


def _write(rows: DataFrame, column: str, uri: str) -> None:
    rows_of_table(rows, column).coalesce(1).write.parquet(uri)
