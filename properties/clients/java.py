"""The consumer of Apache Kafka: a small program in Java that runs many, compiled once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from groupcheck.properties.assignors.java import OLDEST_JAVA, SILENT, compiled
from groupcheck.properties.brokers import java

SOURCE: Final = Path(__file__).with_name("java_main") / "LedConsumers.java"


def missing(version: str) -> str | None:
    """Return what this machine lacks to run the consumers of a version; None if nothing."""
    return java.missing(version, OLDEST_JAVA)


def command(version: str, report: Callable[[str], None]) -> list[str]:
    """Return the command that runs the program; downloads and compiles it once.

    Raises:
        PortUnavailableError: something cannot be downloaded or compiled.
    """
    path = compiled([SOURCE], version, report)
    return [java.java() or "java", *java.SMALL, SILENT, "-cp", path, SOURCE.stem]
