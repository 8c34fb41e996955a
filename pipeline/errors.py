"""The error of the pipeline: one line for the user, also for errors of Spark."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator


class PipelineError(Exception):
    """The job fails; the message has the reason."""


@contextlib.contextmanager
def naming_errors(action: str) -> Iterator[None]:
    """Turn errors of a file system or file into the error of the pipeline: cannot `action`.

    Raises:
        PipelineError: there was an error.
    """
    import pyarrow as pa  # noqa: PLC0415 - an optional dependency

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        msg = f"cannot {action}: {reason}"
        raise PipelineError(msg) from error


def first_line(error: Exception) -> str:
    """The first line of the message of an error."""
    message = str(error).strip() or type(error).__name__
    return message.splitlines()[0][:200]


@contextlib.contextmanager
def in_a_line() -> Iterator[None]:
    """Turn errors of Spark into the error of the pipeline.

    Raises:
        PipelineError: Spark has raised an error.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - it comes with Spark
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise PipelineError(summarised(str(error))) from error


def summarised(message: str) -> str:
    """The last cause in an error message of Spark."""
    if "No space left on device" in message:
        return "the disk is full"
    if "OutOfMemoryError" in message:
        return "Spark ran out of memory; --conf spark.driver.memory=4g gives it more (2g)"
    causes = re.findall(
        r"^(?:Caused by: )?([\w.$]+(?:Exception|Error)\b:?.*)$", message, re.MULTILINE
    )
    line = causes[-1] if causes else (message.strip().splitlines() or ["no reason"])[0]
    return f"Spark failed: {line[:300]}"
