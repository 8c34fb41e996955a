"""Where a walk over an explored space is, what it calls things there, and how it goes on."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.model.vocabulary import JoinGroupResponse, ResponseBody
from groupcheck.properties.generators.precomputed import NEWCOMER, Branch


class WalkState(NamedTuple):
    """Where a walk is, and what it calls things there.

    `names` lead from the node's names to the port's ids, or to symbols for those that were never
    told; `told` from the port's ids to their symbols; `ids` from the node's request ids to those
    of the walk.
    """

    node: int
    names: dict[str, str]
    revealed: dict[str, str]
    ids: dict[int, int]
    cut: int


def bound(
    pairs: list[tuple[ResponseBody, ResponseBody, int]], at: WalkState, number: int
) -> WalkState:
    """The place once answers to newcomers have told their ids; the same if none did."""
    names, revealed = at.names, at.revealed
    for allowed, answer, _ in pairs:
        if type(allowed) is JoinGroupResponse and type(answer) is JoinGroupResponse:
            name, real = allowed.member_id, answer.member_id
            symbol = f"#{number}" if name == NEWCOMER else at.names.get(name)
            if symbol is None or symbol in at.revealed or not real or real in revealed:
                continue
            if names is at.names:
                names, revealed = names.copy(), revealed.copy()
            names[name], revealed[real] = real, symbol
    return at if names is at.names else WalkState(at.node, names, revealed, at.ids, at.cut)


def moved(branch: Branch, at: WalkState, number: int) -> WalkState:
    """Where a branch leads to from a place where all is known that its answers told."""
    names, ids = at.names, at.ids
    if branch.renames or len(names) != len(branch.names):
        symbol = f"#{number}"
        names = {after: names.get(before, symbol) for before, after in branch.names}
    if branch.renumbers or len(ids) != len(branch.ids):
        ids = {after: ids.get(before, number) for before, after in branch.ids}
    return WalkState(branch.target, names, at.revealed, ids, at.cut + branch.generations)
