"""The rebalance timeline: the rebalances of the groups that rebalance most."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import Window as W  # noqa: N817 - as Spark's users call it
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

MOST_GROUPS: Final = 40
MOST_REBALANCES: Final = 500  # of a group: the first of them
WHOSE: Final = ("source", "session", "group_id")


def rebalance_timeline(rows: DataFrame) -> tuple[dict[str, Any], ...]:
    """Rows of `REBALANCES` in order, with the end of the history, `last_ms`.

    Groups with as many rebalances are ordered by name.
    """
    rebalances = rows.where("rebalance is not null").select("rebalance.*")
    often = rebalances.groupBy(*WHOSE).agg(F.count("*").alias("often"))
    most = often.orderBy(F.desc("often"), *WHOSE).limit(MOST_GROUPS)
    ends = rows.where("verdict is not null").select("verdict.*")
    ended = ends.groupBy(*WHOSE).agg(F.max("at_ms").alias("ended"))
    last = F.max(F.coalesce("ended_ms", "joined_ms", "began_ms")).over(W.partitionBy(*WHOSE))
    in_order = F.row_number().over(W.partitionBy(*WHOSE).orderBy("began_ms"))
    found = (
        rebalances.join(most, on=[*WHOSE], how="inner")
        .join(ended, on=[*WHOSE], how="left")
        .withColumns({"last_ms": F.greatest(last, "ended"), "number": in_order})
        .where(F.col("number") <= MOST_REBALANCES)
        .orderBy("source", "session", F.desc("often"), "group_id", "number")
    )
    return tuple(row.asDict() for row in found.collect())
