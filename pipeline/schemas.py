"""The schemas of the tables; docs/tables.md describes the columns."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

STRING, LONG, INT, BOOL = pa.string(), pa.int64(), pa.int32(), pa.bool_()
BINARY = pa.binary()


def table(columns: Mapping[str, pa.DataType], null: Container[str] = ()) -> pa.Schema:
    """A table of these columns; those in `null` may be null."""
    return pa.schema([pa.field(name, kind, name in null) for name, kind in columns.items()])


def one_of(**tables: pa.Schema) -> pa.Schema:
    """Rows of several tables in one stream: in each row one column is set."""
    return pa.schema([pa.field(name, pa.struct(list(each))) for name, each in tables.items()])


def list_of(kind: pa.DataType) -> pa.DataType:
    """Lists of values, none of which is null."""
    return pa.list_(pa.field("element", kind, nullable=False))


def for_spark(schema: pa.Schema) -> StructType:
    """The schema for Spark."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - only Spark needs it

    return from_arrow_schema(schema)


def columns_of(rows: Sequence[Any], fields: Iterable[pa.Field]) -> list[pa.Array]:
    """The columns of rows; a value that a row does not have is null; tuples have all values."""
    fields = list(fields)
    columns: Iterable[Iterable[Any]] = zip(*rows, strict=True)
    if not (rows and isinstance(rows[0], tuple)):
        columns = ([row.get(field.name) for row in rows] for field in fields)
    return [pa.array(each, field.type) for each, field in zip(columns, fields, strict=True)]


def batch_of(rows: Sequence[Any], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as a batch, as in `columns_of`."""
    return pa.record_batch(columns_of(rows, schema), schema)


def rows_of_table(rows: DataFrame, name: str) -> DataFrame:
    """The rows of one table among rows of `one_of`."""
    return rows.where(f"{name} is not null").select(f"{name}.*")


@contextmanager
def persisted(rows: DataFrame) -> Iterator[DataFrame]:
    """Compute rows that are read several times once, and keep them on disk meanwhile."""
    from pyspark import StorageLevel  # noqa: PLC0415 - only Spark needs it

    rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield rows
    finally:
        rows.unpersist()


HISTORY: Final = {"group_id": STRING, "source": STRING, "session": INT}
STRINGS: Final = list_of(STRING)
RULE: Final = table({"rule": STRING, "says": STRING, "source": STRING})
RULES: Final = list_of(pa.struct(list(RULE)))
CHECKED_AS: Final = {**HISTORY, "profile": STRING}

EVENTS: Final = table(
    {
        **HISTORY,
        "seq": LONG,
        "line": LONG,
        "at_ms": LONG,
        "kind": STRING,
        "request_id": LONG,
        "api": STRING,
        "api_version": INT,
        "client_id": STRING,
        "client_host": STRING,
        "body": STRING,
    },
    null={"request_id", "api", "api_version", "client_id", "client_host", "body"},
)
QUARANTINE: Final = table(
    {"source": STRING, "line": LONG, "reason": STRING, "text": STRING}, null={"text"}
)
FILES: Final = table(
    {
        "source": STRING,
        **dict.fromkeys(("read", "kept", "quarantined", "sessions", "events", "other"), LONG),
    },
    null={"other"},
)
VERDICTS: Final = table(
    {
        **CHECKED_AS,
        "verdict": STRING,
        "reason": STRING,
        **dict.fromkeys(("events", "accepted", "steps", "line", "at_ms"), LONG),
    },
    null={"reason", "line"},
)
FINDINGS: Final = table(
    {
        **CHECKED_AS,
        **dict.fromkeys(("line", "at_ms", "accepted"), LONG),
        "kind": STRING,
        "request_id": LONG,
        "api": STRING,
        "seen": STRING,
        "allowed": STRINGS,
        "because": RULES,
        "refused": RULES,
        "states": LONG,
        "recording": STRING,
        "omitted": LONG,
        "trace": STRING,
    },
    null={"request_id", "api", "seen", "recording", "omitted", "trace"},
)
TRANSITIONS: Final = table(
    {
        **dict.fromkeys(("profile", "before", "given"), STRING),
        "rules": STRINGS,
        "after": STRING,
        "times": LONG,
        "histories": LONG,
        "explored": BOOL,
    }
)
REBALANCES: Final = table(
    {
        **HISTORY,
        "began_ms": LONG,
        "reason": STRING,
        **dict.fromkeys(("joined_ms", "ended_ms", "duration_ms"), LONG),
        "generation": INT,
        "members": INT,
        "last_client": STRING,
        "late": STRING,
        "outcome": STRING,
    },
    null={"joined_ms", "ended_ms", "duration_ms", "generation", "members", "last_client", "late"},
)
STATES: Final = table({**HISTORY, "state": STRING, "ms": LONG, "entered": LONG})
COUNTS: Final = ("commits", "refused", "stale", "rewinds", "removed", "expired")
OFFSETS: Final = table(
    {
        **HISTORY,
        "topic": STRING,
        "partition": INT,
        **dict.fromkeys((*COUNTS, "lag_ms", "offset", "first_ms", "last_ms"), LONG),
    },
    null={"expired", "lag_ms", "offset"},
)

READ: Final = one_of(event=EVENTS, quarantined=QUARANTINE, file=FILES)
# The groups whose events a task has written, instead of these.
INGESTED: Final = one_of(group=table({"group_id": STRING}), quarantined=QUARANTINE, file=FILES)
# A `pipeline.summary.Summary`, pickled.
SUMMARY: Final = table({"pickled": BINARY})
OF_HISTORIES: Final = {
    "verdict": VERDICTS,
    "finding": FINDINGS,
    "transition": TRANSITIONS,
    "rebalance": REBALANCES,
    "state": STATES,
    "offset": OFFSETS,
}
CHECKED: Final = one_of(**OF_HISTORIES, summary=SUMMARY)
FOLLOWED: Final = one_of(**OF_HISTORIES, quarantined=QUARANTINE)
