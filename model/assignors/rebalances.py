"""The rebalances of a group that an assignor assigns, and the first promise that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from groupcheck.model.assignors.group import Assignment, Group, as_sets
from groupcheck.model.assignors.promises import (
    COOPERATIVE,
    FEWEST_MOVES,
    RACKS,
    STICKY,
    Broken,
    Round,
    broken,
    racks_count,
    revokes,
)

# In how many rebalances a cooperative assignor assigns everything (KIP-429). If racks matter, it
# may go on to move partitions towards them.
REBALANCES: Final = 2
REBALANCES_WITH_RACKS: Final = 5
# How many are followed if the assignment is not complete by then, to see whether they repeat.
MOST_REBALANCES: Final = 12


def followed(group: Group, assignment: Assignment) -> Group:
    """The group in the next rebalance: each member owns what it was assigned.

    A client that did not report the generation of what it owned does not report it now.
    """
    return group._replace(
        members=tuple(
            member._replace(
                owned=assignment.get(member.id, ()),
                generation=None if member.owned and member.generation is None else group.newest + 1,
            )
            for member in group.members
        )
    )


def rounds(first: Round) -> int:
    """In how many rebalances an assignor has to assign every partition of a group, at most."""
    if first.assignor not in COOPERATIVE:
        return 1
    return REBALANCES_WITH_RACKS if racks_count(first) else REBALANCES


def broken_in(
    assignor: str,
    version: str,
    group: Group,
    assign: Callable[[Group], Assignment],
    done: list[Round],
) -> Broken | None:
    """Have an assignor assign a group, and return the first promise that it breaks.

    A cooperative assignor assigns until nothing waits to be revoked, and a sticky one once more,
    which is to change nothing. Advice, and a cooperative assignment that is not complete in time,
    give way to what is found in later rebalances. `assign` may raise; `done` gets each round.
    """
    most = rounds(Round(assignor, version, group, {}))
    before, later, shown = group, None, 0
    for number in range(1, MOST_REBALANCES + 1):
        earlier = tuple(each.assignment for each in done)
        each = Round(assignor, version, before, assign(before), number >= most, earlier)
        done.append(each)
        found = broken(each)
        if found is not None and not _gives_way(found, assignor):
            return found
        if found is not None and (later is None or later.is_advice > found.is_advice):
            later, shown = found, number
        late = later is not None and not later.is_advice
        if assignor not in STICKY or _is_over(done, most, late=late):
            break
        before = followed(before, each.assignment)
    if assignor in COOPERATIVE and (later is None or later.is_advice):
        in_vain = _in_vain(done)
        if in_vain is not None and (later is None or not in_vain.is_advice):
            return in_vain
    del done[shown or len(done) :]
    return later


def _gives_way(found: Broken, assignor: str) -> bool:
    return found.is_advice or (found.promise.id == "complete" and assignor in COOPERATIVE)


def _is_over(done: Sequence[Round], most: int, *, late: bool) -> bool:
    """Whether no other rebalance follows, or it would show nothing new."""
    if not late:
        return len(done) > most or (len(done) > 1 and done[-2].is_complete)
    if len(done) == 1:
        return False
    before, last = done[-2:]
    return before.is_complete or not revokes(as_sets(before.assignment), as_sets(last.assignment))


def _in_vain(done: list[Round]) -> Broken | None:
    """What a cooperative assignor does in several rounds has to move as little as one round would.

    It does not make its only owner revoke a partition that it then gets again.
    """
    first, last = done[0], done[-1]
    for partition, claims in sorted(first.group.claims().items()):
        (owner, *others) = claims
        waits = partition in first.group.assignable and partition not in first.counts
        again = waits and not others and partition in last.assignment[owner]
        if again and not racks_count(first):
            detail = f"{owner} has to revoke {partition}, and gets it again"
            return Broken(FEWEST_MOVES, detail)
    return broken(replace(first, assignment=last.assignment), (FEWEST_MOVES, RACKS))
