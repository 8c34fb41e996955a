"""Properties of transactional offsets, deletions and cleanups.

An offset is expired when nothing is left of the retention time that its commit started.
"""

from __future__ import annotations

from groupcheck.model.classic.rules.retention import COUNTS_FROM_EMPTY, ageless
from groupcheck.model.classic.state import (
    Cleanup,
    Group,
    HeldDeletion,
    Offset,
    ReleaseAppends,
    TopicPartition,
)
from groupcheck.model.classic.storing.records import REMOVALS_ARE_APPENDED
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    EndTxnRequest,
    EndTxnResponse,
    ErrorCode,
    GroupState,
    OffsetDeleteRequest,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.temporal.property import action_property
from groupcheck.properties.temporal.step import WITHOUT_MEMBERS, CheckedStep


def _marker(step: CheckedStep) -> EndTxnRequest | None:
    """The request of the step, if it is a transaction marker that is answered without an error."""
    answer = step.answer
    written = isinstance(answer, EndTxnResponse) and answer.error_code is ErrorCode.NONE
    return step.body_of(EndTxnRequest) if written else None


def _pending(step: CheckedStep, producer_id: int) -> dict[TopicPartition, Offset]:
    return {p.partition: p.offset for p in step.old.transactions if p.producer_id == producer_id}


@action_property("read-committed", "GroupMetadata.scala:660", TxnOffsetCommitRequest, EndTxnRequest)
def _read_committed(step: CheckedStep) -> bool:
    """A transactional offset becomes readable with the commit marker of its producer.

    It never does if the marker aborts.
    """
    before, after = dict(step.old.offsets), dict(step.new.offsets)
    if isinstance(step.body, TxnOffsetCommitRequest):
        return before == after
    body = step.body_of(EndTxnRequest)
    pending = _pending(step, body.producer_id) if body.committed else {}
    return before.keys() <= after.keys() and all(
        offset in {before.get(partition), pending.get(partition)}
        for partition, offset in after.items()
    )


@action_property("newest-offset-wins", "GroupMetadata.scala:670", EndTxnRequest)
def _newest_offset_wins(step: CheckedStep) -> bool:
    """A commit marker makes an offset readable exactly if no newer one of its partition is."""
    marker = _marker(step)
    if marker is None or not marker.committed:
        return True
    before, after = dict(step.old.offsets), dict(step.new.offsets)
    return all(
        (after.get(p.partition) == p.offset) == p.newer
        for p in step.old.transactions
        if p.producer_id == marker.producer_id and p.offset != before.get(p.partition)
    )


@action_property("marker-ends-transaction", "GroupMetadata.scala:661", EndTxnRequest)
def _marker_ends_transaction(step: CheckedStep) -> bool:
    """After its marker a producer has no pending offsets.

    The exception is a marker that is answered with an error.
    """
    marker = _marker(step)
    left = {p.producer_id for p in step.new.transactions} | {*step.new.producers}
    return marker is None or marker.producer_id not in left


@action_property("only-empty-groups-removed", "GroupCoordinator.scala:530")
def _only_empty_groups_removed(step: CheckedStep) -> bool:
    """Only a deletion or a cleanup removes a group, and only if it has no members."""
    if step.before.group is None or step.after.group is not None:
        return True
    requested = isinstance(step.body, DeleteGroupsRequest | OffsetDeleteRequest)
    deletes = requested or isinstance(step.given, Cleanup) or held_deletions(step)
    return bool(deletes) and not step.old.members


@action_property(
    "deleted-as-answered", "GroupCoordinator.scala:543", DeleteGroupsRequest, ReleaseAppends
)
def _deleted_as_answered(step: CheckedStep) -> bool:
    """DeleteGroups removes a group exactly if its response has no error."""
    held = held_deletions(step)
    released = (response.body for response in step.responses if response.request_id in held)
    answers = [a for a in (step.answer, *released) if isinstance(a, DeleteGroupsResponse)]
    deleted = any(r.error_code is ErrorCode.NONE for answer in answers for r in answer.results)
    return not answers or _removed(step) == deleted


def held_deletions(step: CheckedStep) -> set[int]:
    """The deletions that a release decides on."""
    held = {e.request_id for e in step.before.appends if isinstance(e, HeldDeletion)}
    return held if isinstance(step.given, ReleaseAppends) else set()


