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
# With both, offsets expire while a running broker is tested. Otherwise none does.
RETENTION: Final = "offsets.retention.minutes"
CLEANUP_INTERVAL: Final = "offsets.retention.check.interval.ms"
EXPIRY_SETTINGS: Final = (RETENTION, CLEANUP_INTERVAL)
SETTINGS: Final = (*BROKER_SETTINGS, *EXPIRY_SETTINGS)


class Config(NamedTuple):
    """The broker settings that the rules read, with 2.7's defaults.

    Fields are Kafka's names with dots as underscores; `new_member_join_timeout_ms` is fixed in
    2.7 (GroupCoordinator.NewMemberJoinTimeoutMs). Some fields are not settings of a broker. The
    `timer_` fields are the tolerances of timers on a real clock; both are 0 in virtual time.
    `keeps_ages` is whether states have the ages of offsets, which only a cleanup reads.
    The interval of cleanups is for tests of running brokers; no rule reads it.
    `shares_partition` is whether other groups, which the model does not have, write to the group's
    partition.
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
    offsets_retention_check_interval_ms: int = 600_000
    keeps_ages: bool = False
    shares_partition: bool = False

    @classmethod
    def of(cls, broker: Mapping[str, int]) -> Config:
        """The settings of `broker` (Kafka's names), and defaults for the others."""
        said: dict[str, Any] = {name.replace(".", "_"): value for name, value in broker.items()}
        return cls()._replace(**said)
