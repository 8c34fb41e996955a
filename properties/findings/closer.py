"""Ways to make a sequence shorter other than leaving steps out: what two steps do, one may do.

Whether a sequence so made still ends in the same finding is for the shrinker to try.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Final

from groupcheck.model.exploring.canonical import rename
from groupcheck.model.state import Advance
from groupcheck.model.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import JoinGroupRequest, Request
from groupcheck.properties.sequence import Sequence, well_formed

# The last version in which whoever joins without a member id is a member at once (KIP-394).
AT_ONCE: Final = 3


def closer(sequence: Sequence) -> Iterator[Sequence]:
    """Sequences with fewer steps that may do the same."""
    for steps in (*_at_once(sequence), *_fewer_members(sequence), *_times_together(sequence)):
        if well_formed(steps):
            yield sequence._replace(steps=tuple(steps))


def merged(sequence: Sequence) -> Sequence:
    """The sequence with times that pass one after the other made one."""
    steps: list[Input] = []
    for step in sequence.steps:
        if isinstance(step, Advance) and steps and isinstance(steps[-1], Advance):
            steps[-1] = Advance(steps[-1].ms + step.ms)
        else:
            steps.append(step)
    return sequence._replace(steps=tuple(steps))


def _newcomers(sequence: Sequence) -> list[tuple[int, Request]]:
    """The JoinGroups without a member id, and where they stand."""
    return [
        (at, step)
        for at, step in enumerate(sequence.steps)
        if isinstance(step, Request)
        and isinstance(step.body, JoinGroupRequest)
        and not step.body.member_id
    ]


def _at_once(sequence: Sequence) -> Iterator[list[Input]]:
    """A member that was given an id before it joined joins without one, in an older version."""
    steps = sequence.steps
    for at, asks in _newcomers(sequence):
        for place, joins in enumerate(steps[at + 1 :], at + 1):
            if not (isinstance(joins, Request) and isinstance(joins.body, JoinGroupRequest)):
                continue
            if joins.body.member_id == f"#{asks.request_id}":
                body = trim(joins.body._replace(member_id=""), AT_ONCE)
                # Its number is what the member is called by from here on.
                once = joins._replace(request_id=asks.request_id, api_version=AT_ONCE, body=body)
                yield [*steps[:at], *steps[at + 1 : place], once, *steps[place + 1 :]]
                break


def _fewer_members(sequence: Sequence) -> Iterator[list[Input]]:
    """One member does what two did, and the other never joins."""
    for (_, one), (_, other) in combinations(_newcomers(sequence), 2):
        names = {f"#{other.request_id}": f"#{one.request_id}"}
        yield [
            step._replace(body=rename(step.body, names, 0)) if isinstance(step, Request) else step
            for step in sequence.steps
            if step is not other
        ]


def _times_together(sequence: Sequence) -> Iterator[list[Input]]:
    """What comes between two times that pass comes before both, or after them."""
    steps = sequence.steps
    times = [at for at, step in enumerate(steps) if isinstance(step, Advance)]
    for first, second in pairwise(times):
        between = steps[first + 1 : second]
        passes = (steps[first], steps[second])
        for order in ((*between, *passes), (*passes, *between)):
            moved = sequence._replace(steps=(*steps[:first], *order, *steps[second + 1 :]))
            yield list(merged(moved).steps)
