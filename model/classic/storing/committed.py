"""What requests read while a record is not committed.

From 4.1 on, an append takes effect at once, and requests that only read see committed groups and
offsets. Everything else of a committed group is shown as it is now. `deferred` processes deferred
answers.
"""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Committed, Group
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour, Effect, Table, decide, single
from groupcheck.model.vocabulary import Request

AREA: Final = "log"

ANSWERS_ARE_DEFERRED: Final = Behaviour(
    "answers-are-deferred",
    AREA,
    "an append takes effect at once, and all later answers are deferred until it is committed; "
    "requests that only read see committed records",
    at("", "", "", "CR:960"),
)


def note_written(step: Step) -> None:
    """Note that a record is written: while appends are held, reads see the state before it.

    A group without an earlier record is not visible. (Other groups of the partition may write too,
    except on a coordinator whose appends can be held.)
    """
    if not (step.holding and ANSWERS_ARE_DEFERRED(step) and step.committed is None):
        return
    group = step.before
    if group is None or group.not_persisted:
        step.committed = Committed(newest=False)
        return
    offsets = tuple((partition, offset.ageless) for partition, offset in group.offsets)
    step.committed = Committed(newest=True, offsets=offsets)


def note_removed(step: Step) -> None:
    """Note that the group is removed: until that is committed, reads see it as it was."""
    committed = step.committed
    if committed is not None and committed.newest:
        removed = Group(protocol_type=step.existing.protocol_type)
        step.committed = committed._replace(newest=False, group=removed)


def _read_committed(step: Step, read: tuple[Request, Table]) -> None:
    request, table = read
    committed, newest = step.committed, step.group
    if committed is None:
        return
    shown = newest if committed.newest else committed.group
    step.committed, step.group = None, shown and shown._replace(offsets=committed.offsets)
    decide(step, table, request)
    step.committed, step.group = committed, newest


READ: Final = single(
    "Read while a record is not committed",
    AREA,
    "log/read-committed",
    "a record is not committed yet, so the request reads what is committed",
    at("", "", "", "CR:1613"),
    Effect("read what is committed", _read_committed),
)


def read(step: Step, table: Table, request: Request) -> None:
    """Process a request that only reads and whose answer does not wait."""
    if step.committed is None:
        decide(step, table, request)
    else:
        decide(step, READ, (request, table))


PARTS: Final = (ANSWERS_ARE_DEFERRED, READ)
