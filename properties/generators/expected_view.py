"""The expected view of a node, for a port that shows its whole inner state: a fast comparison.

A view that fits is allowed. One that does not fit may still be allowed: `compare` compares it
field by field.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.state import Group, Member
from groupcheck.model.vocabulary import (
    GroupState,
    GroupView,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

UNREVEALED = "?"  # an id that the port has not revealed yet


class Shape:
    """A node's group as a port shows it, with its members by their names in the node."""

    __slots__ = ("_generation_id", "_leader", "_members", "_offsets", "_pending", "_stage")

    def __init__(self, group: Group) -> None:
        stable = group.state is GroupState.STABLE
        self._stage = (group.state, group.protocol_type, group.protocol_name)
        self._generation_id = group.generation_id
        self._leader = group.leader
        self._members = tuple((m.member_id, _row(m, stable=stable)) for m in group.members)
        self._pending = tuple(pending.member_id for pending in group.pending)
        self._offsets = _by_topic(group)

    def fits(
        self, view: GroupView, names: Mapping[str, str], revealed: Mapping[str, str], cut: int
    ) -> bool:
        """Whether a view is exactly the expected one.

        `names` maps the node's names to the port's ids, `revealed` has the ids that the port has
        revealed, and `cut` is the number of generations cut in the node. At most one member may
        have an unrevealed id: this comparison cannot distinguish several.
        """
        _, state, generation_id, kind, protocol, leader, members, pending, offsets = view
        if (
            generation_id != self._generation_id + cut
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


def _row(member: Member, *, stable: bool) -> tuple[object, ...]:
    """What a view shows of a member, but for its id."""
    return (
        member.group_instance_id,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        member.awaiting_join is not None,
        member.awaiting_sync is not None,
        member.assignment if stable else b"",
    )


def _by_topic(group: Group) -> tuple[OffsetCommitRequestTopic, ...]:
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in group.offsets:
        found = OffsetCommitRequestPartition(partition, *offset[:3])
        topics.setdefault(topic, []).append(found)
    return tuple(OffsetCommitRequestTopic(name, tuple(found)) for name, found in topics.items())
