"""Explores a model instance on Spark, breadth first, level by level.

Spark reads a level, expands its states in the workers, and writes the new successors as the next
level, each once, by its hash. So the plan of the last level is as short as that of the first, and
a run can continue after it was killed. The driver holds counts, and only the states of traces.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.model.engine.exploration import TooManyStatesError
from groupcheck.model.exploring.exploration import (
    Exploration,
    Explored,
    Settings,
    Witness,
    check_witness,
    chosen,
    shorter,
    whole_of,
)
from groupcheck.model.exploring.fingerprint import key, written
from groupcheck.pipeline.errors import in_a_line
from groupcheck.pipeline.exploring.aggregated import Shown, explored, unending, unsafe, witness
from groupcheck.pipeline.exploring.cycles import cycles
from groupcheck.pipeline.exploring.expansion import (
    EXPANDED,
    LEVEL,
    STATES,
    TALLY,
    UNFINISHED,
    Which,
    expand,
)
from groupcheck.pipeline.exploring.levels import Level, Levels
from groupcheck.pipeline.schemas import persisted, rows_of_table
from groupcheck.properties.temporal.counterexamples import Counterexample

MOST_TASKS: Final = 10_000
A_FILE: Final = 100_000  # states
KEYS: Final = "key binary"


class Found(NamedTuple):
    """All instances together, and the properties that do not hold in each."""

    exploration: Exploration
    broken: dict[str, list[Counterexample]]


def explore(spark: SparkSession, settings: Settings, work: str) -> Found:
    """Explore instances, each in a folder in `work`; existing levels are reused.

    Raises:
        PipelineError: the folder has other content or is not writable, or Spark failed.
        TooManyStatesError: an instance has more than `most_states` states; its levels stay.
        UnfitSettingsError: there is no such instance.
    """
    check_witness(settings)
    spaces: list[Explored] = []
    broken: dict[str, list[Counterexample]] = {}
    nearest: Witness | None = None
    for name in chosen(settings):
        features = tuple(sorted(settings.features))
        which = Which(settings.profile.name, name, settings.members, features, settings.generations)
        levels = Levels(f"{work.rstrip('/')}/{name}", which)
        with in_a_line():
            _explore(spark, which, levels, settings.most_states)
            shown = Shown(_discovered(spark, levels), _digest(spark, levels))
            legs = _legs(spark, which, levels)
        spaces.append(explored(name, which.instance(), levels, shown))
        broken[name] = unsafe(name, which.instance(), levels)
        broken[name] += unending(name, which.instance(), levels, legs)
        if settings.witness is not None:
            found = witness(settings.witness, name, which.instance(), levels)
            nearest = shorter(nearest, found)
    return Found(whole_of(settings, spaces, nearest), broken)


def _explore(spark: SparkSession, which: Which, levels: Levels, most_states: int | None) -> None:
    """Add the missing levels."""
    if not levels.whole:
        text = written(which.instance().initial)
        first = spark.createDataFrame([(0, 0, key(text), text)], LEVEL)
        _write(first, levels)
        levels.add(Level(1, [], 0.0))
    states = sum(level.states for level in levels.whole)
    while levels.whole[-1].states > 0:
        if most_states is not None and states > most_states:
            msg = f"the space {which.space} has more than {most_states:,} states"
            raise TooManyStatesError(msg)
        levels.add(_next(spark, which, levels))
        states += levels.whole[-1].states


def _next(spark: SparkSession, which: Which, levels: Levels) -> Level:
    """Write the next level."""
    started = time.monotonic()
    last, count = levels.uris()[-1], levels.whole[-1].states
    # As many tasks as keep a worker's memory small, and all cores busy.
    tasks = max(count // (4 * STATES), min(count // 50, spark.sparkContext.defaultParallelism))
    frontier = spark.read.schema(LEVEL).parquet(last).select("id", "state")
    frontier = frontier.repartition(min(max(tasks, 1), MOST_TASKS))
    depth = len(levels.whole) - 1
    with persisted(frontier.mapInArrow(partial(expand, which, depth), EXPANDED)) as rows:
        seen = spark.read.schema(KEYS).parquet(*levels.uris())
        files = 1 + count // A_FILE
        _write(in_order(fresh(rows, seen), files), levels)
        if which.instance().timed:
            unfinished = rows_of_table(rows, "unfinished")
            unfinished.write.mode("overwrite").parquet(levels.unfinished_uri(depth))
        before = _summed(rows)
    states = levels.states(len(levels.whole))
    return Level(states, before, round(time.monotonic() - started, 3))


def fresh(rows: DataFrame, seen: DataFrame) -> DataFrame:
    """The new states in rows of `EXPANDED`, each with the first edge to it."""
    reached = rows_of_table(rows, "reached")
    first = F.struct("parent", "place")
    once = reached.groupBy("key").agg(
        F.min(first).alias("way"), F.min_by("state", first).alias("s")
    )
    new = once.join(seen, on="key", how="left_anti")
    return new.select("way.parent", "way.place", "key", F.col("s").alias("state"))


def in_order(new: DataFrame, files: int) -> DataFrame:
    """Rows of `LEVEL`, numbered in the order in which one process would find them."""
    order = ["parent", "place"]
    ordered = new.repartitionByRange(files, *order) if files > 1 else new.coalesce(1)
    numbered = ordered.sortWithinPartitions(*order).withColumn(
        "id", F.monotonically_increasing_id()
    )
    return numbered.select(*LEVEL.names)


def _write(level: DataFrame, levels: Levels) -> None:
    level.write.mode("overwrite").parquet(levels.next_uri)


def _summed(rows: DataFrame) -> list[tuple[str, str, str, int, int]]:
    """The counts of all tasks together."""
    tallies = rows_of_table(rows, "tally")
    what = TALLY.names[:3]
    sums = tallies.groupBy(*what).agg(F.sum("times"), F.min("first"))
    return [(row[0], row[1], row[2], row[3], row[4]) for row in sums.orderBy(*what).collect()]


def _legs(spark: SparkSession, which: Which, levels: Levels) -> list[dict[str, Any]]:
    """Rows of `LEG`: the cycles of temporal properties that do not hold."""
    if not which.instance().timed:
        return []
    uris = [levels.unfinished_uri(depth) for depth in range(len(levels.whole) - 1)]
    unfinished = spark.read.schema(UNFINISHED).parquet(*uris)
    legs = cycles(unfinished, which.profile).orderBy("property", "place").collect()
    return [row.asDict() for row in legs]


def _discovered(spark: SparkSession, levels: Levels) -> dict[int, int]:
    """A histogram: for each number of discovered states, the states that discovered that many."""
    found: dict[int, int] = {}
    for uri in levels.uris()[1:]:
        parents = spark.read.schema("parent long").parquet(uri).groupBy("parent").count()
        for count, states in parents.groupBy("count").agg(F.count("*")).collect():
            found[count] = found.get(count, 0) + states
    return found


def _digest(spark: SparkSession, levels: Levels) -> str:
    """The digest of the states, as `model.exploring.fingerprint.digest` has it."""
    keys = (
        spark.read.schema(KEYS).parquet(*levels.uris()).select(F.lower(F.hex("key")).alias("key"))
    )
    same = keys.groupBy(F.substring("key", 1, 2).alias("first"))
    part = same.agg(
        F.sha2(F.array_join(F.sort_array(F.collect_list("key")), ""), 256).alias("part")
    )
    parts = F.transform(
        F.sort_array(F.collect_list(F.struct("first", "part"))), lambda p: p["part"]
    )
    row = part.agg(F.sha2(F.array_join(parts, ""), 256)).first()
    return str(row[0]) if row else ""
