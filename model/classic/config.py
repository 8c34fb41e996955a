"""The broker settings that the rules read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

# The settings that the check of a running broker depends on, under Kafka's names.
BROKER_SETTINGS: Final = (
    "group.min.session.timeout.ms",
    "group.max.session.timeout.ms",
    "group.initial.rebalance.delay.ms",
    "offset.metadata.max.bytes",
    "group.max.size",
)
# And all that the rules read: of a running broker no offset expires while one waits for it.
SETTINGS: Final = (*BROKER_SETTINGS, "offsets.retention.minutes")


class Config(NamedTuple):
    """The broker settings that the rules read, with 2.7's defaults.

    Fields are Kafka's names with dots as underscores; `new_member_join_timeout_ms` is fixed in
    2.7 (GroupCoordinator.NewMemberJoinTimeoutMs). The timer_… are no settings of a broker but the
    tolerances of timers on a real clock; both are 0 in virtual time. Nor is
    `keeps_ages`: whether it is kept how long offsets have been committed, which nothing but a
    cleanup shows. Nor `shares_partition`: whether other groups, which are not seen, write to the
    partition of the group.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    new_member_join_timeout_ms: int = 300_000
    timer_early_ms: int = 0
    timer_late_ms: int = 0
    group_max_size: int = 2**31 - 1
    offsets_retention_minutes: int = 10_080
    keeps_ages: bool = False
    shares_partition: bool = False

    @classmethod
    def of(cls, broker: Mapping[str, int]) -> Config:
        """The settings with those of `broker` (Kafka's names) in the place of the defaults."""
        said: dict[str, Any] = {name.replace(".", "_"): value for name, value in broker.items()}
        return cls()._replace(**said)
