"""Liveness: what must come to an end in a timed space, under fairness.

Fairness is this: time passes again and again, without end, so a run that goes through only
finitely many ticks does not count; and no append is held for ever, so nor does a run that from
some state on holds them in each; and the coordinator stays where it is at last, so a run in which
it crashes again and again does not count either. Of clients nothing is assumed: at each moment each
may send anything or nothing, and go on so for ever. Of the choices that Kafka leaves open nothing
is assumed either.

So a law is broken exactly if something unfinished can go round a cycle, still unfinished, with a
tick in it and a state in which appends are not held: if it has a strongly connected component with
such a tick and such a state inside. What is unfinished is followed by itself, under all its
canonical names: a node in which now this and now that member waits is no cycle for either. Spaces
without timers say nothing of liveness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.exploring.projection import MAKES
from groupcheck.model.state import Advance, Group
from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import GroupState, LeaveGroupRequest
from groupcheck.properties.laws.course import Course, Going, Leg
from groupcheck.properties.laws.law import (
    Broken,
    Law,
    Taken,
    hop_of,
    known,
    landing,
    taken,
    taken_at,
    waiting,
)
from groupcheck.properties.laws.safety.log import MOVES

GROUP = "group"  # what is unfinished is the group's rebalance, and not a request of a member


class Unfinished(NamedTuple):
    """Something unfinished: the node, and the name there of the member it is of, or the group."""

    node: int
    who: str


def broken(space: StateSpace) -> list[Broken]:
    """The laws that do not hold in a space, each with a lasso."""
    if not space.instance.timed:
        return []
    graph = cache(lambda: StateGraph(space))  # which is not asked if all laws hold

    def depth(at: Unfinished) -> int:
        return len(graph().path(at.node))

    def holding(at: Unfinished) -> bool:
        holding: bool = space.nodes[at.node].holding
        return holding

    found = []
    for law, goings in _courses(space).items():
        for why in excuses(space.instance.profile, law):
            cycle = Course(goings, why).cycle(depth, holding)
            if cycle is not None:
                found.append(lasso(graph(), law, why, cycle))
                break
    return found


def excuses(profile: Profile, law: Law) -> tuple[int | None, ...]:
    """What a course is looked at for: nothing that Kafka is known for, then each by itself."""
    return (None, *range(len(known(profile, law))))


def lasso(graph: StateGraph, law: Law, why: int | None, cycle: list[Leg[Unfinished]]) -> Broken:
    """A law that a cycle breaks; the graph may be of a part of a space, with the way to it."""
    space = graph.space
    hops = (hop_of(space, _by(space, law, why, leg)) for leg in cycle)
    excuse = None if why is None else known(space.instance.profile, law)[why]
    return Broken(law, tuple(graph.path(cycle[0].here.node)), tuple(hops), excuse)


def _by(space: StateSpace, law: Law, why: int | None, leg: Leg[Unfinished]) -> Taken:
    """The first step that goes so."""
    return next(
        step
        for step in taken_at(space, leg.here.node)
        for of, going in _goings(space, step)
        if of == law and going.is_for(why) and going[:2] == leg[:2] and going.tick >= leg.tick
    )


def _courses(space: StateSpace) -> dict[Law, list[Going[Unfinished]]]:
    """For each law what goes on unfinished, each way once."""
    found: dict[Law, dict[Going[Unfinished], None]] = {law: {} for law in LAWS}
    for step in taken(space):
        for law, going in _goings(space, step):
            found[law].setdefault(going)
    return {law: list(goings) for law, goings in found.items()}


def _goings(space: StateSpace, step: Taken) -> Iterator[tuple[Law, Going[Unfinished]]]:
    """What goes on over a step, from node to node."""
    node, names = landing(space, step.after)
    for law, (here, there, tick, covers) in unfinished(step, names):
        going = Going(Unfinished(step.node, here), Unfinished(node, there), tick, covers)
        if going.tick or going.here != going.there:
            yield law, going


def unfinished(step: Taken, names: Mapping[str, str]) -> Iterator[tuple[Law, Going[str]]]:
    """Who goes on unfinished over a step, under the name before, and that in the node after it."""
    if isinstance(step.given, MOVES):
        return
    tick = isinstance(step.given, Advance)
    for law, still in OF_COURSES.items():
        whose = [*still(step)]
        if whose:
            excuse = enumerate(known(step.profile, law))
            covers = tuple(place for place, why in excuse if why.covers(step))
            for who in whose:
                yield law, Going(who, names.get(who, who), tick, covers)


def _still_in(state: GroupState) -> Callable[[Taken], Iterator[str]]:
    """The group is in that state, and stays there without having left it on the way."""

    def still(step: Taken) -> Iterator[str]:
        stays = step.old.state is state and step.new.state is state
        if stays and not any(rule in MAKES for rule in step.fired):
            yield GROUP

    return still


def _still_waiting(field: str) -> Callable[[Taken], Iterator[str]]:
    """The members whose parked request stays parked: that very request."""

    def still(step: Taken) -> Iterator[str]:
        unanswered = waiting(step.before) & waiting(step.after)
        for member in step.old.members:
            if getattr(member, field) in unanswered:
                yield member.member_id

    return still


def _still_silent(step: Taken) -> Iterator[str]:
    """The members that stay, and the ids given out that stay unused, and that sent nothing."""
    body = step.body
    heard = {getattr(body, "member_id", None)}
    if isinstance(body, LeaveGroupRequest):
        heard = {identity.member_id for identity in body.members}
    stay = _ids(step.new) - heard
    yield from sorted(_ids(step.old) & stay)


def _ids(group: Group) -> set[str]:
    return {m.member_id for m in group.members} | {p.member_id for p in group.pending}


OF_COURSES: Final[dict[Law, Callable[[Taken], Iterator[str]]]] = {
    Law(
        "preparing-ends",
        "PreparingRebalance is left",
        "DelayedJoin.scala:44",
    ): _still_in(GroupState.PREPARING_REBALANCE),
    Law(
        "completing-ends",
        "CompletingRebalance is left",
        "KAFKA-12890",
    ): _still_in(GroupState.COMPLETING_REBALANCE),
    Law(
        "join-answered",
        "a parked JoinGroup is answered, or its member is gone or joins anew",
        "GroupCoordinator.scala:1226",
    ): _still_waiting("awaiting_join"),
    Law(
        "sync-answered",
        "a parked SyncGroup is answered, or its member is gone or syncs anew",
        "GroupCoordinator.scala:945",
    ): _still_waiting("awaiting_sync"),
    Law(
        "silence-ends",
        "a member that sends nothing is removed at last, and an id that nobody uses forgotten",
        "GroupCoordinator.scala:1278",
    ): _still_silent,
}

LAWS: Final = tuple(OF_COURSES)
