"""The periodic cleanup: removes expired offsets, and groups without members and offsets.

It is not a request, and has no response (2.7 GroupMetadataManager.scala:784).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.classic.apis.delete_groups import remove_group
from groupcheck.model.classic.apis.offset_delete import has_offsets
from groupcheck.model.classic.rules.guards import EMPTY, STABLE, state_is
from groupcheck.model.classic.rules.retention import is_over
from groupcheck.model.classic.rules.subscription import CONSUMER
from groupcheck.model.classic.rules.transactions import mark_newest
from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import Offset, TopicPartition
from groupcheck.model.classic.step import Step
from groupcheck.model.classic.storing.records import fail_removal, removal_fails, remove_from_log
from groupcheck.model.engine.rules import Effect, Guard, decide, rule, single, table

AREA: Final = "cleanup"

Expired = Callable[[Step, TopicPartition, Offset], bool]


def cleanup(step: Step) -> None:
    """Remove what has expired."""
    decide(step, CLEANUP, None)


def _is_over(step: Step, _partition: TopicPartition, offset: Offset) -> bool:
    return is_over(step, offset.left_ms)


def _is_over_and_settled(step: Step, partition: TopicPartition, offset: Offset) -> bool:
    """Its own retention time is over, and no other commit of the partition is pending."""
    return partition not in dict(step.existing.unstable) and is_over(step, offset.left_ms)


def _is_over_for_empty(step: Step, partition: TopicPartition, offset: Offset) -> bool:
    """The group's retention time is over, or its own if its commit set one."""
    if not offset.fixed:
        offset = offset._replace(left_ms=step.existing.empty_left_ms)
    return _is_over_and_settled(step, partition, offset)


def _is_over_without_subscriber(step: Step, partition: TopicPartition, offset: Offset) -> bool:
    subscribed = partition[0] in (step.existing.subscribed or ())
    return not subscribed and _is_over_and_settled(step, partition, offset)


def _outside_transactions(expired: Expired) -> Expired:
    """The same, except for partitions that a transaction has pending."""

    def apply(step: Step, partition: TopicPartition, offset: Offset) -> bool:
        pending = any(p.partition == partition for p in step.existing.transactions)
        return not pending and expired(step, partition, offset)

    return apply


def _remove(words: str, expired: Expired) -> Effect:
    def apply(step: Step, _subject: object) -> None:
        remove_expired(step, expired)

    return Effect(f"remove offsets {words}", apply)


def _removes(words: str, expired: Expired) -> tuple[Effect, Effect]:
    """Remove offsets; 4.1 keeps those of partitions that a transaction has pending."""
    return (
        _remove(words, expired).only(at("", "", "GM:712")),
        _remove(
            f"{words}, except those of partitions with a transaction's pending offset",
            _outside_transactions(expired),
        ).only(at("", "", "", "OMM:1047")),
    )


def remove_expired(step: Step, expired: Expired) -> None:
    """Remove the expired offsets, and a group that is left without members and offsets."""
    if step.group is None:
        return
    gone = {tp for tp, offset in step.existing.offsets if expired(step, tp, offset)}
    group = mark_newest(step.existing, gone)._replace(
        offsets=tuple(entry for entry in step.existing.offsets if entry[0] not in gone)
    )
    dies = step.active and group.state is EMPTY and not has_offsets(group)
    if removal_fails(step, removes=bool(gone) or dies):
        fail_removal(step)
        return
    decide(step, EXPIRED, gone)
    remove_from_log(step, gone, with_group=dies)
    step.group = group
    if dies:
        decide(step, GROUP_GONE, None)


def _is_consumers(step: Step, _subject: object) -> bool:
    group = step.existing
    return group.protocol_type == CONSUMER and group.subscribed is not None


_NO_EFFECT: Final = Effect(
    "remove the group if it has no members and no offsets",
    lambda step, _subject: remove_expired(step, lambda _step, _partition, _offset: False),
)
CLEANUP: Final = table(
    "Cleanup",
    AREA,
    rule(
        "cleanup/nothing",
        "there is no group to clean up, or the coordinator is shut down",
        at("GMM:544", "GMM:568", "GMM:786", "SHARD:1002"),
        Guard(
            "there is no group, or the coordinator is shut down",
            lambda step, _subject: step.group is None or not step.active,
        ),
        _NO_EFFECT,
    ),
    rule(
        "cleanup/each-offset",
        "each offset expires at its own time, in any state of the group",
        at("GMM:545", "GM:303"),
        _remove("whose retention time has passed", _is_over).only(at("GMM:545")),
        _remove(
            "whose retention time has passed and whose partition has no pending commit",
            _is_over_and_settled,
        ).only(at("", "GM:303")),
    ),
    rule(
        "cleanup/empty",
        "the group has no members: its offsets expire after the group's retention time, or each "
        "at its own time",
        at("", "", "GM:734", "CG:951"),
        state_is(EMPTY),
        Guard(
            "a member has joined the group",
            lambda step, _subject: step.existing.protocol_type is not None,
        ),
        *_removes(
            "if the retention time of the group, or their own, has passed", _is_over_for_empty
        ),
    ),
    rule(
        "cleanup/consumers",
        "the group has members: offsets of topics that they do not subscribe to may expire",
        at("", "", "GM:745", "CG:960"),
        # The cleanup skips a group that rebalances (KAFKA-13636).
        state_is(STABLE).only(at("", "", "", "CG:960")),
        Guard("the members are consumers, and the coordinator knows their topics", _is_consumers),
        *_removes(
            "whose retention time has passed and to whose topic no member subscribes",
            _is_over_without_subscriber,
        ),
    ),
    rule(
        "cleanup/simple",
        "no member has ever joined the group, which only stores offsets",
        at("", "", "GM:755", "CG:969"),
        Guard(
            "no member has ever joined", lambda step, _subject: step.existing.protocol_type is None
        ),
        *_removes("whose retention time has passed", _is_over_and_settled),
    ),
    rule(
        "cleanup/in-use",
        "the group has members, and the coordinator does not know which topics they subscribe to",
        at("", "", "GM:760", "CG:972"),
        _NO_EFFECT,
        words_of={
            "4.1": "the group rebalances, or the coordinator does not know which topics its "
            "members subscribe to"
        },
    ),
)
EXPIRED: Final = single(
    "Offsets have expired",
    AREA,
    "cleanup/expired",
    "expired offsets are removed: a member that joins later has no committed offset",
    at("GMM:555", "GM:305", "GM:767", "OMM:1047"),
    Guard("an offset has expired", lambda _step, expired: bool(expired)),
)
GROUP_GONE: Final = single(
    "A group is cleaned up",
    AREA,
    "cleanup/group-removed",
    "the group has no members, no offsets and no pending offsets: it is removed",
    at("", "GMM:575", "GMM:808", "GMM:8410"),
    Effect("remove the group", remove_group),
)
PARTS: Final = (CLEANUP, EXPIRED, GROUP_GONE)
