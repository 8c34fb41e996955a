"""What becomes of a group of which nothing was ever written, when an append ends.

From 4.1 on the groups of a partition are as they were last written, whichever group was: an append
that fails also removes a group that was created after the last write.
"""

from __future__ import annotations

from typing import Final

from groupcheck.model.engine.rules import Behaviour, Effect, decide, single
from groupcheck.model.nondeterminism import Choice
from groupcheck.model.sources import at
from groupcheck.model.step import Step
from groupcheck.model.vocabulary import ErrorCode

AREA: Final = "log"

HIDES_UNWRITTEN: Final = Behaviour(
    "unwritten-group-is-hidden",
    AREA,
    "a group of which nothing was written is not shown until anything is written to its partition",
    at("", "", "", "GMM:745"),
)


def _remove(step: Step, _subject: object) -> None:
    """The group is removed, but its timers run on, by its id (4.1 CoordinatorRuntime.java:873).

    Those of members find no member. The join timer may find an Empty group of that id.
    """
    if step.existing.join_timer is not None:
        step.forgotten_join_ms = step.existing.join_timer.left_ms
    step.group = None


FORGET: Final = single(
    "An append fails before anything of the group was written",
    AREA,
    "log/group-forgotten",
    "an append fails before anything of the group was written: the group is removed",
    at("", "", "", "CR:873"),
    Effect("remove the group; its parked requests are never answered", _remove),
)


def settle(step: Step, error: ErrorCode) -> None:
    """End an append: a group of which nothing was written is written now, or is removed on `error`.

    Writes of other groups are not in the model: unless this step created the group, it may have
    been written together with one of them.
    """
    if not step.existing.unwritten:
        return
    fails = error is not ErrorCode.NONE
    if fails and (step.created or step.choose(Choice.UNWRITTEN, [True, False])):
        forget(step)
    else:
        step.group = step.existing._replace(unwritten=False)


def forget(step: Step) -> None:
    """Remove the group as if it had never been created."""
    decide(step, FORGET, None)


PARTS: Final = (HIDES_UNWRITTEN, FORGET)
