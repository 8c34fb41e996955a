"""Kafka's message definitions, interpreted by kafka-python: bytes that this project did not make.

The definitions in `tests/implementation/log/messages/` restate those of Kafka 4.1
(`group-coordinator/src/main/resources/common/message/`), without their words.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from groupcheck.properties.ports.codec import importing_kafka_python

with importing_kafka_python():
    from kafka.protocol.data_container import DataContainer
    from kafka.protocol.schemas import StructField

FOLDER = Path(__file__).parents[1] / "implementation" / "log" / "messages"


class Message:
    """A message definition."""

    def __init__(self, name: str) -> None:
        definition = json.loads((FOLDER / f"{name}.json").read_text())
        self._flexible = int(definition["flexibleVersions"].replace("none", "99").rstrip("+"))
        self._struct = StructField(definition)
        self._struct.set_data_class(type(name, (DataContainer,), {"_struct": self._struct}))

    def encode(self, version: int, fields: dict[str, Any]) -> bytes:
        """The bytes of a message, without its version; a version that lacks a field drops it."""
        flexible = version >= self._flexible
        data: bytes = self._struct.encode(
            fields, version=version, compact=flexible, tagged=flexible
        )
        return data

    def decode(self, version: int, data: bytes) -> dict[str, Any]:
        """The fields that this version has."""
        flexible = version >= self._flexible
        message = self._struct.decode(
            io.BytesIO(data), version=version, compact=flexible, tagged=flexible
        )
        fields: dict[str, Any] = message.to_dict(json=False)
        return fields
