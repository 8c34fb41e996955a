"""The broker settings that the rules read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

# Those that the rules read of the settings that a broker has, under Kafka's names.
BROKER_SETTINGS: Final = (
    "group.min.session.timeout.ms",
    "group.max.session.timeout.ms",
    "group.initial.rebalance.delay.ms",
    "offset.metadata.max.bytes",
    "group.max.size",
)


class Config(NamedTuple):
    """The broker settings that the rules read, with 2.7's defaults.

    Fields are Kafka's names with dots as underscores; `new_member_join_timeout_ms` is fixed in
    2.7 (GroupCoordinator.NewMemberJoinTimeoutMs). The timer_… are no settings of a broker but the
    windows within which timers are judged on a real clock; both are 0 in virtual time.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    new_member_join_timeout_ms: int = 300_000
    timer_early_ms: int = 0
    timer_late_ms: int = 0
    group_max_size: int = 2**31 - 1

    @classmethod
    def of(cls, broker: Mapping[str, int]) -> Config:
        """The settings with those of `broker` (Kafka's names) in the place of the defaults."""
        return cls()._replace(**{name.replace(".", "_"): value for name, value in broker.items()})
