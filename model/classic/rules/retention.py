"""How long offsets are retained: the time left, and its passing.

`cleanup` removes offsets whose time is over.
"""

from __future__ import annotations

from typing import Final, TypeVar

from groupcheck.model.classic.sources import at
from groupcheck.model.classic.state import NEVER, Group, Log, Offset, OffsetsAppend
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour, Effect
from groupcheck.model.vocabulary import NO_RETENTION

Holder = TypeVar("Holder", Group, Log)

COUNTS_FROM_EMPTY: Final = Behaviour(
    "retention-starts-when-empty",
    "cleanup",
    "the retention time of offsets starts when the last member leaves, and offsets expire at its "
    "end (KIP-211); otherwise it starts at the commit of each offset, which expires after its "
    "end",
    at("", "", "GM:734", "CG:951"),
)
WRAPS: Final = Behaviour(
    "retention-overflows",
    "cleanup",
    "the retention time is computed in 32 bits, so a long one overflows (until KAFKA-4472)",
    at("GC:744"),
)
READS_COMMIT_TIME: Final = Behaviour(
    "requests-say-commit-time",
    "cleanup",
    "OffsetCommit version 1 may say when an offset was committed, in the past or in the future, "
    "and the retention time that starts at its commit starts then",
    at("APIS:301", "APIS:323", "APIS:481"),
)


def retention_ms(step: Step, age_ms: int = 0) -> int | None:
    """What is left of the broker's retention time after `age_ms`; None where ages are not kept."""
    if not step.config.keeps_ages:
        return None
    seconds = step.config.offsets_retention_minutes * 60
    if WRAPS(step):
        seconds = (seconds + 2**31) % 2**32 - 2**31
    return max(seconds * 1_000 - age_ms, _least_ms(step))


def retained(step: Step, offset: Offset, said_ms: int = NO_RETENTION, age_ms: int = 0) -> Offset:
    """An offset with the retention time that the request asks for, or else the broker's.

    `age_ms` is how long before the request it was committed, if the request says that; no version
    of the request says both. Where each offset has its own retention time, it does not matter
    whether the request set it.
    """
    if said_ms == NO_RETENTION or not step.config.keeps_ages:
        counted_ms = age_ms if READS_COMMIT_TIME(step) else 0
        return offset._replace(left_ms=retention_ms(step, counted_ms))
    left_ms = max(said_ms, _least_ms(step))
    return offset._replace(left_ms=left_ms, fixed=COUNTS_FROM_EMPTY(step))


def _start_empty_retention(step: Step, _subject: object) -> None:
    step.group = step.existing._replace(empty_left_ms=retention_ms(step))


START_EMPTY_RETENTION: Final = Effect(
    "start the retention time of its offsets (KIP-211)", _start_empty_retention
).only(at("", "", "GM:417", "CG:995"))


def is_over(step: Step, left_ms: int | None) -> bool:
    """Whether the time is over; in some versions it has to be exceeded."""
    return left_ms is not None and left_ms <= _least_ms(step)


def elapse(step: Step, ms: int) -> None:
    """Take `ms` off every retention time, in memory and in the log."""
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
    """The minimum of the time left, in ms: below it, differences have no effect."""
    return 0 if COUNTS_FROM_EMPTY(step) else -1


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
    """The same holder without the ages of offsets and the fields that only prevent their expiry."""
    changed = holder._replace(
        offsets=tuple((tp, offset.ageless) for tp, offset in holder.offsets),
        transactions=tuple(p._replace(offset=p.offset.ageless) for p in holder.transactions),
    )
    if isinstance(changed, Group):
        unstable = tuple(each for each in changed.unstable if each[1] != NEVER)
        return changed._replace(empty_left_ms=None, unstable=unstable)
    record = changed.group
    return changed._replace(group=record and record._replace(empty_left_ms=None))


PARTS: Final = (COUNTS_FROM_EMPTY, WRAPS, READS_COMMIT_TIME)
