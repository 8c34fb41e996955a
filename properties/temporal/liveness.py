"""Liveness: what happens eventually in a space with timers, under fairness.

The assumptions of fairness are that time passes again and again, that every held append is
released eventually, and that the coordinator crashes and moves finitely often. Clients may do
anything or nothing, forever, and so may every choice that Kafka leaves open.

A property is violated exactly if an obligation can stay pending around a cycle that has a tick and
a state in which no append is held. Each obligation is tracked separately, by the name of its owner
in each canonical state: a cycle in which the waiting members take turns is no violation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Final, NamedTuple, TypeVar

from groupcheck.model.classic.exploring.group_graph import STATE_CHANGES
from groupcheck.model.classic.state import Advance, Group
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.lasso import MarkedStep, Marks, fair_cycle
from groupcheck.model.vocabulary import GroupState, LeaveGroupRequest
from groupcheck.properties.temporal.known_violations import known_violations
from groupcheck.properties.temporal.property import Liveness, Violation
from groupcheck.properties.temporal.step import (
    FAILOVER,
    CheckedStep,
    checked_steps,
    checked_steps_of,
    node_of,
    transition_of,
    waiting,
)

N = TypeVar("N", bound=Hashable)

GROUP: Final = "group"  # the owner of an obligation that no member has: to end the rebalance
TICK: Final = "tick"
FREE: Final = "free"  # no append is held in the state before
_MARKS: Final = {
    (tick, holding): frozenset({TICK} if tick else ()) | frozenset(() if holding else {FREE})
    for tick in (False, True)
    for holding in (False, True)
}


class Obligation(NamedTuple):
    """A pending obligation: the number of a state, and the name of its owner there."""

    node: int
    owner: str


class Pending(NamedTuple):
    """An obligation that a step does not fulfil, by its owner's names before and after.

    `covers` are the indices of the known violations that the step belongs to.
    """

    property: Liveness
    before: str
    after: str
    covers: tuple[int, ...]


class PendingStep(NamedTuple):
    """A step that does not fulfil an obligation, as a step of the graph of obligations."""

    step: MarkedStep[Obligation]
    covers: tuple[int, ...]

    def counts(self, allowed: int | None) -> bool:
        """Whether the step counts if no known violation is allowed, or only this one."""
        return not self.covers or allowed in self.covers


def violations(space: StateSpace) -> list[Violation]:
    """The properties that do not hold in a space, each with a lasso."""
    if not space.instance.timed:
        return []
    graph = cache(lambda: StateGraph(space))  # not needed if all properties hold

    def depth(at: Obligation) -> int:
        return len(graph().path(at.node))

    found = []
    for prop, steps in _pending_steps(space).items():
        for allowed in allowances(space.instance.profile, prop):
            counted = (each.step for each in steps if each.counts(allowed))
            cycle = shortest_cycle(counted, depth)
            if cycle is not None:
                found.append(lasso(graph(), prop, allowed, cycle))
                break
    return found


def allowances(profile: Profile, prop: Liveness) -> tuple[int | None, ...]:
    """The known violations to allow, in order: none, then each by its index."""
    return (None, *range(len(known_violations(profile, prop))))


def marks(*, tick: bool, holding: bool) -> Marks:
    """The marks of a step: whether time passes, and whether appends are held before it."""
    return _MARKS[tick, holding]


def shortest_cycle(
    steps: Iterable[MarkedStep[N]], depth: Callable[[N], int]
) -> list[MarkedStep[N]] | None:
    """The fair cycle that is completed soonest, from its node of least depth; None if none."""
    return fair_cycle(steps, marks(tick=True, holding=False), depth, TICK)


def lasso(
    graph: StateGraph, prop: Liveness, allowed: int | None, cycle: list[MarkedStep[Obligation]]
) -> Violation:
    """The violation that a cycle shows; the graph may be part of a space, with the path to it."""
    space = graph.space
    transitions = (transition_of(space, _first_step(space, prop, allowed, step)) for step in cycle)
    known = None if allowed is None else known_violations(space.instance.profile, prop)[allowed]
    path = graph.path(cycle[0].here.node)
    return Violation(prop, tuple(path), tuple(transitions), known)


def _first_step(
    space: StateSpace, prop: Liveness, allowed: int | None, wanted: MarkedStep[Obligation]
) -> CheckedStep:
    """The first step between the ends of a step of a cycle, with its marks."""
    return next(
        step
        for step in checked_steps_of(space, wanted.here.node)
        for of, (found, covers) in _pending_at(space, step)
        if of is prop
        and PendingStep(found, covers).counts(allowed)
        and found[:2] == wanted[:2]
        and found.marks >= wanted.marks
    )


def _pending_steps(space: StateSpace) -> dict[Liveness, dict[PendingStep, None]]:
    """The steps that do not fulfil an obligation, by property, each once and in order."""
    found: dict[Liveness, dict[PendingStep, None]] = {prop: {} for prop in PROPERTIES}
    for step in checked_steps(space):
        for prop, each in _pending_at(space, step):
            found[prop].setdefault(each)
    return found


def _pending_at(space: StateSpace, step: CheckedStep) -> Iterator[tuple[Liveness, PendingStep]]:
    """The obligations that a step does not fulfil, from state to state."""
    node, names = node_of(space, step.after)
    tick = isinstance(step.given, Advance)
    marked = marks(tick=tick, holding=step.before.holding)
    for prop, before, after, covers in pending(step, names):
        here, there = Obligation(step.node, before), Obligation(node, after)
        if tick or here != there:
            yield prop, PendingStep(MarkedStep(here, there, marked), covers)


def pending(step: CheckedStep, names: Mapping[str, str]) -> Iterator[Pending]:
    """The obligations that a step does not fulfil; `names` are new names in the state after."""
    if isinstance(step.given, FAILOVER):
        return
    for prop in PROPERTIES:
        owners = [*prop.pending(step)]
        if owners:
            known = enumerate(known_violations(step.profile, prop))
            covers = tuple(index for index, each in known if each.covers(step))
            for owner in owners:
                yield Pending(prop, owner, names.get(owner, owner), covers)


def _stays_in(state: GroupState, step: CheckedStep) -> Iterator[str]:
    """The group, if it stays in the state and has not left it during the step."""
    stays = step.old.state is state and step.new.state is state
    if stays and not any(rule in STATE_CHANGES for rule in step.applied):
        yield GROUP


def _stays_parked(field: str, step: CheckedStep) -> Iterator[str]:
    """The members whose parked request has no response yet."""
    unanswered = waiting(step.before) & waiting(step.after)
    for member in step.old.members:
        if getattr(member, field) in unanswered:
            yield member.member_id


def _stays_silent(step: CheckedStep) -> Iterator[str]:
    """The members that stay, and the pending member ids, that sent nothing."""
    body = step.body
    heard = {getattr(body, "member_id", None)}
    if isinstance(body, LeaveGroupRequest):
        heard = {identity.member_id for identity in body.members}
    yield from sorted(_ids(step.old) & (_ids(step.new) - heard))


def _ids(group: Group) -> set[str]:
    return {m.member_id for m in group.members} | {p.member_id for p in group.pending}


PROPERTIES: Final = (
    Liveness(
        "preparing-ends",
        "A group leaves PreparingRebalance.",
        "DelayedJoin.scala:44",
        partial(_stays_in, GroupState.PREPARING_REBALANCE),
    ),
    Liveness(
        "completing-ends",
        "A group leaves CompletingRebalance.",
        "KAFKA-12890",
        partial(_stays_in, GroupState.COMPLETING_REBALANCE),
    ),
    Liveness(
        "join-answered",
        "A parked JoinGroup gets a response, unless its member is removed or joins again.",
        "GroupCoordinator.scala:1226",
        partial(_stays_parked, "awaiting_join"),
    ),
    Liveness(
        "sync-answered",
        "A parked SyncGroup gets a response, unless its member is removed or syncs again.",
        "GroupCoordinator.scala:945",
        partial(_stays_parked, "awaiting_sync"),
    ),
    Liveness(
        "silent-members-removed",
        "A member that sends nothing is removed, and a member id that is not used is dropped.",
        "GroupCoordinator.scala:1278",
        _stays_silent,
    ),
)
