"""Safety of cleanups: what may expire and when, in words apart from the rules.

An offset's time is over when nothing is left of the retention that began with its commit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.rules.retention import COUNTS_FROM_EMPTY, ageless
from groupcheck.model.state import Cleanup, Group, Offset, TopicPartition
from groupcheck.model.storing.records import REMOVALS_ARE_WRITTEN
from groupcheck.model.vocabulary import GroupState
from groupcheck.properties.temporal.step import CheckedStep, Property

# The states of a group that nobody belongs to, nor is about to.
ALONE: Final = frozenset({GroupState.EMPTY, GroupState.DEAD})


def _expired(step: CheckedStep) -> dict[TopicPartition, Offset]:
    """What a cleanup has removed."""
    if not isinstance(step.given, Cleanup):
        return {}
    left = dict(step.new.offsets)
    return {tp: offset for tp, offset in step.old.offsets if tp not in left}


def _gone(step: CheckedStep) -> bool:
    return step.before.group is not None and step.after.group is None


def _awaits_offsets(group: Group) -> bool:
    """Whether commits are on their way, or the markers of transactions."""
    return bool(group.unstable or group.transactions or group.producers)


def _are_retained(step: CheckedStep) -> bool:
    return all(
        offset.left_ms is not None and offset.left_ms <= 0 for offset in _expired(step).values()
    )


def _subscribed_are_kept(step: CheckedStep) -> bool:
    known = step.old.subscribed
    return not step.old.members or all(
        known is not None and topic not in known for topic, _ in _expired(step)
    )


def _rebalances_keep(step: CheckedStep) -> bool:
    return step.old.state in {*ALONE, GroupState.STABLE} or not _expired(step)


def _only_spent_groups_expire(step: CheckedStep) -> bool:
    if not isinstance(step.given, Cleanup) or not _gone(step):
        return True
    return step.old.state is GroupState.EMPTY and not _awaits_offsets(step.old)


def _is_not_written(step: CheckedStep) -> bool:
    """Whether what the cleanup removes has to be written first, and cannot be."""
    return REMOVALS_ARE_WRITTEN.holds_in(step.profile.version) and step.before.failing is not None


def _spent_groups_end(step: CheckedStep) -> bool:
    spent = step.old.state is GroupState.EMPTY and not step.old.offsets
    awaited = _awaits_offsets(step.old) or not step.before.active or _is_not_written(step)
    if not isinstance(step.given, Cleanup) or not spent or awaited:
        return True
    return step.after.group is None


def _all_is_removed(step: CheckedStep) -> bool:
    """Where each offset has its own time, that has to be past, else it is up at once."""
    alone = step.old.state in ALONE and not _awaits_offsets(step.old)
    if not isinstance(step.given, Cleanup) or not alone:
        return True
    least_ms = 0 if COUNTS_FROM_EMPTY.holds_in(step.profile.version) else -1
    over = [tp for tp, o in step.old.offsets if o.left_ms is not None and o.left_ms <= least_ms]
    of_group = step.old.empty_left_ms
    waits = of_group is not None and of_group > 0
    return waits or _is_not_written(step) or not {tp for tp, _ in step.new.offsets} & {*over}


def _rest_is_spared(step: CheckedStep) -> bool:
    if not isinstance(step.given, Cleanup) or _gone(step):
        return True
    return _rest(step.old) == _rest(step.new) and step.before.appends == step.after.appends


def _rest(group: Group) -> Group:
    """The group but for its offsets, and for what a marker would make readable."""
    pending = (p._replace(newer=True) for p in group.transactions)
    return ageless(group)._replace(offsets=(), transactions=tuple(pending))


ACTION_PROPERTIES: Final[dict[Property, Callable[[CheckedStep], bool]]] = {
    Property(
        "offset-retention",
        "no cleanup removes an offset before the time is over for which it is retained since its "
        "commit",
        "GroupMetadata.scala:721",
    ): _are_retained,
    Property(
        "subscribed-offsets-not-expired",
        "no cleanup removes an offset while members of the group have subscribed to its topic, or "
        "may have",
        "GroupMetadata.scala:716",
    ): _subscribed_are_kept,
    Property(
        "no-expiry-in-rebalance",
        "no cleanup removes an offset while the group rebalances and nobody knows what its members "
        "will need",
        "KAFKA-13636",
    ): _rebalances_keep,
    Property(
        "only-unused-groups-expire",
        "a cleanup takes a group only if it has no members and awaits neither commits nor the "
        "markers of transactions",
        "GroupMetadataManager.scala:808",
    ): _only_spent_groups_expire,
    Property(
        "unused-groups-expire",
        "a group without members and offsets that awaits none is gone after the next cleanup, "
        "unless that cannot be written first where it has to be",
        "GroupMetadataManager.scala:808",
    ): _spent_groups_end,
    Property(
        "expired-offsets-removed",
        "a group without members that awaits no offsets keeps none past a cleanup after their "
        "time, unless that cannot be written first where it has to be",
        "GroupMetadata.scala:767",
    ): _all_is_removed,
    Property(
        "cleanup-removes-only-offsets",
        "a cleanup changes nothing of a group that stays but its offsets: members, commits on "
        "their way and transactions are what they were",
        "GroupMetadata.scala:710",
    ): _rest_is_spared,
}
