"""What happens to a group without a written record when an append ends.

From 4.1 on, a failed append rolls the groups of a partition back to the last write of any group: it
also removes a group that was created after that write.
"""

from __future__ import annotations

from typing import Final

from groupcheck.model.classic.nondeterminism import Choice
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour, Effect, decide, single
from groupcheck.model.vocabulary import ErrorCode

AREA: Final = "log"

HIDES_GROUP_WITHOUT_RECORDS: Final = Behaviour(
    "group-without-records-is-hidden",
    AREA,
    "a group without a record is not described or listed until a record is appended to its "
    "partition",
    at("", "", "", "GMM:745"),
)


def _remove(step: Step, _subject: object) -> None:
    """Remove the group; its timers, keyed by its id, continue (4.1 CoordinatorRuntime.java:873).

    Those of members find no member. The join timer may find an Empty group of that id.
    """
    if step.existing.join_timer is not None:
        step.removed_group_join_ms = step.existing.join_timer.left_ms
    step.group = None


UNDO_CREATION: Final = single(
    "An append fails before any record of the group is written",
    AREA,
    "log/group-rolled-back",
    "an append fails before any record of the group is written: the group is removed",
    at("", "", "", "CR:873"),
    Effect("remove the group, and never answer its parked requests", _remove),
)


def finish_append(step: Step, error: ErrorCode) -> None:
    """End an append: a group without a record is now written, or is removed on `error`.

    Writes of other groups are not in the model: unless this step created the group, it may have
    been written together with one of them.
    """
    if not step.existing.not_persisted:
        return
    fails = error is not ErrorCode.NONE
    if fails and (step.created or step.choose(Choice.NOT_PERSISTED, [True, False])):
        undo_creation(step)
    else:
        step.group = step.existing._replace(not_persisted=False)


def undo_creation(step: Step) -> None:
    """Remove the group as if it had never been created."""
    decide(step, UNDO_CREATION, None)


PARTS: Final = (HIDES_GROUP_WITHOUT_RECORDS, UNDO_CREATION)
