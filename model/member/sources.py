"""Lines of the Java client's source, as rules cite them, at the tags 2.7.2 and 4.1.2."""

from __future__ import annotations

from typing import Final

from groupcheck.model.engine.rules import Sources

TAGS: Final = {"2.7": "2.7.2", "4.1": "4.1.2"}
AC: Final = "AbstractCoordinator.java"
CC: Final = "ConsumerCoordinator.java"

_FOLDER: Final = "clients/src/main/java/org/apache/kafka/clients/consumer"
_INTERNAL: Final = (AC, CC, "ClassicKafkaConsumer.java")


def at(v2_7: int | str = "", v4_1: int | str = "", file: str = AC) -> Sources:
    """The lines at which the Java client states something.

    A line is a number, in `file`, or `FILE:LINE`; "" for a version that does not have it.
    """
    lines = {"2.7": v2_7, "4.1": v4_1}
    return {v: f"{file}:{n}" if isinstance(n, int) else n for v, n in lines.items() if n != ""}


def link(version: str, source: str) -> str:
    """The address of a source `FILE:LINE` in Kafka's repository at the version's tag."""
    name, _, line = source.partition(":")
    folder = f"{_FOLDER}/internals" if name in _INTERNAL else _FOLDER
    return f"https://github.com/apache/kafka/blob/{TAGS[version]}/{folder}/{name}#L{line}"
