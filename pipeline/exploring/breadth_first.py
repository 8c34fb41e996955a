"""Explores a model instance on Spark, breadth first, level by level.

Spark reads a level, expands its states in the workers, and writes the new successors as the next
level, each once, by its hash. So the plan of the last level is as short as that of the first, and
a killed run can continue. The driver has the counts and the states of traces in memory.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's convention

from groupcheck.model.classic.exploring.exploration import (
    Exploration,
    Explored,
    Settings,
    Witness,
    check_witness,
    chosen,
    shorter,
    whole_of,
)
from groupcheck.model.classic.exploring.fingerprint import key, written
from groupcheck.model.engine.exploration import TooManyStatesError
from groupcheck.pipeline.errors import in_a_line
from groupcheck.pipeline.exploring.aggregated import Totals, explored, unending, unsafe, witness
from groupcheck.pipeline.exploring.cycles import cycles
from groupcheck.pipeline.exploring.expansion import (
    EXPANDED,
    LEVEL,
    STATES,
    TALLY,
    UNFINISHED,
    InstanceSpec,
    expand,
)
from groupcheck.pipeline.exploring.levels import Level, Levels
from groupcheck.pipeline.schemas import for_spark, persisted, rows_of_table
from groupcheck.properties.temporal.counterexamples import Counterexample

MOST_TASKS: Final = 10_000
STATES_PER_FILE: Final = 100_000
KEYS: Final = "key binary"


class Found(NamedTuple):
    """The results of all instances, and the violated properties of each."""

    exploration: Exploration
    violations: dict[str, list[Counterexample]]


def explore(spark: SparkSession, settings: Settings, work: str) -> Found:
    """Explore instances, each in a folder in `work`; existing levels are reused.

    Raises:
        PipelineError: the folder has other content or is not writable, or Spark fails.
        TooManyStatesError: an instance has more than `most_states` states; its levels remain.
        UnfitSettingsError: there is no such instance.
    """
    check_witness(settings)
    spaces: list[Explored] = []
    violations: dict[str, list[Counterexample]] = {}
    nearest: Witness | None = None
    for name in chosen(settings):
        features = tuple(sorted(settings.features))
        spec = InstanceSpec(
            settings.profile.name, name, settings.members, features, settings.generations
        )
        levels = Levels(f"{work.rstrip('/')}/{name}", spec)
        with in_a_line():
            _explore(spark, spec, levels, settings.most_states)
            totals = Totals(_discovered(spark, levels), _digest(spark, levels))
            cycle_edges = _cycle_edges(spark, spec, levels)
        spaces.append(explored(name, spec.instance(), levels, totals))
        violations[name] = unsafe(name, spec.instance(), levels)
        violations[name] += unending(name, spec.instance(), levels, cycle_edges)
        if settings.witness is not None:
            found = witness(settings.witness, name, spec.instance(), levels)
            nearest = shorter(nearest, found)
    return Found(whole_of(settings, spaces, nearest), violations)


def _explore(
    spark: SparkSession, spec: InstanceSpec, levels: Levels, most_states: int | None
) -> None:
    """Add the missing levels."""
    if not levels.complete:
        text = written(spec.instance().initial)
        first = spark.createDataFrame([(0, 0, key(text), text)], for_spark(LEVEL))
        _write(first, levels)
        levels.add(Level(1, [], 0.0))
    states = sum(level.states for level in levels.complete)
    while levels.complete[-1].states > 0:
        if most_states is not None and states > most_states:
            msg = f"the instance {spec.space} has more than {most_states:,} states"
            raise TooManyStatesError(msg)
        levels.add(_next(spark, spec, levels))
        states += levels.complete[-1].states


def _next(spark: SparkSession, spec: InstanceSpec, levels: Levels) -> Level:
    """Write the next level."""
    started = time.monotonic()
    last, count = levels.uris()[-1], levels.complete[-1].states
    # Enough tasks to limit the memory of a worker and to use all cores.
    tasks = max(count // (4 * STATES), min(count // 50, spark.sparkContext.defaultParallelism))
    frontier = spark.read.schema(for_spark(LEVEL)).parquet(last).select("id", "state")
    frontier = frontier.repartition(min(max(tasks, 1), MOST_TASKS))
    depth = len(levels.complete) - 1
    with persisted(frontier.mapInArrow(partial(expand, spec, depth), for_spark(EXPANDED))) as rows:
        seen = spark.read.schema(KEYS).parquet(*levels.uris())
        files = 1 + count // STATES_PER_FILE
        _write(in_order(fresh(rows, seen), files), levels)
        if spec.instance().timed:
            unfinished = rows_of_table(rows, "unfinished")
            unfinished.write.mode("overwrite").parquet(levels.unfinished_uri(depth))
        before = _summed(rows)
    states = levels.states(len(levels.complete))
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
    """The sums of the counts of all tasks."""
    tallies = rows_of_table(rows, "tally")
    keys = TALLY.names[:3]
    sums = tallies.groupBy(*keys).agg(F.sum("times"), F.min("first")).collect()
    # There are few: sorting them on Spark would take two more jobs for each level.
    return sorted((row[0], row[1], row[2], row[3], row[4]) for row in sums)


def _cycle_edges(spark: SparkSession, spec: InstanceSpec, levels: Levels) -> list[dict[str, Any]]:
    """Rows of `CYCLE_EDGE`: the cycles of the violated temporal properties."""
    if not spec.instance().timed:
        return []
    uris = [levels.unfinished_uri(depth) for depth in range(len(levels.complete) - 1)]
    unfinished = spark.read.schema(for_spark(UNFINISHED)).parquet(*uris)
    edges = cycles(unfinished, spec.profile).orderBy("property", "position").collect()
    return [row.asDict() for row in edges]


def _discovered(spark: SparkSession, levels: Levels) -> dict[int, int]:
    """A histogram: for each number of discovered states, the states that discovered that many."""
    rows = spark.read.schema("parent long").parquet(*levels.uris()[1:])
    # The ids of states are those of one level; a level is a folder.
    level = F.element_at(F.split("_metadata.file_path", "/"), -2).alias("level")
    parents = rows.groupBy(level, "parent").count()
    found = parents.groupBy(F.col("count").alias("number")).agg(F.count("*")).collect()
    return {row[0]: row[1] for row in found}


def _digest(spark: SparkSession, levels: Levels) -> str:
    """The digest of the states, equal to `fingerprint.digest` of the explorer in one process."""
    keys = (
        spark.read.schema(KEYS).parquet(*levels.uris()).select(F.lower(F.hex("key")).alias("key"))
    )
    by_prefix = keys.groupBy(F.substring("key", 1, 2).alias("first"))
    part = by_prefix.agg(
        F.sha2(F.array_join(F.sort_array(F.collect_list("key")), ""), 256).alias("part")
    )
    parts = F.transform(
        F.sort_array(F.collect_list(F.struct("first", "part"))), lambda p: p["part"]
    )
    row = part.agg(F.sha2(F.array_join(parts, ""), 256)).first()
    return str(row[0]) if row else ""
