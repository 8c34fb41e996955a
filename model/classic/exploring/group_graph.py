"""The group-state graph: its transitions (arrows), and the rules that cause each.

One step may pass through several states: when the last member leaves a stable group, a rebalance
begins and ends in it. So arrows are derived from the rules that a transition applies, not from its
source and target, which must then agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from groupcheck.model.classic.rules.guards import COMPLETING, EMPTY, PREPARING, STABLE
from groupcheck.model.classic.rules.rebalance import first_state
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.vocabulary import GroupState

ABSENT: Final = "absent"
DEAD: Final = GroupState.DEAD


class Arrow(NamedTuple):
    """From one state of the group to another; `absent` is before any request named the group."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


def kafka_arrows(profile: Profile) -> tuple[Arrow, ...]:
    """Kafka's arrows: validPreviousStates of each state (GroupMetadata.scala), and the beginning.

    Arrows to Dead are not included: Kafka has one from every state, and a version's model has those
    of its rules. Arrows of a loaded group (`LOADED`) are not included either.
    """
    begins = first_state(profile.version)
    arrows = (
        Arrow(ABSENT, begins),
        Arrow(EMPTY, PREPARING),
        Arrow(PREPARING, COMPLETING),
        Arrow(COMPLETING, STABLE),
        Arrow(STABLE, PREPARING),
        Arrow(COMPLETING, PREPARING),
        Arrow(PREPARING, EMPTY),
    )
    return tuple(arrow for arrow in arrows if begins is EMPTY or EMPTY not in arrow)


# The states of a loaded group, whatever its state was before.
LOADED: Final = {
    "failover/restored": Arrow(ABSENT, STABLE),
    "failover/restored-empty": Arrow(ABSENT, EMPTY),
}
# The rules that remove a group in any state.
ENDS: Final = frozenset(
    {"failover/crash", "failover/unload", "failover/loading", "log/group-rolled-back"}
)

# The rules that change the group's state, apart from a load and a removal.
STATE_CHANGES: Final = {
    "rebalance/prepare-from-empty": Arrow(EMPTY, PREPARING),
    "rebalance/prepare-from-stable": Arrow(STABLE, PREPARING),
    "rebalance/prepare-from-completing": Arrow(COMPLETING, PREPARING),
    "rebalance/complete": Arrow(PREPARING, COMPLETING),
    "rebalance/complete-empty": Arrow(PREPARING, EMPTY),
    "rebalance/complete-dead": Arrow(PREPARING, DEAD),
    "log/assignments-stored": Arrow(COMPLETING, STABLE),
    "group/deleted": Arrow(EMPTY, DEAD),
    "cleanup/group-removed": Arrow(EMPTY, DEAD),
}

# Rules that follow from another rule of the same step, so they are not a reason.
CONSEQUENCES: Final = frozenset(
    {
        "rebalance/prepare-from-empty",
        "rebalance/prepare-from-stable",
        "rebalance/prepare-from-completing",
        "rebalance/complete",
        "rebalance/complete-empty",
        "rebalance/complete-dead",
        "rebalance/drop-not-rejoined",
        "rebalance/elect-leader",
        "rebalance/no-member-rejoined",
        "rebalance/elect-joined-leader",
        "rebalance/no-protocol",
        "log/assignments-stored",
        "log/assignments-failed",
        "log/assignments-outdated",
        "log/offsets-stored",
        "log/transaction-stored",
        "log/new-id-outdated",
        "log/deferred-response-sent",
    }
)


class GroupGraph(NamedTuple):
    """The arrows of a state space, each with its reasons, and on how many transitions.

    `expected` are Kafka's arrows, `inconsistent` the transitions whose rules do not lead from the
    state before to the state after.
    """

    expected: tuple[Arrow, ...]
    arrows: dict[Arrow, Counter[str]]
    inconsistent: list[TransitionReference]

    @property
    def unexpected(self) -> list[Arrow]:
        """The arrows that Kafka does not have."""
        known = {*self.expected, *LOADED.values()}
        return [a for a in self.arrows if a not in known and a.target != DEAD]

    @property
    def missing(self) -> list[Arrow]:
        """The arrows of Kafka that the state space lacks."""
        return [arrow for arrow in self.expected if arrow not in self.arrows]


def group_graph_of(space: StateSpace) -> GroupGraph:
    """The group-state graph of a state space."""
    profile = space.instance.profile
    graph = GroupGraph(kafka_arrows(profile), {}, [])
    for node, edges in enumerate(space.edges):
        before = state_of(space.nodes[node])
        for place, edge in enumerate(edges):
            after = state_of(space.nodes[edge.target])
            at: str | None = before
            for arrow, reason in arrows_of_step(profile, before, after, edge.applied):
                graph.arrows.setdefault(arrow, Counter())[reason] += 1
                # A dead group counts as absent.
                there = at if arrow.source != ABSENT or at != DEAD else ABSENT
                at = arrow.target if arrow.source == there else None
            if at != after and (at, after) != (DEAD, ABSENT):
                graph.inconsistent.append(TransitionReference(node, place))
    return graph


def arrow_counts(space: StateSpace, times: Mapping[TransitionReference, int]) -> Counter[str]:
    """The number of times that each arrow was taken, from the counts of transitions."""
    profile, found = space.instance.profile, Counter[str]()
    for transition, number in times.items():
        edge = space.edges[transition.node][transition.edge]
        before, after = state_of(space.nodes[transition.node]), state_of(space.nodes[edge.target])
        for arrow in {arrow for arrow, _ in arrows_of_step(profile, before, after, edge.applied)}:
            found[str(arrow)] += number
    return found


def merged(graphs: list[GroupGraph]) -> GroupGraph:
    """The group-state graph of several state spaces of a profile together."""
    arrows: dict[Arrow, Counter[str]] = {}
    for graph in graphs:
        for arrow, reasons in graph.arrows.items():
            arrows.setdefault(arrow, Counter()).update(reasons)
    inconsistent = [each for graph in graphs for each in graph.inconsistent]
    return GroupGraph(graphs[0].expected, arrows, inconsistent)


def arrows_of_step(
    profile: Profile, before: str, after: str, applied: tuple[str, ...]
) -> Iterator[tuple[Arrow, str]]:
    """The arrows that a transition takes, in order, each with the rule that is the reason."""
    reason, at = next(iter(applied), ""), before
    named = before == ABSENT and LOADED.keys().isdisjoint(applied)
    if named and (after != ABSENT or not STATE_CHANGES.keys().isdisjoint(applied)):
        at = first_state(profile.version)
        yield Arrow(ABSENT, at), reason
    for rule in applied:
        if rule in ENDS:
            if at != ABSENT:
                yield Arrow(at, DEAD), rule
        elif rule in LOADED:
            yield LOADED[rule], reason
        elif rule in STATE_CHANGES:
            at = STATE_CHANGES[rule].target
            yield STATE_CHANGES[rule], reason
        elif rule not in CONSEQUENCES:
            reason = rule


def state_of(node: Coordinator) -> GroupState | str:
    """The state of the group; a dead group counts as absent."""
    return node.group.state if node.group and node.group.state is not DEAD else ABSENT