@action_property(
    "subscribed-offsets-not-deleted", "GroupCoordinator.scala:577", OffsetDeleteRequest
)
def _subscribed_offsets_not_deleted(step: CheckedStep) -> bool:
    """OffsetDelete deletes no offset of a topic that a member may subscribe to."""
    if not step.old.members:
        return True
    deleted = {tp for tp, _ in step.old.offsets} - {tp for tp, _ in step.new.offsets}
    known = step.old.subscribed
    return not deleted or (known is not None and all(topic not in known for topic, _ in deleted))


def _expired(step: CheckedStep) -> dict[TopicPartition, Offset]:
    """The offsets that a cleanup removed."""
    left = dict(step.new.offsets)
    return {tp: offset for tp, offset in step.old.offsets if tp not in left}


def _removed(step: CheckedStep) -> bool:
    return step.before.group is not None and step.after.group is None


def _awaits_offsets(group: Group) -> bool:
    """Whether the group waits for appends of commits, or for transaction markers."""
    return bool(group.unstable or group.transactions or group.producers)


def _cannot_write(step: CheckedStep) -> bool:
    """Whether the version writes what a cleanup removes, and the append fails."""
    return REMOVALS_ARE_APPENDED.holds_in(step.profile.version) and step.before.failing is not None


@action_property("offset-retention", "GroupMetadata.scala:721", Cleanup)
def _offset_retention(step: CheckedStep) -> bool:
    """No cleanup removes an offset before its retention time, counted from its commit, is over."""
    return all(
        offset.left_ms is not None and offset.left_ms <= 0 for offset in _expired(step).values()
    )


@action_property("subscribed-offsets-not-expired", "GroupMetadata.scala:716", Cleanup)
def _subscribed_offsets_not_expired(step: CheckedStep) -> bool:
    """No cleanup removes an offset of a topic that a member may subscribe to."""
    known = step.old.subscribed
    return not step.old.members or all(
        known is not None and topic not in known for topic, _ in _expired(step)
    )


@action_property("no-expiry-in-rebalance", "KAFKA-13636", Cleanup)
def _no_expiry_in_rebalance(step: CheckedStep) -> bool:
    """No cleanup removes an offset while the group rebalances.

    The subscriptions of the next generation are not known yet.
    """
    return step.old.state in {*WITHOUT_MEMBERS, GroupState.STABLE} or not _expired(step)


@action_property("only-unused-groups-expire", "GroupMetadataManager.scala:808", Cleanup)
def _only_unused_groups_expire(step: CheckedStep) -> bool:
    """A cleanup removes a group only if it has no members and awaits no offsets.

    A group awaits offsets while a commit or a transaction marker is missing.
    """
    if not _removed(step):
        return True
    return step.old.state is GroupState.EMPTY and not _awaits_offsets(step.old)


@action_property("unused-groups-expire", "GroupMetadataManager.scala:808", Cleanup)
def _unused_groups_expire(step: CheckedStep) -> bool:
    """A cleanup removes every group without members and offsets that awaits none.

    The exception is a version that writes the removal first, if the append fails.
    """
    unused = step.old.state is GroupState.EMPTY and not step.old.offsets
    kept = _awaits_offsets(step.old) or not step.before.active or _cannot_write(step)
    if not unused or kept:
        return True
    return step.after.group is None


@action_property("expired-offsets-removed", "GroupMetadata.scala:767", Cleanup)
def _expired_offsets_removed(step: CheckedStep) -> bool:
    """A cleanup removes every expired offset of a group without members that awaits none.

    The exception is a version that writes the removal first, if the append fails.
    """
    alone = step.old.state in WITHOUT_MEMBERS and not _awaits_offsets(step.old)
    if not alone:
        return True
    # An offset with a time of its own expires only after it.
    limit_ms = 0 if COUNTS_FROM_EMPTY.holds_in(step.profile.version) else -1
    over = [tp for tp, o in step.old.offsets if o.left_ms is not None and o.left_ms <= limit_ms]
    of_group = step.old.empty_left_ms
    waits = of_group is not None and of_group > 0
    return waits or _cannot_write(step) or not {tp for tp, _ in step.new.offsets} & {*over}


@action_property("cleanup-removes-only-offsets", "GroupMetadata.scala:710", Cleanup)
def _cleanup_removes_only_offsets(step: CheckedStep) -> bool:
    """A cleanup that keeps the group changes only its offsets.

    Members, pending commits and transactions stay as they are.
    """
    if _removed(step):
        return True
    return _rest(step.old) == _rest(step.new) and step.before.appends == step.after.appends


def _rest(group: Group) -> Group:
    """The group without its offsets, and without what a marker would make readable."""
    pending = (p._replace(newer=True) for p in group.transactions)
    return ageless(group)._replace(offsets=(), transactions=tuple(pending))
