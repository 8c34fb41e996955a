"""The schemas of the tables; docs/tables.md says what the columns mean."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

STRING, LONG, INT, BOOL = StringType(), LongType(), IntegerType(), BooleanType()
BINARY = BinaryType()


def table(columns: Mapping[str, DataType], null: Container[str] = ()) -> StructType:
    """A table of these columns; those in `null` may be null."""
    return StructType([StructField(name, of, name in null) for name, of in columns.items()])


def one_of(**tables: StructType) -> StructType:
    """Rows of several tables in one stream: in each row one column is set."""
    return StructType([StructField(name, each) for name, each in tables.items()])


def rows_of_table(rows: DataFrame, name: str) -> DataFrame:
    """The rows of one table among rows of `one_of`."""
    return rows.where(f"{name} is not null").select(f"{name}.*")


@contextmanager
def persisted(rows: DataFrame) -> Iterator[DataFrame]:
    """Rows that are read several times are computed once, and kept on disk meanwhile."""
    rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield rows
    finally:
        rows.unpersist()


def arrow(schema: StructType) -> pa.Schema:
    """The schema for Arrow."""
    return to_arrow_schema(schema)


HISTORY: Final = {"group_id": STRING, "source": STRING, "session": INT}
STRINGS: Final = ArrayType(STRING, containsNull=False)
RULE: Final = table({"rule": STRING, "says": STRING, "source": STRING})
RULES: Final = ArrayType(RULE, containsNull=False)
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
TRANSITION: Final = {
    "profile": STRING,
    "before": STRING,
    "given": STRING,
    "rules": STRINGS,
    "after": STRING,
}
EXPLORED: Final = table(TRANSITION)
TRANSITIONS: Final = table({**TRANSITION, "times": LONG, "histories": LONG, "explored": BOOL})
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
CHECKED: Final = one_of(
    verdict=VERDICTS,
    finding=FINDINGS,
    transition=TRANSITIONS,
    rebalance=REBALANCES,
    state=STATES,
    offset=OFFSETS,
)
