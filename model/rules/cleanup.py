"""The cleanup that runs from time to time: expired offsets go, and groups that are left with none.

It is no request, and nobody is told of it (GroupMetadataManager.scala:784).
"""

from __future__ import annotations

from typing import Final

from groupcheck.model.apis.delete_groups import dissolve
from groupcheck.model.apis.offset_delete import has_offsets
from groupcheck.model.rules.rebalance import EMPTY, STABLE
from groupcheck.model.rules.retention import is_over
from groupcheck.model.rules.subscription import CONSUMER
from groupcheck.model.rules.transactions import mark_newest
from groupcheck.model.state import Offset, TopicPartition
from groupcheck.model.step import Retention, Rule, Step, gm, gmm
from groupcheck.model.storing.records import removal_fails, remove_from_log

EXPIRED = Rule(
    "cleanup/expired",
    "the offsets that have expired are removed: who joins anew begins elsewhere",
    gm(767),
)
GROUP_GONE = Rule(
    "cleanup/group-gone",
    "the group has neither members nor offsets, nor waits for any, so it is gone",
    gmm(808),
)
RULES: Final = (EXPIRED, GROUP_GONE)


def cleanup(step: Step) -> None:
    """Remove what has expired."""
    retention = next(r for r in step.profile.cleanup if r.holds(step))
    step.fire(retention.rule)
    if step.group is None:
        return
    expired = {tp for tp, o in step.existing.offsets if retention.expired(step, tp, o)}
    group = mark_newest(step.existing, expired)._replace(
        offsets=tuple(entry for entry in step.existing.offsets if entry[0] not in expired)
    )
    dies = step.active and group.state is EMPTY and not has_offsets(group)
    if removal_fails(step, removes=bool(expired) or dies):
        return
    if expired:
        step.fire(EXPIRED)
    remove_from_log(step, expired, with_group=dies)
    step.group = group
    if dies:
        step.fire(GROUP_GONE)
        dissolve(step)


def _past(step: Step, _partition: TopicPartition, offset: Offset) -> bool:
    """Its own time is over."""
    return is_over(step, offset.left_ms)


def _past_and_settled(step: Step, partition: TopicPartition, offset: Offset) -> bool:
    """Its own time is over, and no other commit of the partition is on its way to the log."""
    return partition not in dict(step.existing.unstable) and is_over(step, offset.left_ms)


def _of_empty_group(step: Step, partition: TopicPartition, offset: Offset) -> bool:
    """The same, but that the time is that of the group, unless the commit has said another."""
    if not offset.fixed:
        offset = offset._replace(left_ms=step.existing.empty_left_ms)
    return _past_and_settled(step, partition, offset)


def _unsubscribed(step: Step, partition: TopicPartition, offset: Offset) -> bool:
    """Its own time is over, and no member has subscribed to its topic."""
    subscribed = partition[0] in (step.existing.subscribed or ())
    return not subscribed and _past_and_settled(step, partition, offset)


def _never(_step: Step, _partition: TopicPartition, _offset: Offset) -> bool:
    return False


def _is_consumers(step: Step) -> bool:
    """Whether there are members, and it is known what they have subscribed to."""
    group = step.existing
    return group.protocol_type == CONSUMER and group.subscribed is not None


NOTHING = Retention(
    Rule(
        "cleanup/nothing",
        "there is no group to look at, or the coordinator is shut down",
        gmm(786),
    ),
    lambda step: step.group is None or not step.active,
    _never,
)
# Until KIP-211, in 2.1.
EACH_BY_ITSELF = Retention(
    Rule(
        "cleanup/each-by-itself",
        "an offset expires once its time is past, whatever the group does",
        gm(303),
    ),
    lambda _step: True,
    _past_and_settled,
)
# Where a group does not know its offsets, nor does who looks at them of commits on their way.
EACH_WHATEVER_COMES = EACH_BY_ITSELF._replace(expired=_past)
EMPTY_GROUP = Retention(
    Rule(
        "cleanup/empty",
        "the group has had no members for the retention time, or each offset its own",
        gm(734),
    ),
    lambda step: step.existing.state is EMPTY and step.existing.protocol_type is not None,
    _of_empty_group,
)
CONSUMERS = Retention(
    Rule(
        "cleanup/consumers",
        "the group has members: offsets of topics that they have not subscribed to may expire",
        gm(745),
    ),
    _is_consumers,
    _unsubscribed,
)
SIMPLE = Retention(
    Rule(
        "cleanup/simple",
        "nobody has ever joined the group, which only stores offsets",
        gm(755),
    ),
    lambda step: step.existing.protocol_type is None,
    _past_and_settled,
)
IN_USE = Retention(
    Rule(
        "cleanup/in-use",
        "the group has members, and nobody knows which topics they need",
        gm(760),
    ),
    lambda _step: True,
    _never,
)
BY_STATE: Final = (NOTHING, EMPTY_GROUP, CONSUMERS, SIMPLE, IN_USE)


def outside_transactions(retention: Retention) -> Retention:
    """The same, but that nothing expires of a partition while a transaction has it pending."""

    def expired(step: Step, partition: TopicPartition, offset: Offset) -> bool:
        pending = any(p.partition == partition for p in step.existing.transactions)
        return not pending and retention.expired(step, partition, offset)

    return retention._replace(expired=expired)


def in_peace(retention: Retention) -> Retention:
    """The same, but only in Stable: while a group rebalances, nobody knows what it needs."""
    return retention._replace(
        holds=lambda step: step.existing.state is STABLE and retention.holds(step)
    )
