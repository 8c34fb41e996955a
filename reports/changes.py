"""A result beside an earlier one: findings that are new, known or gone, and edges that are lost."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.properties.coverage.kind import SHOWN
from groupcheck.reports.merging import key, same_graph
from groupcheck.reports.saved import Found, Saved, Space
from groupcheck.reports.words import counted


class Lost(NamedTuple):
    """The edges of a space that were shown before and are not now, by their numbers."""

    space: Space
    edges: tuple[int, ...]

    @property
    def name(self) -> str:
        """The space, as coverage files name it."""
        return f"{self.space.name}/{self.space.members}"

    @property
    def how_many(self) -> str:
        """How many there are, in words."""
        return counted(len(self.edges), "labelled edge")


class Changes(NamedTuple):
    """What has changed since the baseline; without one, every finding is new.

    `not_compared` are the spaces that are of another model now; `lost_fails` says whether a run
    that lost edges has failed.
    """

    new: tuple[Found, ...]
    known: tuple[Found, ...] = ()
    gone: tuple[Found, ...] = ()
    lost: tuple[Lost, ...] = ()
    not_compared: tuple[str, ...] = ()
    compared: bool = False
    lost_fails: bool = False

    @property
    def fails(self) -> bool:
        """Whether there is something that a CI is to fail on."""
        return bool(self.new or (self.lost and self.lost_fails))


def changes(now: Saved, before: Saved | None, *, lost_fails: bool = False) -> Changes:
    """What has changed."""
    if before is None:
        return Changes(now.findings)
    ids, old_ids = ({f.id for f in saved.findings} for saved in (now, before))
    lost, not_compared = _lost(now, before)
    return Changes(
        tuple(finding for finding in now.findings if finding.id not in old_ids),
        tuple(finding for finding in now.findings if finding.id in old_ids),
        tuple(finding for finding in before.findings if finding.id not in ids),
        lost,
        not_compared,
        compared=True,
        lost_fails=lost_fails,
    )


def _lost(now: Saved, before: Saved) -> tuple[tuple[Lost, ...], tuple[str, ...]]:
    spaces = {key(space): space for space in now.spaces}
    lost, not_compared = [], []
    for old in before.spaces:
        new = spaces.get(key(old))
        if new is not None and not same_graph(old, new):
            not_compared.append(f"{old.name}/{old.members}")
            continue
        kinds = "u" * len(old.edge_kinds) if new is None else new.edge_kinds
        edges = tuple(
            number
            for number, (was, now_is) in enumerate(zip(old.edge_kinds, kinds, strict=True))
            if was in SHOWN and now_is not in SHOWN
        )
        if edges:
            lost.append(Lost(old, edges))
    return tuple(lost), tuple(not_compared)


def lines(changed: Changes) -> list[str]:
    """The same for a terminal, a line for each sort; none without a baseline."""
    if not changed.compared:
        return []
    sorts = {"new": changed.new, "known": changed.known, "gone": changed.gone}
    told = [
        f"{name:<11}{counted(len(found), 'finding')}: {', '.join(f.id for f in found)}"
        for name, found in sorts.items()
        if found
    ]
    told += [
        f"lost       {each.name}: {each.how_many} that the baseline shows" for each in changed.lost
    ]
    if changed.not_compared:
        told.append(f"not held   of another model now: {', '.join(changed.not_compared)}")
    return told or ["baseline   nothing has changed"]
