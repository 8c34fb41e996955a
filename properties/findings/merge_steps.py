"""Shorter sequences in which one step replaces two. The shrinker tries them on the port."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Final

from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import JoinGroupRequest, Request
from groupcheck.properties.sequence import Sequence, well_formed

# The last JoinGroup version that adds a member without an id at once (KIP-394).
AT_ONCE: Final = 3


def shorter_forms(sequence: Sequence) -> Iterator[Sequence]:
    """Sequences with fewer steps that may end in the same finding."""
    for steps in (*_at_once(sequence), *_fewer_members(sequence), *_times_together(sequence)):
        if well_formed(steps):
            yield sequence._replace(steps=tuple(steps))


def advances_merged(sequence: Sequence) -> Sequence:
    """The sequence with consecutive advances merged."""
    steps: list[Input] = []
    for step in sequence.steps:
        if isinstance(step, Advance) and steps and isinstance(steps[-1], Advance):
            steps[-1] = Advance(steps[-1].ms + step.ms)
        else:
            steps.append(step)
    return sequence._replace(steps=tuple(steps))


def _newcomers(sequence: Sequence) -> list[tuple[int, Request]]:
    """The JoinGroups without a member id, and their positions."""
    return [
        (at, step)
        for at, step in enumerate(sequence.steps)
        if isinstance(step, Request)
        and isinstance(step.body, JoinGroupRequest)
        and not step.body.member_id
    ]


def _at_once(sequence: Sequence) -> Iterator[list[Input]]:
    """A member joins in one request, in a version that requires no member id."""
    steps = sequence.steps
    for at, asks in _newcomers(sequence):
        for place, joins in enumerate(steps[at + 1 :], at + 1):
            if not (isinstance(joins, Request) and isinstance(joins.body, JoinGroupRequest)):
                continue
            if joins.body.member_id == f"#{asks.request_id}":
                body = trim(joins.body._replace(member_id=""), AT_ONCE)
                # The later steps name the member by this number.
                once = joins._replace(request_id=asks.request_id, api_version=AT_ONCE, body=body)
                yield [*steps[:at], *steps[at + 1 : place], once, *steps[place + 1 :]]
                break


def _fewer_members(sequence: Sequence) -> Iterator[list[Input]]:
    """One member replaces two."""
    for (_, one), (_, other) in combinations(_newcomers(sequence), 2):
        names = {f"#{other.request_id}": f"#{one.request_id}"}
        yield [
            step._replace(body=rename(step.body, names, 0)) if isinstance(step, Request) else step
            for step in sequence.steps
            if step is not other
        ]


def _times_together(sequence: Sequence) -> Iterator[list[Input]]:
    """The steps between two advances move before both, or after them."""
    steps = sequence.steps
    times = [at for at, step in enumerate(steps) if isinstance(step, Advance)]
    for first, second in pairwise(times):
        between = steps[first + 1 : second]
        passes = (steps[first], steps[second])
        for order in ((*between, *passes), (*passes, *between)):
            moved = sequence._replace(steps=(*steps[:first], *order, *steps[second + 1 :]))
            yield list(advances_merged(moved).steps)
