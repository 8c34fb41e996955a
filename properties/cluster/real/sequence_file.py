"""A sequence that a cluster was led through, as a file to be given again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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


class MalformedSequenceError(ValueError):
    """A file that has no sequence."""


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
    path.write_bytes(msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n")


def read_sequence(path: Path, *, zookeeper: bool = True) -> tuple[Action, ...]:
    """Read a sequence for a cluster with ZooKeeper, or for one without.

    Raises:
        MalformedSequenceError: the file has none, or one of another kind of cluster.
        OSError: it cannot be read.
    """
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        msg = f"{path} has no sequence: {error}"
        raise MalformedSequenceError(msg) from error
    known = names(zookeeper=zookeeper)
    for row in file.actions:
        if row.name not in known:
            _refuse(
                path, f"there is no action {row.name!r}{' of this cluster' * (row.name in NAMES)}"
            )
        if (row.broker in IDS) != (row.name in OF_BROKER):
            _refuse(path, f"{row.name!r} with broker {row.broker}")
        if (row.topic in range(len(ASSIGNMENTS))) != (row.name in OF_TOPIC):
            _refuse(path, f"{row.name!r} with topic {row.topic}")
    return tuple(
        Action(ClusterInput(row.name, broker=row.broker, topic=row.topic), row.at_once)
        for row in file.actions
    )


def _refuse(path: Path, why: str) -> None:
    msg = f"{path} has no sequence: {why}"
    raise MalformedSequenceError(msg)
