"""What is read while something is written that is not committed, where the two differ.

From 4.1 on a group's state moves on as it writes, and whoever only reads is shown the groups and
offsets that are committed. Of a group that is, all else is shown as it is by now. What becomes of
the answers that wait is the matter of `waiting`.
"""

from __future__ import annotations

from groupcheck.model.state import Committed, Group
from groupcheck.model.step import Rule, Step, decide, source
from groupcheck.model.vocabulary import Request

READ = Rule(
    "log/read-committed",
    "something is written that is not committed, and does not show yet",
    source("CoordinatorRuntime.java")(1613),
)


def note_written(step: Step) -> None:
    """Something is written: while appends are held, what was there before it is what is read.

    A group of which nothing was written before does not show. (Other groups of the partition may
    write as well, but none of a coordinator whose appends can be held.)
    """
    if not (step.holding and step.profile.traits.answers_wait and step.committed is None):
        return
    group = step.before
    if group is None or group.unwritten:
        step.committed = Committed(newest=False)
        return
    offsets = tuple((partition, offset.ageless) for partition, offset in group.offsets)
    step.committed = Committed(newest=True, offsets=offsets)


def note_removed(step: Step) -> None:
    """The group is removed; but as long as that is not committed, it shows as it was at last."""
    committed = step.committed
    if committed is not None and committed.newest:
        removed = Group(protocol_type=step.existing.protocol_type)
        step.committed = committed._replace(newest=False, group=removed)


def read(step: Step, request: Request, rules: tuple[Rule, ...]) -> None:
    """Decide on a request that only reads, and for which nothing is waited."""
    committed, newest = step.committed, step.group
    if committed is None:
        decide(step, request, rules)
        return
    step.fire(READ)
    shown = newest if committed.newest else committed.group
    step.committed, step.group = None, shown and shown._replace(offsets=committed.offsets)
    decide(step, request, rules)
    step.committed, step.group = committed, newest
