"""Where a walk over an explored space is, what it calls things there, and how it goes on."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.model.vocabulary import JoinGroupResponse, ResponseBody
from groupcheck.properties.generators.tracks import NEWCOMER, Branch


class Place(NamedTuple):
    """Where a walk is, and what it calls things there.

    `names` lead from the node's names to the port's ids, or to symbols for those that were never
    told; `told` from the port's ids to their symbols; `ids` from the node's request ids to those
    of the walk.
    """

    node: int
    names: dict[str, str]
    told: dict[str, str]
    ids: dict[int, int]
    cut: int


def bound(pairs: list[tuple[ResponseBody, ResponseBody, int]], at: Place, number: int) -> Place:
    """The place once answers to newcomers have told their ids; the same if none did."""
    names, told = at.names, at.told
    for lawful, answer, _ in pairs:
        if type(lawful) is JoinGroupResponse and type(answer) is JoinGroupResponse:
            name, real = lawful.member_id, answer.member_id
            symbol = f"#{number}" if name == NEWCOMER else at.names.get(name)
            if symbol is None or symbol in at.told or not real or real in told:
                continue
            if names is at.names:
                names, told = names.copy(), told.copy()
            names[name], told[real] = real, symbol
    return at if names is at.names else Place(at.node, names, told, at.ids, at.cut)


def moved(branch: Branch, at: Place, number: int) -> Place:
    """Where a branch leads to from a place where all is known that its answers told."""
    names, ids = at.names, at.ids
    if branch.renames or len(names) != len(branch.names):
        symbol = f"#{number}"
        names = {after: names.get(before, symbol) for before, after in branch.names}
    if branch.renumbers or len(ids) != len(branch.ids):
        ids = {after: ids.get(before, number) for before, after in branch.ids}
    return Place(branch.target, names, at.told, ids, at.cut + branch.generations)
