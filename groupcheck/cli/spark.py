"""A Spark session for a command, if its sources are not small, with a progress bar of its tasks."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from groupcheck.cli.exit_status import ending_with_message, with_packages_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_S: Final = 0.5


@contextmanager
def session_unless_small(options: argparse.Namespace) -> Iterator[SparkSession | None]:
    """Start a session; None for small sources, unless an option says where Spark runs.

    Raises:
        CommandError: a source cannot be read, or a job fails; the message is one line.
    """
    from groupcheck.pipeline.errors import PipelineError
    from groupcheck.pipeline.session import is_chosen
    from groupcheck.properties.interruption import interruptible

    with ending_with_message(PipelineError), with_packages_of("spark"):
        from groupcheck.pipeline.in_process import is_small

        if not is_chosen(options.master, options.conf) and is_small(options.sources):
            with interruptible():
                yield None
            return
    with spark_session(options, in_python=True) as spark:
        yield spark


@contextmanager
def spark_session(
    options: argparse.Namespace, *, in_python: bool = False
) -> Iterator[SparkSession]:
    """Start a session with --master and --conf.

    Raises:
        CommandError: a job fails; the message is one line.
    """
    from groupcheck.pipeline.errors import PipelineError
    from groupcheck.pipeline.session import parse_conf, session
    from groupcheck.properties.interruption import interruptible

    disabled = logging.root.manager.disable
    # When py4j is interrupted, it logs a stack trace; the error message of the command is enough.
    logging.disable(logging.CRITICAL)
    try:
        with ending_with_message(PipelineError):
            conf = parse_conf(options.conf)
            started = session(options.master, conf, in_python=in_python)
            with interruptible(), started as spark, _progress(spark):
                yield spark
    finally:
        logging.disable(disabled)


@contextmanager
def _progress(spark: SparkSession) -> Iterator[None]:
    """Show how many tasks are done, if standard error is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show_tasks, args=(spark, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show_tasks(spark: SparkSession, done: threading.Event) -> None:
    from tqdm import tqdm

    tracker = spark.sparkContext.statusTracker()
    with tqdm(unit=" tasks", leave=False, file=sys.stderr) as bar:
        while not done.wait(EVERY_S):
            stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
            bar.total = sum(stage.numTasks for stage in stages if stage)
            bar.n = sum(stage.numCompletedTasks for stage in stages if stage)
            bar.refresh()
