"""A sequence that a client was led through, as a file to be given again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from groupcheck.model.client import ClientInput
from groupcheck.properties.finding_file import read, write


class ClientSequence(NamedTuple):
    """Inputs, with the model instance and the version of Kafka that they are possible in."""

    version: str
    instance: str
    inputs: tuple[ClientInput, ...]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: str
    instance: str
    inputs: tuple[_Input, ...]


class _Input(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    error: str = ""
    member_id: str = ""
    generation: int = -1
    leader: bool = False
    partitions: tuple[int, ...] = ()
    skips: bool = False


def write_sequence(path: Path, version: str, instance: str, inputs: Sequence[ClientInput]) -> None:
    """Write a sequence; raises OSError."""
    file = _File(version, instance, tuple(_Input(*given) for given in inputs))
    write(path, file)


def read_sequence(path: Path) -> ClientSequence:
    """Read a sequence.

    Raises:
        MalformedFileError: the file has none.
        OSError: it cannot be read.
    """
    file = read(path, _File, "sequence")
    inputs = tuple(ClientInput(*msgspec.structs.astuple(each)) for each in file.inputs)
    return ClientSequence(file.version, file.instance, inputs)
