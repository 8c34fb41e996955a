"""A space explored on Spark, breadth first, a layer at a time: what need not fit into one machine.

A layer is read from where it was written, its states are expanded in the workers, and what they
lead to is written as the next one: each state once, by its hash, unless it is in a layer before. So
Spark's plan is no longer in the last layer than in the first, and a run can be taken up again. The
driver holds what is counted, and never a state but those of the ways it tells.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

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
from groupcheck.model.exploring.explorer import TooManyStatesError
from groupcheck.model.exploring.notation import key, written
from groupcheck.pipeline.exploring.aggregated import Shown, explored, unending, unsafe, witness
from groupcheck.pipeline.exploring.cycles import cycles
from groupcheck.pipeline.exploring.expansion import EXPANDED, LAYER, STATES, TALLY, Which, expand
from groupcheck.pipeline.exploring.levels import Layer, Layers
from groupcheck.pipeline.exploring.unfinished import GOING
from groupcheck.pipeline.failures import in_a_line
from groupcheck.properties.laws.laws import Counterexample

MOST_TASKS: Final = 10_000
A_FILE: Final = 100_000  # states
KEYS: Final = "key binary"


class Found(NamedTuple):
    """All spaces together, and the laws that do not hold in each."""

    exploration: Exploration
    broken: dict[str, list[Counterexample]]


def explore(spark: SparkSession, settings: Settings, work: str) -> Found:
    """Explore spaces, each in a folder of its own in `work`; what is there already is used.

    Raises:
        PipelineError: something else is there, or it cannot be written to, or Spark gave up.
        TooManyStatesError: a space has more than `most_states`; what was explored stays there.
        UnfitSettingsError: there is no such space.
    """
    check_witness(settings)
    spaces: list[Explored] = []
    broken: dict[str, list[Counterexample]] = {}
    nearest: Witness | None = None
    for name in chosen(settings):
        features = tuple(sorted(settings.features))
        which = Which(settings.profile.name, name, settings.members, features, settings.generations)
        layers = Layers(f"{work.rstrip('/')}/{name}", which)
        with in_a_line():
            _explore(spark, which, layers, settings.most_states)
            shown = Shown(_discovered(spark, layers), _digest(spark, layers))
            legs = _legs(spark, which, layers)
        spaces.append(explored(name, which.instance(), layers, shown))
        broken[name] = unsafe(name, which.instance(), layers)
        broken[name] += unending(name, which.instance(), layers, legs)
        if settings.witness is not None:
            found = witness(settings.witness, name, which.instance(), layers)
            nearest = shorter(nearest, found)
    return Found(whole_of(settings, spaces, nearest), broken)


def _explore(spark: SparkSession, which: Which, layers: Layers, most_states: int | None) -> None:
    """Add the layers that are not there yet."""
    if not layers.whole:
        text = written(which.instance().initial)
        first = spark.createDataFrame([(0, 0, key(text), text)], LAYER)
        _write(first, layers)
        layers.add(Layer(1, [], 0.0))
    states = sum(layer.states for layer in layers.whole)
    while layers.whole[-1].states > 0:
        if most_states is not None and states > most_states:
            msg = f"the space {which.space} has more than {most_states:,} states"
            raise TooManyStatesError(msg)
        layers.add(_next(spark, which, layers))
        states += layers.whole[-1].states


def _next(spark: SparkSession, which: Which, layers: Layers) -> Layer:
    """Write the layer that the last one leads to."""
    started = time.monotonic()
    last, count = layers.uris()[-1], layers.whole[-1].states
    # As many tasks as keep a worker's memory small, and all cores busy.
    tasks = max(count // (4 * STATES), min(count // 50, spark.sparkContext.defaultParallelism))
    frontier = spark.read.schema(LAYER).parquet(last).select("id", "state")
    frontier = frontier.repartition(min(max(tasks, 1), MOST_TASKS))
    depth = len(layers.whole) - 1
    with _kept(frontier.mapInArrow(partial(expand, which, depth), EXPANDED)) as rows:
        seen = spark.read.schema(KEYS).parquet(*layers.uris())
        files = 1 + count // A_FILE
        _write(in_order(fresh(rows, seen), files), layers)
        if which.instance().timed:
            goings = rows.where("going is not null").select("going.*")
            goings.write.mode("overwrite").parquet(layers.goings_uri(depth))
        before = _summed(rows)
    states = layers.states(len(layers.whole))
    return Layer(states, before, round(time.monotonic() - started, 3))


def fresh(rows: DataFrame, seen: DataFrame) -> DataFrame:
    """The states among rows of `EXPANDED` that were not seen, each with the first way to it."""
    reached = rows.where("reached is not null").select("reached.*")
    first = F.struct("parent", "place")
    once = reached.groupBy("key").agg(
        F.min(first).alias("way"), F.min_by("state", first).alias("s")
    )
    new = once.join(seen, on="key", how="left_anti")
    return new.select("way.parent", "way.place", "key", F.col("s").alias("state"))


def in_order(new: DataFrame, files: int) -> DataFrame:
    """Rows of `LAYER`, numbered in the order in which one process would find them."""
    order = ["parent", "place"]
    ordered = new.repartitionByRange(files, *order) if files > 1 else new.coalesce(1)
    numbered = ordered.sortWithinPartitions(*order).withColumn(
        "id", F.monotonically_increasing_id()
    )
    return numbered.select(*LAYER.names)


def _write(layer: DataFrame, layers: Layers) -> None:
    layer.write.mode("overwrite").parquet(layers.next_uri)


def _summed(rows: DataFrame) -> list[tuple[str, str, str, int, int]]:
    """What all tasks have counted, together."""
    tallies = rows.where("tally is not null").select("tally.*")
    what = TALLY.names[:3]
    sums = tallies.groupBy(*what).agg(F.sum("times"), F.min("first"))
    return [(row[0], row[1], row[2], row[3], row[4]) for row in sums.orderBy(*what).collect()]


def _legs(spark: SparkSession, which: Which, layers: Layers) -> list[dict[str, Any]]:
    """Rows of `LEG`: how laws of liveness are broken."""
    if not which.instance().timed:
        return []
    uris = [layers.goings_uri(depth) for depth in range(len(layers.whole) - 1)]
    goings = spark.read.schema(GOING).parquet(*uris)
    legs = cycles(goings, which.profile).orderBy("law", "place").collect()
    return [row.asDict() for row in legs]


def _discovered(spark: SparkSession, layers: Layers) -> dict[int, int]:
    """How many states were the first to lead to so many."""
    found: dict[int, int] = {}
    for uri in layers.uris()[1:]:
        parents = spark.read.schema("parent long").parquet(uri).groupBy("parent").count()
        for count, states in parents.groupBy("count").agg(F.count("*")).collect():
            found[count] = found.get(count, 0) + states
    return found


def _digest(spark: SparkSession, layers: Layers) -> str:
    """The digest of the states, as `model.notation.digest` has it."""
    keys = (
        spark.read.schema(KEYS).parquet(*layers.uris()).select(F.lower(F.hex("key")).alias("key"))
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


@contextmanager
def _kept(rows: DataFrame) -> Iterator[DataFrame]:
    """Rows that are asked for several times are made once, and are on the disk meanwhile."""
    rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield rows
    finally:
        rows.unpersist()
