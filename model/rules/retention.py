"""For how long offsets are retained: what is left of that time, and how it passes.

What becomes of them when it is over is the matter of `cleanup`.
"""

from __future__ import annotations

from typing import TypeVar

from groupcheck.model.state import Group, Log, Offset, OffsetsAppend
from groupcheck.model.step import Step
from groupcheck.model.vocabulary import NO_RETENTION

Holder = TypeVar("Holder", Group, Log)


def retention_ms(step: Step) -> int | None:
    """How long the broker retains offsets; None where ages are not kept."""
    if not step.config.keeps_ages:
        return None
    seconds = step.config.offsets_retention_minutes * 60
    if step.profile.traits.retention_wraps:
        seconds = (seconds + 2**31) % 2**32 - 2**31
    return max(seconds * 1_000, _least_ms(step))


def retained(step: Step, offset: Offset, said_ms: int = NO_RETENTION) -> Offset:
    """An offset that is committed now, perhaps with a retention of its own.

    Where each offset has its own time anyway, it does not matter who has said how long that is.
    """
    if said_ms == NO_RETENTION or not step.config.keeps_ages:
        return offset._replace(left_ms=retention_ms(step))
    left_ms = max(said_ms, _least_ms(step))
    return offset._replace(left_ms=left_ms, fixed=step.profile.traits.retained_from_empty)


def empty_left_ms(step: Step) -> int | None:
    """What is left of the retention of a group whose last member goes now."""
    return retention_ms(step) if step.profile.traits.retained_from_empty else None


def is_over(step: Step, left_ms: int | None) -> bool:
    """Whether the time is up, or past where a version wants it to be."""
    return left_ms is not None and left_ms <= _least_ms(step)


def elapse(step: Step, ms: int) -> None:
    """Take time off what is retained, wherever it is: the log grows old, whoever has it."""
    if not ms or not step.config.keeps_ages:
        return
    least_ms = _least_ms(step)
    if step.group is not None:
        left_ms = _less(step.group.empty_left_ms, ms, least_ms)
        step.group = _older(step.group, ms, least_ms)._replace(empty_left_ms=left_ms)
    if step.log is not None:
        log, record = _older(step.log, ms, least_ms), step.log.group
        left_ms = _less(record.empty_left_ms, ms, least_ms) if record else None
        step.log = log._replace(group=record and record._replace(empty_left_ms=left_ms))
    step.appends = tuple(
        a._replace(offsets=tuple((tp, _aged(o, ms, least_ms)) for tp, o in a.offsets))
        if isinstance(a, OffsetsAppend)
        else a
        for a in step.appends
    )


def _least_ms(step: Step) -> int:
    """What is left at the least, when it does not matter any more how long it has been over."""
    return 0 if step.profile.traits.retained_from_empty else -1


def _older(holder: Holder, ms: int, least_ms: int) -> Holder:
    return holder._replace(
        offsets=tuple((tp, _aged(offset, ms, least_ms)) for tp, offset in holder.offsets),
        transactions=tuple(
            p._replace(offset=_aged(p.offset, ms, least_ms)) for p in holder.transactions
        ),
    )


def _aged(offset: Offset, ms: int, least_ms: int) -> Offset:
    return offset._replace(left_ms=_less(offset.left_ms, ms, least_ms))


def _less(left_ms: int | None, ms: int, least_ms: int) -> int | None:
    return None if left_ms is None else max(left_ms - ms, least_ms)


def ageless(holder: Holder) -> Holder:
    """The same with offsets of no age."""
    changed = holder._replace(
        offsets=tuple((tp, offset.ageless) for tp, offset in holder.offsets),
        transactions=tuple(p._replace(offset=p.offset.ageless) for p in holder.transactions),
    )
    if isinstance(changed, Group):
        return changed._replace(empty_left_ms=None)
    record = changed.group
    return changed._replace(group=record and record._replace(empty_left_ms=None))
