"""The tolerances within which the timers and answers of a live coordinator are checked."""

from __future__ import annotations

from typing import Final, NamedTuple


class Tolerances(NamedTuple):
    """What is allowed for the time that nobody sees.

    Args:
        late_ms: how late a timer may fire, and still be lawful. Kafka's purgatory ticks every
            millisecond and its reaper runs every 200 ms; the rest is for loaded machines.
        early_ms: by how much a timer may seem to fire early to an observer whose clock is another;
            never more than `late_ms`.
        answer_ms: how long an answer that must come is waited for.
        grace_ms: how long it is waited whether an answer comes that must not.
    """

    late_ms: int = 1_000
    early_ms: int = 50
    answer_ms: int = 5_000
    grace_ms: int = 30


USUAL: Final = Tolerances()
EXACT: Final = Tolerances(late_ms=0, grace_ms=0)
LONG_RUN_GRACE_MS: Final = 100
