"""The error of the pipeline: one line for the user, also for what Spark raises."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator


class PipelineError(Exception):
    """The job fails; the message says why."""


@contextlib.contextmanager
def in_a_line() -> Iterator[None]:
    """Turn what Spark raises into the error of the pipeline.

    Raises:
        PipelineError: Spark has raised an error.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - it comes with Spark
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise PipelineError(plainly(str(error))) from error


def plainly(said: str) -> str:
    """The last cause in an error message of Spark."""
    if "No space left on device" in said:
        return "the disk is full"
    if "OutOfMemoryError" in said:
        return "Spark ran out of memory; --conf spark.driver.memory=4g gives it more (2g)"
    causes = re.findall(r"^(?:Caused by: )?([\w.$]+(?:Exception|Error)\b:?.*)$", said, re.MULTILINE)
    line = causes[-1] if causes else said.strip().splitlines()[0] if said.strip() else "no reason"
    return f"Spark failed: {line[:300]}"
