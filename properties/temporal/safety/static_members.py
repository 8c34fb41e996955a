"""Safety of static members and of a group's size: laws of steps, as those in `safety`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
    Request,
    ResponseBody,
    TxnOffsetCommitResponse,
)
from groupcheck.properties.temporal.step import CheckedStep, Property, answer_of

COMPLETING: Final = GroupState.COMPLETING_REBALANCE


def _one_per_instance(step: CheckedStep) -> bool:
    named = [m.group_instance_id for m in step.new.members if m.group_instance_id is not None]
    return len(set(named)) == len(named)


def _errors(answer: ResponseBody) -> list[ErrorCode]:
    """What an answer says of each thing that the request named."""
    if isinstance(answer, LeaveGroupResponse) and answer.members:
        return [m.error_code for m in answer.members]
    if isinstance(answer, OffsetCommitResponse | TxnOffsetCommitResponse):
        return [p.error_code for topic in answer.topics for p in topic.partitions]
    return [getattr(answer, "error_code", ErrorCode.NONE)]


def _refuses_the_fenced(step: CheckedStep) -> bool:
    """Kafka looks at other things first, so which error it is depends."""
    if not isinstance(step.given, Request):
        return True
    answer, body = answer_of(step), step.given.body
    named = getattr(body, "members", None) or (body,)
    errors = _errors(answer) if answer is not None else []
    errors += [ErrorCode.NONE] * (len(named) - len(errors))  # what is not answered is taken
    return not any(
        _is_anothers(step, entry) and error is ErrorCode.NONE
        for entry, error in zip(named, errors, strict=False)
    )


def _is_anothers(step: CheckedStep, entry: object) -> bool:
    stands_for = step.old.static(getattr(entry, "group_instance_id", None))
    return stands_for is not None and getattr(entry, "member_id", "") not in {"", stands_for}


def _within_size(step: CheckedStep) -> bool:
    """At the end of a join phase no more are admitted than the group may have members."""
    if (
        "rebalance/complete" not in step.fired
        or step.new.state is not GroupState.COMPLETING_REBALANCE
    ):
        return True
    admitted = [
        r
        for r in step.responses
        if isinstance(r.body, JoinGroupResponse) and r.body.error_code is ErrorCode.NONE
    ]
    return len(admitted) <= step.config.group_max_size


ACTION_PROPERTIES: Final[dict[Property, Callable[[CheckedStep], bool]]] = {
    Property(
        "unique-instance-ids",
        "no two members have the same group.instance.id",
        "GroupMetadata.scala:305",
    ): _one_per_instance,
    Property(
        "fencing",
        "who names a group.instance.id that stands for another member is refused",
        "GroupMetadata.scala:399",
    ): _refuses_the_fenced,
    Property(
        "max-size",
        "at the end of a join phase no more members are admitted than group.max.size allows",
        "GroupCoordinator.scala:131",
    ): _within_size,
}
