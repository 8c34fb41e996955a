"""The state of a walk over an explored instance: its node and the names there."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.vocabulary import JoinGroupResponse, ResponseBody
from groupcheck.properties.generators.precomputed import NEWCOMER, AllowedAnswer, Branch

# The node of a walk that has left the instance.
OUTSIDE: Final = -1


class WalkState(NamedTuple):
    """The node of a walk, and the names there.

    `names` maps the node's names to the port's ids, or to symbols for ids that were never
    revealed; `revealed` maps the port's ids to their symbols; `ids` maps the node's request ids
    to those of the walk.
    """

    node: int
    names: dict[str, str]
    revealed: dict[str, str]
    ids: dict[int, int]
    generation_offset: int


def bound(
    pairs: list[tuple[AllowedAnswer, ResponseBody, int]], at: WalkState, number: int
) -> WalkState:
    """The walk state after answers have revealed ids of new members; the same if none has."""
    names, revealed = at.names, at.revealed
    for (_, allowed, _), answer, _ in pairs:
        if type(allowed) is JoinGroupResponse and type(answer) is JoinGroupResponse:
            name, real = allowed.member_id, answer.member_id
            symbol = f"#{number}" if name == NEWCOMER else at.names.get(name)
            if symbol is None or symbol in at.revealed or not real or real in revealed:
                continue
            if names is at.names:
                names, revealed = names.copy(), revealed.copy()
            names[name], revealed[real] = real, symbol
    return (
        at
        if names is at.names
        else WalkState(at.node, names, revealed, at.ids, at.generation_offset)
    )


def moved(branch: Branch, at: WalkState, number: int) -> WalkState:
    """The walk state after a branch, from one with the ids that its answers revealed."""
    names, ids = at.names, at.ids
    if branch.renames or len(names) != len(branch.names):
        symbol = f"#{number}"
        names = {after: names.get(before, symbol) for before, after in branch.names}
    if branch.renumbers or len(ids) != len(branch.ids):
        ids = {after: ids.get(before, number) for before, after in branch.ids}
    offset = 0 if branch.generations is None else at.generation_offset + branch.generations
    return WalkState(branch.target, names, at.revealed, ids, offset)
