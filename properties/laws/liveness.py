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

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import networkx as nx

from groupcheck.model.exploring.explorer import Space
from groupcheck.model.exploring.graph import Hop, StateGraph
from groupcheck.model.exploring.projection import MAKES
from groupcheck.model.state import Advance, Group
from groupcheck.model.vocabulary import GroupState, LeaveGroupRequest
from groupcheck.properties.laws.law import (
    Broken,
    Known,
    Law,
    Taken,
    hop_of,
    known,
    landing,
    taken,
    waiting,
)
from groupcheck.properties.laws.safety.log import MOVES

GROUP = "group"  # what is unfinished is the group's rebalance, and not a request of a member


class Unfinished(NamedTuple):
    """Something unfinished: the node, and the name there of the member it is of, or the group."""

    node: int
    who: str


Step = tuple[Unfinished, Unfinished]
Lasso = tuple[tuple[Hop, ...], tuple[Hop, ...]]


class _Course:
    """How what a law wants finished may go on unfinished, from node to node."""

    def __init__(self) -> None:
        self.graph: nx.DiGraph[Unfinished] = nx.DiGraph()
        self.steps: dict[Step, Taken] = {}
        self.ticks: dict[Step, Taken] = {}

    def add(self, here: Unfinished, there: Unfinished, step: Taken) -> None:
        """Note a step over which it stays unfinished."""
        self.graph.add_edge(here, there)
        self.steps.setdefault((here, there), step)
        if isinstance(step.given, Advance):
            self.ticks.setdefault((here, there), step)

    def lasso(self, states: StateGraph) -> Lasso | None:
        """A path and a cycle: of the shortest fair cycles over each tick, the soonest gone through.

        None if there is no such cycle.
        """
        component: dict[Unfinished, set[Unfinished]] = {}
        for nodes in nx.strongly_connected_components(self.graph):
            component |= dict.fromkeys(nodes, nodes)
        nodes_of = states.space.nodes
        lassos = [
            _entered(states, self._cycle(here, over, there))
            for here, there in self.ticks
            if there in component[here]
            for over in ([here] if not nodes_of[here.node].holding else component[here])
            if not nodes_of[over.node].holding
        ]
        return min(lassos, key=lambda lasso: len(lasso[0]) + len(lasso[1]), default=None)

    def _cycle(self, here: Unfinished, over: Unfinished, there: Unfinished) -> list[Taken]:
        """The shortest cycle through a tick, which comes first, and then over a node."""
        back: list[Unfinished] = nx.shortest_path(self.graph, there, over)
        back += nx.shortest_path(self.graph, over, here)[1:]
        return [self.ticks[here, there], *(self.steps[pair] for pair in pairwise(back))]


def _entered(states: StateGraph, cycle: list[Taken]) -> Lasso:
    """The shortest path to any node of a cycle, and the cycle from there."""
    paths = [states.path(step.node) for step in cycle]
    first = min(range(len(cycle)), key=lambda place: len(paths[place]))
    hops = [hop_of(states.space, step) for step in (*cycle[first:], *cycle[:first])]
    return tuple(paths[first]), tuple(hops)


def broken(space: Space) -> list[Broken]:
    """The laws that do not hold in a space, each with a lasso."""
    if not space.instance.timed:
        return []
    found, states = [], StateGraph(space)
    for law, courses in _courses(space).items():
        for why, course in courses.items():
            lasso = course.lasso(states)
            if lasso is not None:
                found.append(Broken(law, *lasso, known=why))
                break
    return found


def _courses(space: Space) -> dict[Law, dict[Known | None, _Course]]:
    """For each law what goes on unfinished, without any step that Kafka is known for, and with.

    Of what the version is known for each is looked at by itself.
    """
    profile = space.instance.profile
    courses = {law: {why: _Course() for why in (None, *known(profile, law))} for law in OF_COURSES}
    for step in taken(space):
        if isinstance(step.given, MOVES):
            continue
        node, names = landing(space, step.after)
        for law, still in OF_COURSES.items():
            covering = _covering(courses[law], step)
            for who in still(step):
                here, there = Unfinished(step.node, who), Unfinished(node, names.get(who, who))
                for course in covering:
                    course.add(here, there, step)
    return courses


def _covering(courses: dict[Known | None, _Course], step: Taken) -> list[_Course]:
    """The courses that a step is part of: all of them, or those of what Kafka is known for."""
    covers = [why for why in courses if why is not None and why.covers(step)]
    return [courses[why] for why in covers] if covers else list(courses.values())


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
    yield from (who for who in _ids(step.old) if who in stay)


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
