"""Safety of offsets in transactions and of what is deleted, in words apart from the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.state import Cleanup, Offset, TopicPartition
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    EndTxnRequest,
    EndTxnResponse,
    ErrorCode,
    OffsetDeleteRequest,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.temporal.step import CheckedStep, Property, answer_of


def _marks(step: CheckedStep) -> bool:
    """Whether a marker comes to something: where it does not, who sends it is told."""
    answer = answer_of(step)
    return isinstance(answer, EndTxnResponse) and answer.error_code is ErrorCode.NONE


def _pending(step: CheckedStep, producer_id: int) -> dict[TopicPartition, Offset]:
    return {p.partition: p.offset for p in step.old.transactions if p.producer_id == producer_id}


def _markers_make_readable(step: CheckedStep) -> bool:
    """An abort changes no offset; a commit only to what its producer had pending."""
    body = step.body
    before, after = dict(step.old.offsets), dict(step.new.offsets)
    if isinstance(body, TxnOffsetCommitRequest):
        return before == after
    if not isinstance(body, EndTxnRequest):
        return True
    pending = _pending(step, body.producer_id) if body.committed else {}
    return before.keys() <= after.keys() and all(
        offset in {before.get(partition), pending.get(partition)}
        for partition, offset in after.items()
    )


def _newest_stands(step: CheckedStep) -> bool:
    """What a commit marker leaves standing is what was committed last."""
    body = step.body
    if not isinstance(body, EndTxnRequest) or not body.committed or not _marks(step):
        return True
    after = dict(step.new.offsets)
    return all(
        (after.get(p.partition) == p.offset) == p.newer
        for p in step.old.transactions
        if p.producer_id == body.producer_id and p.offset != dict(step.old.offsets).get(p.partition)
    )


def _marker_ends_all(step: CheckedStep) -> bool:
    body = step.body
    if not isinstance(body, EndTxnRequest) or not _marks(step):
        return True
    left = {p.producer_id for p in step.new.transactions} | {*step.new.producers}
    return body.producer_id not in left


def _only_empty_groups_go(step: CheckedStep) -> bool:
    """A group is gone by a deletion or a cleanup alone, and only if it had no members."""
    if step.before.group is None or step.after.group is not None:
        return True
    asked = isinstance(step.body, DeleteGroupsRequest | OffsetDeleteRequest)
    deletes = asked or isinstance(step.given, Cleanup)
    return deletes and not step.old.members


def _deletion_as_answered(step: CheckedStep) -> bool:
    """The group is gone exactly if DeleteGroups says so."""
    answer = answer_of(step)
    if not isinstance(answer, DeleteGroupsResponse):
        return True
    (result,) = answer.results
    gone = step.before.group is not None and step.after.group is None
    return gone == (result.error_code is ErrorCode.NONE)


def _subscribed_offsets_stay(step: CheckedStep) -> bool:
    """No OffsetDelete takes an offset that the members have subscribed to."""
    if not isinstance(step.body, OffsetDeleteRequest) or not step.old.members:
        return True
    deleted = {tp for tp, _ in step.old.offsets} - {tp for tp, _ in step.new.offsets}
    known = step.old.subscribed
    return not deleted or (known is not None and all(topic not in known for topic, _ in deleted))


ACTION_PROPERTIES: Final[dict[Property, Callable[[CheckedStep], bool]]] = {
    Property(
        "read-committed",
        "an offset of a transaction can be read only from its commit marker on, and never if the "
        "marker aborts it",
        "GroupMetadata.scala:660",
    ): _markers_make_readable,
    Property(
        "newest-offset-wins",
        "a commit marker makes an offset readable exactly if no newer one of its partition can be "
        "read already",
        "GroupMetadata.scala:670",
    ): _newest_stands,
    Property(
        "marker-ends-transaction",
        "after its marker nothing of a producer is pending, unless the marker is answered with an "
        "error",
        "GroupMetadata.scala:661",
    ): _marker_ends_all,
    Property(
        "only-empty-groups-removed",
        "a group that exists is gone only by a deletion or a cleanup, and only without members",
        "GroupCoordinator.scala:530",
    ): _only_empty_groups_go,
    Property(
        "deleted-as-answered",
        "a group is gone exactly if DeleteGroups answers that it is",
        "GroupCoordinator.scala:543",
    ): _deletion_as_answered,
    Property(
        "subscribed-offsets-not-deleted",
        "no offset is deleted while members of the group have subscribed to its topic, or may have",
        "GroupCoordinator.scala:577",
    ): _subscribed_offsets_stay,
}
