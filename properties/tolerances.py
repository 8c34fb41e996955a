"""The tolerances within which the timers and answers of a live coordinator are checked."""

from __future__ import annotations

from typing import Final, NamedTuple


class Tolerances(NamedTuple):
    """How far observed times may differ from Kafka's.

    Args:
        late_ms: how late a timer may fire. Kafka's purgatory ticks every millisecond and its reaper
            runs every 200 ms; the rest allows for loaded machines.
        early_ms: how early a timer may seem to fire to an observer with another clock;
            never more than `late_ms`.
        answer_ms: how long to wait for a required answer.
        grace_ms: how long to wait to confirm that no answer arrives.
    """

    late_ms: int = 1_000
    early_ms: int = 50
    answer_ms: int = 5_000
    grace_ms: int = 30


USUAL: Final = Tolerances()
EXACT: Final = Tolerances(late_ms=0, grace_ms=0)
LONG_RUN_GRACE_MS: Final = 100
LONG_RUN: Final = Tolerances(grace_ms=LONG_RUN_GRACE_MS)
