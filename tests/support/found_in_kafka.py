"""Violations of the properties by Kafka: a shortest sequence for each, and its effect on users.

They are data. A test checks on the model that each violates its property; bench/known_sequences.py
runs them on brokers and writes docs/found-in-kafka.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.instances.inputs import GROUP_ID, INSTANCE, OTHER_PROTOCOLS
from groupcheck.model.classic.state import Advance
from groupcheck.model.vocabulary import DeleteGroupsRequest, ErrorCode, MemberIdentity, Response
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.run import Replayed, replay_seen
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.temporal.step import error_codes
from groupcheck.properties.tolerances import Tolerances
from support.differences_on_the_wire import (
    DELAY,
    INITIAL_DELAY,
    REBALANCE_MS,
    SIZE,
    Asked,
    Shown,
    Step,
    describe,
    heartbeat,
    join,
    sync,
)
from support.requests import leave

TOLERANCES: Final = Tolerances(late_ms=1_000, answer_ms=30_000, grace_ms=30)
OLDEST, OLD, NEW = "0.10.2", "2.7", "4.1"
STATIC: Final[Mapping[str, Any]] = {"instance": INSTANCE}
BRIEF: Final[Mapping[str, Any]] = {"rebalance_ms": REBALANCE_MS}
AT_ONCE: Final[Mapping[str, int]] = {INITIAL_DELAY: 0}


class Found(NamedTuple):
    """A violation of a property by Kafka, with the contents of a bug report.

    `steps` end with what users see: a response to the last request with the error `shows`. `needs`
    are settings of the broker. `seen` are the versions that have it among those of the brokers.
    """

    title: str
    property: str
    seen: tuple[str, ...]
    since: str
    happens: str
    costs: str
    lines: str
    issue: str
    steps: tuple[Step, ...]
    shows: ErrorCode
    needs: Mapping[str, int] = AT_ONCE

    def settings(self, profile: str) -> dict[str, int]:
        """The settings that a broker of a version has."""
        return {name: value for name, value in self.needs.items() if profile != OLDEST}

    def broker(self, profile: str) -> str:
        """The broker of a version, started by name with the settings."""
        settings = "&".join(f"{name}={value}" for name, value in self.settings(profile).items())
        return f"kafka:{profile}?{settings}".removesuffix("?")


def sequence_of(found: Found, profile: str, settings: Mapping[str, int]) -> Sequence:
    """The sequence for a broker of a version with these settings."""
    shown = Shown(found.title, profile, profile, found.steps, found.needs)
    return Sequence(profile, dict(settings), shown.on(profile, found.needs[INITIAL_DELAY]))


def played(found: Found, profile: str) -> Replayed:
    """The sequence on a broker of a version, which is started for it."""
    source = source_of(found.broker(profile))
    try:
        return played_on(source, found, profile)
    finally:
        source.stop()


def source_of(broker: str) -> PortSource:
    """A broker that is started by name; its first port starts it."""
    return port_source(broker, tolerances=TOLERANCES)


def played_on(source: PortSource, found: Found, profile: str) -> Replayed:
    """The sequence on a broker that may have run others: it uses a group of its own."""
    settings = source.broker_settings().values
    port = source.connect()
    try:
        return replay_seen(sequence_of(found, profile, settings), port)
    finally:
        port.shutdown()


def errors_shown(responses: tuple[Response, ...], request_id: int) -> list[ErrorCode]:
    """The error codes of the response to the last request."""
    bodies = (each.body for each in responses if each.request_id == request_id)
    return [code for body in bodies for code in error_codes(body)]


def shown(replayed: Replayed) -> list[ErrorCode]:
    """The error codes of the response to the last request of a broker."""
    return errors_shown(replayed.exchanges[-1].seen.responses, len(replayed.exchanges))


def _leave(member_id: str, version: int, instance_id: str | None = None) -> Asked:
    return Asked(version, leave(MemberIdentity(member_id, instance_id)))


def _delete() -> Asked:
    return Asked(1, DeleteGroupsRequest((GROUP_ID,)))


SLOW: Final[Mapping[str, Any]] = {"rebalance_ms": 2 * REBALANCE_MS}
ALONE: Final = (join(version=3, **BRIEF), DELAY, sync("#1"))  # a member, Stable
FOUND: Final = (
    Found(
        "LeaveGroup of a member that never joined makes the whole group rebalance",
        "rebalance-cause",
        (NEW,),
        "the new group coordinator (3.7 with KRaft and the new coordinator, every 4.x)",
        "A consumer sends JoinGroup without a member id, gets one with MEMBER_ID_REQUIRED, and "
        "leaves before it joins, for example because it is closed. It was not a member. But the "
        "group prepares a rebalance, and every member has to join again. Kafka 2.7 only removes "
        "the pending id.",
        "Every member stops, revokes its partitions and joins again, once for each client that "
        "starts and stops early. A client that does so in a loop keeps the group rebalancing.",
        "4.1 `GroupMetadataManager.java`: the pending id is dropped at 7933, and counts as a "
        "member that left at 7968; 7976 to 7980 prepare the rebalance. 2.7.2 "
        "`GroupCoordinator.scala:477` ends there.",
        "",
        (join(version=9), join(version=3), DELAY, sync("#2"), _leave("#1", 5), heartbeat("#2")),
        ErrorCode.REBALANCE_IN_PROGRESS,
    ),
    Found(
        "A full group waits for a member that it has just rejected",
        "join-phase-ends-at-once",
        (NEW,),
        "the new group coordinator (3.7 with KRaft and the new coordinator, every 4.x)",
        "While a group rebalances, new members join and take all places of `group.max.size`. The "
        "last member that has not rejoined is rejected with GROUP_MAX_SIZE_REACHED and removed. "
        "Now no member is missing, but the coordinator does not check that, and the join phase "
        "continues. Kafka 2.7 ends it at once.",
        "All members of the group wait for the rest of the rebalance timeout, which is "
        "`max.poll.interval.ms`, by default 5 minutes, and consume nothing.",
        "4.1 `GroupMetadataManager.java:6169` removes the member and ends; 2.7.2 "
        "`GroupCoordinator.scala:195` completes the join phase after every JoinGroup.",
        "",
        (
            *ALONE,
            join(version=3, **BRIEF),
            join(version=3, **BRIEF),
            join("#1", version=3, **BRIEF),
            describe(),
            Advance(REBALANCE_MS + 1_500),
            heartbeat("#1", 2),
        ),
        ErrorCode.UNKNOWN_MEMBER_ID,
        {INITIAL_DELAY: 0, SIZE: 2},
    ),
    Found(
        "A static member that restarts before its SyncGroup makes the group rebalance later",
        "sync-awaited-of-members",
        (NEW,),
        "2.8.1 and 3.0 (the fix of KAFKA-12890), in both coordinators",
        "A static member restarts after the leader has sent the assignments and before its own "
        "SyncGroup. It gets a new member id, keeps its assignment, and syncs. The group "
        "still waits for the SyncGroup of the old id. When the rebalance timeout is over it "
        "removes that id, which is no member, and prepares a rebalance. No member is missing.",
        "One rebalance of a group in which nothing has changed, up to 5 minutes after the restart "
        "that static membership is meant to make harmless.",
        "4.1 `ClassicGroup.java:491` takes only a member that is removed from the pending syncs, "
        "and the replacement of a static member is not a removal; "
        "`GroupMetadataManager.java:7150` prepares the rebalance.",
        "",
        (
            join(version=3, **SLOW),
            DELAY,
            join(version=9, **STATIC, **SLOW),
            join("#1", version=3, **SLOW),
            sync("#1", 2),
            join(version=9, **STATIC, **SLOW),
            sync("#6", 2),
            heartbeat("#1", 2),
            Advance(2 * REBALANCE_MS + 1_500),
            heartbeat("#1", 2),
        ),
        ErrorCode.REBALANCE_IN_PROGRESS,
    ),
    Found(
        "A static member that restarts with another subscription causes no rebalance",
        "new-protocols-rebalance",
        (OLD, NEW),
        "2.3 (KIP-345)",
        "A static member restarts and subscribes to other topics. While the vote for the protocol "
        "stands, the coordinator answers with the old generation and the leader "
        "learns nothing. A member that sends its member id causes a rebalance.",
        "No member consumes the new topics, and this one keeps partitions of topics that it no "
        "longer subscribes to, until another event causes a rebalance.",
        "2.7.2 `GroupCoordinator.scala:1053`, 4.1 `GroupMetadataManager.java:7274`: only the name "
        "of the protocol is compared.",
        "KAFKA-12759 (open)",
        (
            join(version=7),
            join("#1", version=7),
            DELAY,
            join(version=7, **STATIC),
            join("#1", version=7),
            sync("#1", 2),
            join(version=7, **STATIC, protocols=OTHER_PROTOCOLS),
            heartbeat("#1", 2),
        ),
        ErrorCode.NONE,
    ),
    Found(
        "A group that its last member has left cannot be deleted",
        "no-rebalance-without-members",
        (OLD, NEW),
        "0.11 (KIP-134); DeleteGroups exists since 1.1",
        "The last member leaves during the initial rebalance delay. The group "
        "stays in PreparingRebalance, without members, until the delay is over. The same holds "
        "while the group waits for a member id that no client uses.",
        "For up to `group.initial.rebalance.delay.ms`, by default 3 seconds, DeleteGroups and the "
        "reset of offsets fail with NON_EMPTY_GROUP; scripts that stop a consumer and delete its "
        "group sometimes fail.",
        "2.7.2 `DelayedJoin.scala:64` never completes early, 4.1 `GroupMetadataManager.java:7992`.",
        "",
        (join(version=4), join("#1", version=4), _leave("#1", 3), _delete()),
        ErrorCode.NON_EMPTY_GROUP,
        {INITIAL_DELAY: 3_000},
    ),
    Found(
        "A static member of a full group cannot restart",
        "group-full-cause",
        (OLD, NEW),
        "2.3 (KIP-345)",
        "A static member of a group that has `group.max.size` members restarts. It would replace "
        "itself and need no further place, but is rejected. Kafka 2.7 also removes its "
        "group.instance.id: an administrator cannot remove the member by it, and the next member "
        "with it is a second one.",
        "The consumer fails with GroupMaxSizeReachedException, which is fatal. Its partitions have "
        "no consumer until the session of its old id times out.",
        "2.7.2 `GroupCoordinator.scala:155` and 186, 4.1 `GroupMetadataManager.java:6169`: the "
        "size is checked by the member id, which is empty.",
        "KAFKA-20601, fixed for consumer groups of KIP-848 only",
        (join(version=5, **STATIC), DELAY, sync("#1"), join(version=5, **STATIC)),
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        {INITIAL_DELAY: 0, SIZE: 1},
    ),
    Found(
        "A group can have more members than its maximum size",
        "generation-size",
        (OLD, NEW),
        "2.3 (KIP-345)",
        "While a group rebalances, the limit counts the members that have rejoined. New members "
        "take all places. A static member that has not rejoined at the rebalance timeout stays a "
        "member in addition to them.",
        "The limit of KIP-389 does not hold: with static members a group can have up to twice as "
        "many members as `group.max.size`, here 3 with a limit of 2.",
        "2.7.2 `GroupCoordinator.scala:131` counts, and 1190 removes dynamic members only; 4.1 "
        "`GroupMetadataManager.java:7175` and 6593.",
        "",
        (
            join(version=7, **STATIC, **BRIEF),
            DELAY,
            join(version=7, **BRIEF),
            join("#3", version=7, **BRIEF),
            join("#1", version=7, **STATIC, **BRIEF),
            _leave("#3", 3),
            join(version=7, **BRIEF),
            join("#7", version=7, **BRIEF),
            join(version=7, **BRIEF),
            join("#9", version=7, **BRIEF),
            Advance(REBALANCE_MS + 1_500),
            describe(),
        ),
        ErrorCode.NONE,
        {INITIAL_DELAY: 0, SIZE: 2},
    ),
    Found(
        "A JoinGroup that is rejected creates the group",
        "errors-leave-no-trace",
        (OLD, NEW),
        "0.10.1 (the Empty state)",
        "The first JoinGroup of a group is rejected, here because it offers no protocols. The "
        "group exists afterwards, Empty. A commit with too much metadata does the same.",
        "A group that never had a member or an offset is listed until the next cleanup.",
        "2.7.2 `GroupCoordinator.scala:179`, 4.1 `GroupMetadataManager.java:6160`: the group is "
        "created before the request is checked.",
        "",
        (join(version=5, protocols=()), _delete()),
        ErrorCode.NONE,
    ),
    Found(
        "The session timer of a member that was removed makes the group rebalance",
        "rebalance-cause",
        (OLDEST,),
        "0.9, until 2.0",
        "A member does not rejoin and is removed at the rebalance timeout. Its session timer "
        "keeps running. When the timer ends, the group prepares a rebalance, though no member has "
        "changed.",
        "A second rebalance, up to a session timeout after the first.",
        "0.10.2.2 `GroupCoordinator.scala:685` removes the member and not its timer; 737 does not "
        "check whether it is a member.",
        "KAFKA-7196 (fixed in 2.0.1 and 2.1)",
        (
            join(version=1, session_ms=6_000, **SLOW),
            join(version=1, **SLOW),
            Advance(2 * REBALANCE_MS + 500),
            sync("#2", 2),
            heartbeat("#2", 2),
            Advance(3_000),
            heartbeat("#2", 2),
        ),
        ErrorCode.REBALANCE_IN_PROGRESS,
    ),
)
