"""The log as the group's records make it: what is appended is there at once, what fails never is.

When an append completes, and what comes of it, is the matter of `log`.
"""

from __future__ import annotations

from groupcheck.model.state import GroupRecord, Member, Offset, TopicPartition, put
from groupcheck.model.step import Step
from groupcheck.model.vocabulary import ErrorCode


def next_error(step: Step) -> ErrorCode:
    """How the next append ends: with an error if it is one of those that are to fail."""
    failing = step.failing
    if failing is None:
        return ErrorCode.NONE
    left = failing.number - 1
    step.failing = failing._replace(number=left) if left else None
    return failing.error


def record_group(step: Step, assignments: dict[str, bytes]) -> None:
    """The group with these assignments (GroupMetadataManager.scala:1256).

    Of what a member offers only the protocol that was chosen is recorded.
    """
    if step.log is None:
        return
    group = step.existing
    members = tuple(_loaded(step, member, assignments) for member in group.members)
    record = GroupRecord(
        group.generation_id, group.protocol_type, group.protocol_name, group.leader, members
    )
    step.log = step.log._replace(group=record)


def _loaded(step: Step, member: Member, assignments: dict[str, bytes]) -> Member:
    """A member as it will be when it is loaded."""
    name = step.existing.protocol_name
    return member._replace(
        protocols=tuple(p for p in member.protocols if p.name == name),
        session_left_ms=None,
        awaiting_join=None,
        awaiting_sync=None,
        assignment=assignments[member.member_id],
        null_instance=step.profile.traits.loaded_count_as_static,
    )


def record_empty(step: Step) -> None:
    """A group without members; nobody waits for it, nor is told if it fails."""
    if next_error(step) is ErrorCode.NONE:
        record_group(step, {})


def remove_group(step: Step) -> None:
    """The record that removes the group; nobody waits for it, nor is told if it fails."""
    if next_error(step) is ErrorCode.NONE and step.log is not None:
        step.log = step.log._replace(group=None)


def record_offsets(step: Step, offsets: tuple[tuple[TopicPartition, Offset], ...]) -> None:
    """Offsets that are committed."""
    if step.log is None:
        return
    recorded = step.log.offsets
    for partition, offset in offsets:
        recorded = put(recorded, partition, offset)
    step.log = step.log._replace(offsets=recorded)
