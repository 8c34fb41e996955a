"""The moves of random sequences: what may be done next, each built of a choice and the state.

Hypothesis chooses among them (`machine`), and so do random walks (`wandering`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.generators import (
    moves_faults,
    moves_groups,
    moves_members,
    moves_offsets,
)
from groupcheck.properties.generators.sketch import Picks, Sketch


class Move(NamedTuple):
    """One sort of step; `may` says whether there is any use in it now.

    `build` may find that there is nothing to be done after all, and then gives None.
    """

    name: str
    build: Callable[[Sketch, Picks], Input | None]
    may: Callable[[Sketch], bool]


def asks(api: str) -> Callable[[Sketch], bool]:
    """Whether the port speaks an API."""
    return lambda sketch: bool(sketch.speaks.versions.get(api))


def again(sketch: Sketch, picks: Picks) -> Input | None:
    """A request that was sent before comes again, as it was."""
    return sketch.renumbered(sketch.sent[-1 - picks.of(len(sketch.sent))])


def has_empty_id(sketch: Sketch, picks: Picks) -> Input | None:
    """A request comes that names the group without a name, where that is none."""
    builds = [move.build for move in MOVES if move.name in NAMING and move.may(sketch)]
    given = builds[picks.of(len(builds))](sketch, picks) if builds else None
    if not isinstance(given, Request):
        return None
    body: Any = given.body
    return given._replace(body=body._replace(group_id=""))


def write_late(sketch: Sketch, picks: Picks) -> None:
    """A member writes a request that will come later than others it writes afterwards."""
    builds = [move.build for move in MOVES if move.name in LATE and move.may(sketch)]
    given = builds[picks.of(len(builds))](sketch, picks) if builds else None
    if given is not None:
        sketch.late.append(given)  # type: ignore[arg-type]


def come_late(sketch: Sketch, picks: Picks) -> Input | None:
    """A request comes that was overtaken by others."""
    return sketch.renumbered(sketch.late.pop(picks.of(len(sketch.late))))


def _carries_on(sketch: Sketch) -> bool:
    return all(sketch.speaks.versions.get(api) for api in ("JoinGroup", "SyncGroup", "Heartbeat"))


# What may come late, as it names a member and a generation.
LATE: Final = ("sync", "heartbeat", "leave", "commit")
NAMING: Final = ("join", "commit_in_transaction", "end_transaction", "delete_offsets", *LATE[:3])

MOVES: Final = (
    Move("join", moves_members.join, asks("JoinGroup")),
    Move("join_again", moves_members.join_again, asks("JoinGroup")),
    Move("carry_on", moves_members.carry_on, _carries_on),
    Move("sync", moves_members.sync, asks("SyncGroup")),
    Move("heartbeat", moves_members.heartbeat, asks("Heartbeat")),
    Move("leave", moves_members.leave, asks("LeaveGroup")),
    Move("commit", moves_offsets.commit, asks("OffsetCommit")),
    Move("fetch", moves_offsets.fetch, asks("OffsetFetch")),
    Move("commit_in_transaction", moves_offsets.txn_commit, asks("TxnOffsetCommit")),
    Move("end_transaction", moves_offsets.end_txn, asks("EndTxn")),
    Move("describe", moves_groups.describe, asks("DescribeGroups")),
    Move("list_groups", moves_groups.list_groups, asks("ListGroups")),
    Move("delete_group", moves_groups.delete_group, asks("DeleteGroups")),
    Move("delete_offsets", moves_offsets.delete, asks("OffsetDelete")),
    Move("advance", moves_faults.advance, lambda _sketch: True),
    Move("hold", moves_faults.hold, moves_faults.may_hold),
    Move("release", moves_faults.release, moves_faults.may_release),
    Move("fail", moves_faults.fail, moves_faults.may_fail),
    Move("happen", moves_faults.happen, moves_faults.may_happen),
    Move("again", again, lambda sketch: bool(sketch.sent)),
    Move("has_empty_id", has_empty_id, lambda _sketch: True),
    Move("write_late", write_late, lambda _sketch: True),
    Move("come_late", come_late, lambda sketch: bool(sketch.late)),
)
