"""How far Spark is, on a terminal: the tasks of the stages that run, by its status tracker."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tqdm import tqdm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_S: Final = 0.5


@contextmanager
def shown(spark: SparkSession) -> Iterator[None]:
    """Show meanwhile how many tasks are done, if standard error is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(spark, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _watch(spark: SparkSession, over: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    with tqdm(unit=" tasks", leave=False, file=sys.stderr) as bar:
        while not over.wait(EVERY_S):
            stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
            bar.total = sum(stage.numTasks for stage in stages if stage)
            bar.n = sum(stage.numCompletedTasks for stage in stages if stage)
            bar.refresh()
