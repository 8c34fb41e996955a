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
from groupcheck.properties.temporal.cycles import CycleStep, Obligations, PendingStep
from groupcheck.properties.temporal.safety.log import MOVES
from groupcheck.properties.temporal.step import (
    CheckedStep,
    Property,
    Violation,
    checked_steps,
    checked_steps_of,
    known,
    node_of,
    transition_of,
    waiting,
)

GROUP = "group"  # what is unfinished is the group's rebalance, and not a request of a member


class Obligation(NamedTuple):
    """Something unfinished: the node, and the name there of the member it is of, or the group."""

    node: int
    who: str


def violations(space: StateSpace) -> list[Violation]:
    """The laws that do not hold in a space, each with a lasso."""
    if not space.instance.timed:
        return []
    graph = cache(lambda: StateGraph(space))  # which is not asked if all laws hold

    def depth(at: Obligation) -> int:
        return len(graph().path(at.node))

    def holding(at: Obligation) -> bool:
        holding: bool = space.nodes[at.node].holding
        return holding

    found = []
    for prop, pending in _pending_steps(space).items():
        for why in expected_causes(space.instance.profile, prop):
            cycle = Obligations(pending, why).cycle(depth, holding)
            if cycle is not None:
                found.append(lasso(graph(), prop, why, cycle))
                break
    return found


def expected_causes(profile: Profile, prop: Property) -> tuple[int | None, ...]:
    """What a course is looked at for: nothing that Kafka is known for, then each by itself."""
    return (None, *range(len(known(profile, prop))))


def lasso(
    graph: StateGraph, prop: Property, why: int | None, cycle: list[CycleStep[Obligation]]
) -> Violation:
    """A law that a cycle breaks; the graph may be of a part of a space, with the way to it."""
    space = graph.space
    path = (transition_of(space, _by(space, prop, why, leg)) for leg in cycle)
    known_violation = None if why is None else known(space.instance.profile, prop)[why]
    return Violation(prop, tuple(graph.path(cycle[0].here.node)), tuple(path), known_violation)


def _by(
    space: StateSpace, prop: Property, why: int | None, leg: CycleStep[Obligation]
) -> CheckedStep:
    """The first step that goes so."""
    return next(
        step
        for step in checked_steps_of(space, leg.here.node)
        for of, pending_step in _pending_at(space, step)
        if of == prop
        and pending_step.is_for(why)
        and pending_step[:2] == leg[:2]
        and pending_step.tick >= leg.tick
    )


def _pending_steps(space: StateSpace) -> dict[Property, list[PendingStep[Obligation]]]:
    """For each law what goes on unfinished, each way once."""
    found: dict[Property, dict[PendingStep[Obligation], None]] = {prop: {} for prop in PROPERTIES}
    for step in checked_steps(space):
        for prop, pending_step in _pending_at(space, step):
            found[prop].setdefault(pending_step)
    return {prop: list(pending) for prop, pending in found.items()}


def _pending_at(
    space: StateSpace, step: CheckedStep
) -> Iterator[tuple[Property, PendingStep[Obligation]]]:
    """What goes on over a step, from node to node."""
    node, names = node_of(space, step.after)
    for prop, (here, there, tick, covers) in unfinished(step, names):
        pending_step = PendingStep(
            Obligation(step.node, here), Obligation(node, there), tick, covers
        )
        if pending_step.tick or pending_step.here != pending_step.there:
            yield prop, pending_step


def unfinished(
    step: CheckedStep, names: Mapping[str, str]
) -> Iterator[tuple[Property, PendingStep[str]]]:
    """Who goes on unfinished over a step, under the name before, and that in the node after it."""
    if isinstance(step.given, MOVES):
        return
    tick = isinstance(step.given, Advance)
    for prop, still in OBLIGATIONS.items():
        whose = [*still(step)]
        if whose:
            known_violation = enumerate(known(step.profile, prop))
            covers = tuple(place for place, why in known_violation if why.covers(step))
            for who in whose:
                yield prop, PendingStep(who, names.get(who, who), tick, covers)


def _still_in(state: GroupState) -> Callable[[CheckedStep], Iterator[str]]:
    """The group is in that state, and stays there without having left it on the way."""

    def still(step: CheckedStep) -> Iterator[str]:
        stays = step.old.state is state and step.new.state is state
        if stays and not any(rule in MAKES for rule in step.fired):
            yield GROUP

    return still


def _still_waiting(field: str) -> Callable[[CheckedStep], Iterator[str]]:
    """The members whose parked request stays parked: that very request."""

    def still(step: CheckedStep) -> Iterator[str]:
        unanswered = waiting(step.before) & waiting(step.after)
        for member in step.old.members:
            if getattr(member, field) in unanswered:
                yield member.member_id

    return still


def _still_silent(step: CheckedStep) -> Iterator[str]:
    """The members that stay, and the ids given out that stay unused, and that sent nothing."""
    body = step.body
    heard = {getattr(body, "member_id", None)}
    if isinstance(body, LeaveGroupRequest):
        heard = {identity.member_id for identity in body.members}
    stay = _ids(step.new) - heard
    yield from sorted(_ids(step.old) & stay)


def _ids(group: Group) -> set[str]:
    return {m.member_id for m in group.members} | {p.member_id for p in group.pending}


OBLIGATIONS: Final[dict[Property, Callable[[CheckedStep], Iterator[str]]]] = {
    Property(
        "preparing-ends",
        "PreparingRebalance is left",
        "DelayedJoin.scala:44",
    ): _still_in(GroupState.PREPARING_REBALANCE),
    Property(
        "completing-ends",
        "CompletingRebalance is left",
        "KAFKA-12890",
    ): _still_in(GroupState.COMPLETING_REBALANCE),
    Property(
        "join-answered",
        "a parked JoinGroup is answered, or its member is gone or joins anew",
        "GroupCoordinator.scala:1226",
    ): _still_waiting("awaiting_join"),
    Property(
        "sync-answered",
        "a parked SyncGroup is answered, or its member is gone or syncs anew",
        "GroupCoordinator.scala:945",
    ): _still_waiting("awaiting_sync"),
    Property(
        "silent-members-removed",
        "a member that sends nothing is removed at last, and an id that nobody uses forgotten",
        "GroupCoordinator.scala:1278",
    ): _still_silent,
}

PROPERTIES: Final = tuple(OBLIGATIONS)
