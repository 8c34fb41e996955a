"""A sequence that a cluster was led through, as a file to be given again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from groupcheck.model.brokers import NOBODY, ClusterInput
from groupcheck.properties.cluster.real.actions import (
    ASSIGNMENTS,
    NAMES,
    OF_BROKER,
    OF_TOPIC,
    Action,
    names,
)
from groupcheck.properties.cluster.real.views import IDS
from groupcheck.properties.finding_file import MalformedFileError, read, write

WHAT: Final = "sequence"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    cluster: str
    actions: tuple[_Action, ...]


class _Action(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    broker: int = NOBODY
    topic: int = -1
    at_once: bool = False


def write_sequence(path: Path, cluster: str, actions: Sequence[Action]) -> None:
    """Write a sequence; raises OSError."""
    rows = (_Action(given.name, given.broker, given.topic, at_once) for given, at_once in actions)
    file = _File(cluster, tuple(rows))
    write(path, file)


def read_sequence(path: Path, *, zookeeper: bool = True) -> tuple[Action, ...]:
    """Read a sequence for a cluster with ZooKeeper, or for one without.

    Raises:
        MalformedFileError: the file has none, or one of another kind of cluster.
        OSError: it cannot be read.
    """
    file = read(path, _File, WHAT)
    known = names(zookeeper=zookeeper)
    for row in file.actions:
        if row.name not in known:
            unknown = f"there is no action {row.name!r}{' of this cluster' * (row.name in NAMES)}"
            raise MalformedFileError(path, WHAT, unknown)
        if (row.broker in IDS) != (row.name in OF_BROKER):
            raise MalformedFileError(path, WHAT, f"{row.name!r} with broker {row.broker}")
        if (row.topic in range(len(ASSIGNMENTS))) != (row.name in OF_TOPIC):
            raise MalformedFileError(path, WHAT, f"{row.name!r} with topic {row.topic}")
    return tuple(
        Action(ClusterInput(row.name, broker=row.broker, topic=row.topic), row.at_once)
        for row in file.actions
    )
