"""The expected view of a node, for a port that shows its whole inner state: a fast comparison.

A view that fits is allowed. One that does not fit may still be allowed: `compare` compares it
field by field.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.classic.state import Group
from groupcheck.model.vocabulary import (
    GroupState,
    GroupView,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from groupcheck.properties.compare import UNREVEALED, member_view


class ExpectedView:
    """A node's group as a port shows it, with its members by their names in the node."""

    __slots__ = ("_generation_id", "_leader", "_members", "_offsets", "_pending", "_stage")

    def __init__(self, group: Group) -> None:
        self._stage = (group.state, group.protocol_type, group.protocol_name)
        self._generation_id = group.generation_id
        self._leader = group.leader
        views = [member_view(member) for member in group.members]
        if group.state is not GroupState.STABLE:
            views = [view._replace(assignment=b"") for view in views]
        self._members = tuple((view.member_id, view[1:]) for view in views)
        self._pending = tuple(pending.member_id for pending in group.pending)
        self._offsets = _by_topic(group)

    def fits(
        self,
        view: GroupView,
        names: Mapping[str, str],
        revealed: Mapping[str, str],
        generation_offset: int,
    ) -> bool:
        """Whether a view is exactly the expected one.

        `names` maps the node's names to the port's ids, `revealed` has the ids that the port has
        revealed, and `generation_offset` is the port's generation minus that of the node. At most
        one member may have an unrevealed id: this comparison cannot distinguish several.
        """
        _, state, generation_id, kind, protocol, leader, members, pending, offsets = view
        if (
            generation_id != self._generation_id + generation_offset
            or (state, kind, protocol) != self._stage
            or offsets != self._offsets
            or members is None
            or pending is None
        ):
            return False
        ours: dict[str | None, object] = {names[name]: row for name, row in self._members}
        theirs: dict[str | None, object] = {row[0]: row[1:] for row in members}
        led_by = None if self._leader is None else names[self._leader]
        if ours != theirs or led_by != leader:
            ours = {_known(name, revealed): row for name, row in ours.items()}
            theirs = {_known(name, revealed): row for name, row in theirs.items()}
            if ours != theirs or _known(led_by, revealed) != _known(leader, revealed):
                return False
        if not len(ours) == len(members) == len(self._members):
            return False
        if len(pending) != len(self._pending):
            return False
        return not pending or set(pending) == {names[name] for name in self._pending}


def _known(member_id: str | None, revealed: Mapping[str, str]) -> str | None:
    return (member_id if member_id in revealed else UNREVEALED) if member_id else None


def _by_topic(group: Group) -> tuple[OffsetCommitRequestTopic, ...]:
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in group.offsets:
        found = OffsetCommitRequestPartition(partition, *offset[:3])
        topics.setdefault(topic, []).append(found)
    return tuple(OffsetCommitRequestTopic(name, tuple(found)) for name, found in topics.items())
