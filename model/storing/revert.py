"""What becomes of a group of which nothing was ever written, when an append ends.

From 4.1 on the groups of a partition are as they were last written, whichever group was: with an
append that fails, one that came after it is forgotten.
"""

from __future__ import annotations

from groupcheck.model.nondeterminism import Open
from groupcheck.model.step import Rule, Step, source
from groupcheck.model.vocabulary import ErrorCode

FORGOTTEN = Rule(
    "log/group-forgotten",
    "an append fails before anything of the group was written: with it the group is forgotten",
    source("CoordinatorRuntime.java")(873),
)


def settle(step: Step, error: ErrorCode) -> None:
    """A group of which nothing was written is written now, or is forgotten if the append fails.

    What other groups write is not in the model: unless the group is of this very step, it may have
    been written with one of theirs. Who waits in a group that is forgotten is never answered.
    """
    if not step.existing.unwritten:
        return
    fails = error is not ErrorCode.NONE
    if fails and (step.begets or step.choose(Open.UNWRITTEN, [True, False])):
        forget(step)
    else:
        step.group = step.existing._replace(unwritten=False)


def forget(step: Step) -> None:
    """The group is as if it had never been.

    Its timers run on in Kafka and find no group. (Should the join timer find an Empty one that has
    come under the same name since, it raises that one's generation and fails. That is not in the
    model.)
    """
    step.fire(FORGOTTEN)
    step.group = None
