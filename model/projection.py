"""The state graph seen through the group's state alone: its arrows, and the reasons for each.

One step may pass through several states: when the last member leaves a stable group, a rebalance
begins and ends in it. So an arrow is not read off the ends of an edge but off the rules applied on
it, and the ends then have to agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from groupcheck.model import log, rebalance
from groupcheck.model.explorer import Edge, Space
from groupcheck.model.graph import Hop
from groupcheck.model.rebalance import COMPLETING, EMPTY, PREPARING, STABLE
from groupcheck.model.state import Coordinator
from groupcheck.model.vocabulary import GroupState

ABSENT: Final = "absent"


class Arrow(NamedTuple):
    """From one state of the group to another; `absent` is before anybody named it."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


# A group is always made Empty (GroupCoordinator.scala:680, 699). Nothing of the model makes one
# Dead yet.
CREATED: Final = Arrow(ABSENT, EMPTY)

# GroupMetadata.scala:54, 71, 89, 123: validPreviousStates of each state.
LAWFUL: Final = (
    CREATED,
    Arrow(EMPTY, PREPARING),
    Arrow(PREPARING, COMPLETING),
    Arrow(COMPLETING, STABLE),
    Arrow(STABLE, PREPARING),
    Arrow(COMPLETING, PREPARING),
    Arrow(PREPARING, EMPTY),
)

# The rules that change the group's state; none but these do.
MAKES: Final = {
    rebalance.PREPARE_FROM_EMPTY.name: Arrow(EMPTY, PREPARING),
    rebalance.PREPARE_FROM_STABLE.name: Arrow(STABLE, PREPARING),
    rebalance.PREPARE_FROM_COMPLETING.name: Arrow(COMPLETING, PREPARING),
    rebalance.COMPLETE.name: Arrow(PREPARING, COMPLETING),
    rebalance.COMPLETE_EMPTY.name: Arrow(PREPARING, EMPTY),
    log.STABILISE.name: Arrow(COMPLETING, STABLE),
}

# What follows from another rule of the same step, and is no reason of its own.
_CONSEQUENCES: Final = frozenset(
    rule.name for rule in (*rebalance.RULES, log.STABILISE, log.TOO_LATE, log.COMMITTED)
)


class Projection(NamedTuple):
    """The arrows of a space, each with its reasons, and on how many labelled edges.

    `torn` are the edges whose rules do not lead from the state before to the state after.
    """

    arrows: dict[Arrow, Counter[str]]
    torn: list[Hop]

    @property
    def unlawful(self) -> list[Arrow]:
        """The arrows that Kafka does not have."""
        return [arrow for arrow in self.arrows if arrow not in LAWFUL]

    @property
    def missing(self) -> list[Arrow]:
        """The arrows that Kafka has and the space has not."""
        return [arrow for arrow in LAWFUL if arrow not in self.arrows]


def project(space: Space) -> Projection:
    """The projection of a space."""
    projection = Projection({}, [])
    for node, edges in enumerate(space.edges):
        before = _state(space.nodes[node])
        for place, edge in enumerate(edges):
            after = _state(space.nodes[edge.target])
            at: str | None = before
            for arrow, reason in passed(before, after, edge):
                projection.arrows.setdefault(arrow, Counter())[reason] += 1
                at = arrow.target if arrow.source == at else None
            if at != after:
                projection.torn.append(Hop(node, place))
    return projection


def merged(projections: list[Projection]) -> Projection:
    """The projection of several spaces together."""
    arrows: dict[Arrow, Counter[str]] = {}
    for projection in projections:
        for arrow, reasons in projection.arrows.items():
            arrows.setdefault(arrow, Counter()).update(reasons)
    return Projection(arrows, [hop for projection in projections for hop in projection.torn])


def passed(before: str, after: str, edge: Edge) -> Iterator[tuple[Arrow, str]]:
    """The arrows that an edge passes, in order, each with the rule that is the reason."""
    reason = edge.fired[0]
    if before == ABSENT != after:
        yield CREATED, reason
    for rule in edge.fired:
        if rule in MAKES:
            yield MAKES[rule], reason
        elif rule not in _CONSEQUENCES:
            reason = rule


def _state(node: Coordinator) -> GroupState | str:
    return node.group.state if node.group else ABSENT
