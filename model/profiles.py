"""The profiles: for each version of Kafka, which rules hold, in which order, and its defaults.

A profile is data. A rule that differs between versions is named once in the module of its API and
listed here; no action asks which version it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from groupcheck.model import (
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    log,
    offset_commit,
    offset_fetch,
    rebalance,
    sync_group,
    timers,
)
from groupcheck.model.step import Rule


class Config(NamedTuple):
    """The broker settings that the rules read, with 2.7's defaults.

    Fields are Kafka's names with dots as underscores; `new_member_join_timeout_ms` is fixed in
    2.7 (GroupCoordinator.NewMemberJoinTimeoutMs). The last two are no settings of a broker but the
    windows within which timers are judged on a real clock; both are 0 in virtual time.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    new_member_join_timeout_ms: int = 300_000
    timer_early_ms: int = 0
    timer_late_ms: int = 0

    @classmethod
    def of(cls, broker: Mapping[str, int]) -> Config:
        """The settings with those of `broker` (Kafka's names) in the place of the defaults."""
        return cls()._replace(**{name.replace(".", "_"): value for name, value in broker.items()})


class Profile(NamedTuple):
    """One version's rules; each API's decision list is tried from the top."""

    name: str
    kafka: str
    max_versions: Mapping[str, int]
    join_gate: tuple[Rule, ...]
    join_unknown: tuple[Rule, ...]
    join_known: tuple[Rule, ...]
    sync_group: tuple[Rule, ...]
    heartbeat: tuple[Rule, ...]
    leave_group: tuple[Rule, ...]
    offset_commit: tuple[Rule, ...]
    offset_fetch: tuple[Rule, ...]
    describe_groups: tuple[Rule, ...]
    config: Config
    rules: Mapping[str, Rule]


def _by_name(*tables: tuple[Rule, ...]) -> dict[str, Rule]:
    return {rule.name: rule for table in tables for rule in table}


PROFILE_2_7: Final = Profile(
    name="2.7",
    kafka="Apache Kafka 2.7.2",
    max_versions={
        "JoinGroup": 7,
        "SyncGroup": 5,
        "Heartbeat": 4,
        "LeaveGroup": 4,
        "OffsetCommit": 8,
        "OffsetFetch": 7,
        "DescribeGroups": 5,
    },
    join_gate=join_group.GATE,
    join_unknown=join_group.UNKNOWN,
    join_known=join_group.KNOWN,
    sync_group=sync_group.RULES,
    heartbeat=heartbeat.RULES,
    leave_group=leave_group.DECISIONS,
    offset_commit=offset_commit.DECISIONS,
    offset_fetch=offset_fetch.RULES,
    describe_groups=describe_groups.RULES,
    config=Config(),
    rules=_by_name(
        join_group.RULES,
        sync_group.RULES,
        heartbeat.RULES,
        leave_group.RULES,
        offset_commit.RULES,
        offset_fetch.RULES,
        describe_groups.RULES,
        rebalance.RULES,
        log.RULES,
        timers.RULES,
    ),
)

PROFILES: Final[Mapping[str, Profile]] = {PROFILE_2_7.name: PROFILE_2_7}
