"""The schemas of the tables.

Each is defined once, as rows of name, type and meaning: the meaning is Spark's column comment, and
docs/tables.md has the same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
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

STRING, LONG, INT, BOOL = StringType(), LongType(), IntegerType(), BooleanType()


class Field(NamedTuple):
    """A column: whether it `may_be_null`, and its meaning, with units."""

    name: str
    type: DataType
    meaning: str
    may_be_null: bool = False


def table(*fields: Field) -> StructType:
    """A table of these columns."""
    return StructType(
        [StructField(f.name, f.type, f.may_be_null, {"comment": f.meaning}) for f in fields]
    )


HISTORY: Final = (
    Field("group_id", STRING, "the group's id, as the requests have it"),
    Field(
        "source",
        STRING,
        "the file, as a URI; of logs the folder that holds all of them, of segments the folder of "
        "the partition, of a live topic its name and the partition",
    ),
    Field("session", INT, "which session of the file it is, from 1: each `open` begins one"),
)

EVENTS: Final = table(
    *HISTORY,
    Field("seq", LONG, "the order of the events of a file, from 1; of logs by time, with gaps"),
    Field(
        "line",
        LONG,
        "the line of the file, uncompressed, from 1; of Parquet the row, of a segment the offset "
        "of the record, of a formatter's text its number",
    ),
    Field(
        "at_ms",
        LONG,
        "milliseconds by the coordinator's clock since the session began; of logs since 1970, UTC",
    ),
    Field(
        "kind",
        STRING,
        "`open`, `request`, `response`, `hold`, `release`, `fault`; `gap`: something before it "
        "could not be read; `cut`: the model does not cover what follows; `log`: a line of a "
        "broker's log; `record`: a record of the offsets topic",
    ),
    Field("request_id", LONG, "the id of the request, unique in the session", may_be_null=True),
    Field("api", STRING, "Kafka's name of the API, without Request", may_be_null=True),
    Field("api_version", INT, "the version of the API", may_be_null=True),
    Field("client_id", STRING, "the client's id, of a request", may_be_null=True),
    Field("client_host", STRING, "the client's address, of a request", may_be_null=True),
    Field(
        "body",
        STRING,
        "JSON: the body of a request or response, the session's first line of an `open`, the line "
        "of a `fault`; the reason of a `gap` or `cut`, as text; of a `log` event what the line "
        "says: `what`, and where the line has them `state`, `generation`, `members`, `member`, "
        "`instance`, `reason`; with its `text`, `file` and `broker`; of a `record` its `key` and "
        "`value` as Kafka 4 prints them, or the `marker`, and the producer of a transaction",
        may_be_null=True,
    ),
)

QUARANTINE: Final = table(
    Field("source", STRING, "the file, as a URI"),
    Field(
        "line",
        LONG,
        "the line, uncompressed, from 1; 0 if no line of it could be read; of a segment the byte, "
        "of a live topic the offset",
    ),
    Field("reason", STRING, "why it could not be read"),
    Field("text", STRING, "how it begins: 200 characters at the most", may_be_null=True),
)

FILES: Final = table(
    Field("source", STRING, "the file, as a URI"),
    Field("read", LONG, "lines that were read; a damaged rest counts as one"),
    Field("kept", LONG, "those that were kept; `advance` is kept as the time of what follows"),
    Field("quarantined", LONG, "those that could not be read: `read` is `kept` and these"),
    Field("sessions", LONG, "sessions in it"),
    Field("events", LONG, "events made of it: one for each group that a line is about"),
    Field("other", LONG, "of a log: kept lines that are not about groups", may_be_null=True),
)

VERDICTS: Final = table(
    *HISTORY,
    Field("profile", STRING, "the Kafka version that it was checked against"),
    Field("verdict", STRING, "`accepted`, `rejected` or `undecided`"),
    Field(
        "reason",
        STRING,
        "rejected: the rule that allows another response; undecided: why; accepted, if the group "
        "was there before: the first line that was checked",
        may_be_null=True,
    ),
    Field("events", LONG, "events of the group in the session"),
    Field("accepted", LONG, "how many of them are in the longest accepted prefix"),
    Field("steps", LONG, "requests and other inputs of that prefix, passing of time included"),
    Field("line", LONG, "rejected: the line of the event", may_be_null=True),
    Field("at_ms", LONG, "milliseconds since the session began: of that event, or of the last"),
)

RULE: Final = StructType(
    [
        StructField("rule", STRING, nullable=False),
        StructField("says", STRING, nullable=False),
        StructField("source", STRING, nullable=False),
    ]
)

FINDINGS: Final = table(
    *HISTORY,
    Field("profile", STRING, "the Kafka version that it was checked against"),
    Field("line", LONG, "the line of the event that the model does not allow"),
    Field("at_ms", LONG, "milliseconds since the session began"),
    Field("accepted", LONG, "events in the longest accepted prefix"),
    Field("kind", STRING, "`another answer`, `no answer`, `answered too early`, ..."),
    Field("request_id", LONG, "the request it is about", may_be_null=True),
    Field("api", STRING, "its API", may_be_null=True),
    Field("seen", STRING, "JSON: the response", may_be_null=True),
    Field("allowed", ArrayType(STRING, containsNull=False), "JSON: each response that is allowed"),
    Field(
        "because",
        ArrayType(RULE, containsNull=False),
        "the rules that allow these: name, words, line of Kafka's source",
    ),
    Field(
        "refused",
        ArrayType(RULE, containsNull=False),
        "the rules that would allow what was seen, but whose guards refused it",
    ),
    Field("states", LONG, "model states that the events before it allow"),
    Field(
        "recording",
        STRING,
        "JSON Lines: the group up to the event, for `groupcheck replay`; null if too long",
        may_be_null=True,
    ),
    Field(
        "omitted",
        LONG,
        "heartbeats, commits and their responses that `recording` omits",
        may_be_null=True,
    ),
    Field(
        "trace",
        STRING,
        "JSON Lines: the requests of `recording`, for `groupcheck replay` on a port",
        may_be_null=True,
    ),
)

TRANSITIONS: Final = table(
    Field("profile", STRING, "the Kafka version that it was checked against"),
    Field("before", STRING, "the group's state before; `none`: there was no group"),
    Field("given", STRING, "the API, or another input of the model"),
    Field("rules", ArrayType(STRING, containsNull=False), "the rules that were applied"),
    Field("after", STRING, "the group's state after"),
    Field("times", LONG, "how often it occurs in the input; 0: only in the explored instances"),
    Field("histories", LONG, "in how many groups and sessions"),
    Field("explored", BOOL, "whether it is in the instances on which `groupcheck verify` runs"),
)

REBALANCES: Final = table(
    *HISTORY,
    Field("began_ms", LONG, "when the join phase began, in ms since the session began"),
    Field("reason", STRING, "the rule that began it; of logs the logged reason, without ids"),
    Field("joined_ms", LONG, "when the generation began, in ms", may_be_null=True),
    Field("ended_ms", LONG, "when the group was Stable, Empty or gone, in ms", may_be_null=True),
    Field("duration_ms", LONG, "from `began_ms` to `ended_ms`; null: not seen", may_be_null=True),
    Field("generation", INT, "the generation after it", may_be_null=True),
    Field("members", INT, "the members after it", may_be_null=True),
    Field("last_client", STRING, "the client of the last JoinGroup in it", may_be_null=True),
    Field("late", STRING, "members that did not join in time", may_be_null=True),
    Field("outcome", STRING, "the state it ended in; `unended`: the history ends before"),
)

STATES: Final = table(
    *HISTORY,
    Field("state", STRING, "the group's state; `none`: there was no group"),
    Field("ms", LONG, "milliseconds that were spent in it"),
    Field("entered", LONG, "how often it was entered"),
)

OFFSETS: Final = table(
    *HISTORY,
    Field("topic", STRING, "the topic"),
    Field("partition", INT, "the partition"),
    Field("commits", LONG, "commits that were accepted"),
    Field("refused", LONG, "commits that were refused"),
    Field("stale", LONG, "of those, commits of another generation or of an unknown member"),
    Field("rewinds", LONG, "accepted commits of a lower offset than the one before"),
    Field("removed", LONG, "how often the offset was removed: it expired, or was deleted"),
    Field("expired", LONG, "of those, by a cleanup; the offsets topic: null", may_be_null=True),
    Field(
        "lag_ms",
        LONG,
        "the longest time from the last commit of a generation to the first of another; "
        "null: only one generation has committed",
        may_be_null=True,
    ),
    Field("offset", LONG, "the offset committed last; null: it was removed", may_be_null=True),
    Field("first_ms", LONG, "the first commit, in ms since the session began"),
    Field("last_ms", LONG, "the last accepted commit, or else refused, in ms since it began"),
)


def one_of(**tables: StructType) -> StructType:
    """Rows of several tables in one stream: in each row one column is set."""
    return StructType([StructField(name, each) for name, each in tables.items()])


READ: Final = one_of(event=EVENTS, quarantined=QUARANTINE, file=FILES)
CHECKED: Final = one_of(
    verdict=VERDICTS,
    finding=FINDINGS,
    transition=TRANSITIONS,
    rebalance=REBALANCES,
    state=STATES,
    offset=OFFSETS,
)


def arrow(schema: StructType) -> pa.Schema:
    """The schema for Arrow."""
    return to_arrow_schema(schema)
