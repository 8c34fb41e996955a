"""The statements with which Kafka's coordinators log what becomes of groups, and where they stand.

`SCALA` are those of 2.2 to 2.7, lines as of 2.7.2, `OLD` those of 0.10.2, lines as of 0.10.2.2, and
`JAVA` those of 4.x, lines as of 4.1. What a statement says of the model is in `log_signs`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

ANY: Final = r".*"
WORDS: Final = {
    "G": rf"(?P<group>{ANY})",
    "g": rf"(?P<group>{ANY}?)",
    "S": r"(?P<state>\w+)",
    "N": r"(?P<generation>-?\d+)",
    "M": rf"(?P<member>{ANY}?)",
    "I": rf"(?P<instance>{ANY}?)",
    "K": r"(?P<members>\d+)",
    "R": rf"(?P<reason>{ANY})",
    "P": r"__consumer_offsets-\d+",
    "*": ANY,
}


class Statement(NamedTuple):
    """A statement: `what` happened by it, None if nothing did that a group's state shows."""

    what: str | None
    source: str
    text: str
    pattern: re.Pattern[str]


def _table(file: str, *rows: tuple[str | None, int, str]) -> tuple[Statement, ...]:
    """Statements of a file; in a text `<G>` is a group, and so on as in WORDS."""
    return tuple(
        Statement(what, f"{file}:{line}", text, _pattern(text)) for what, line, text in rows
    )


def _pattern(text: str) -> re.Pattern[str]:
    parts = re.split(r"<(.)>", text)
    told = [WORDS[part] if at % 2 else re.escape(part) for at, part in enumerate(parts)]
    return re.compile("".join(told) + r"\.?$", re.DOTALL)


SCALA: Final = (
    *_table(
        "GroupCoordinator.scala",
        (
            "preparing",
            1140,
            (
                "Preparing to rebalance group <g> in state <S> with old generation <N> (<P>) "
                "(reason: <R>)"
            ),
        ),
        ("stabilized", 1222, "Stabilized group <G> generation <N> (<P>)"),
        ("assigned", 412, "Assignment received from leader for group <G> for generation <N>"),
        ("empty", 1210, "Group <G> with generation <N> is now empty (<P>)"),
        (
            "joined",
            236,
            (
                "Dynamic Member with unknown member id joins group <g> in <S> state. Created a new "
                "member id <M> for this member and add to the group"
            ),
        ),
        (
            "joined",
            236,
            (
                "Static Member with unknown member id joins group <g> in <S> state. Created a new "
                "member id <M> for this member and add to the group"
            ),
        ),
        ("enlisted", 1021, "Adding new static member <I> to group <g> with member id <M>"),
        (
            "back",
            1035,
            (
                "Static member <I> of group <g> with unknown member id rejoins, assigning new "
                "member "
                "id <M>, while old member id <*> will be removed"
            ),
        ),
        (
            "left",
            497,
            (
                "Member[group.instance.id <I>, member.id <M>] in group <G> has left, removing "
                "it from "
                "the group"
            ),
        ),
        ("left", 497, "Member <M> in group <G> has left, removing it from the group"),
        ("pending left", 484, "Pending member <M> is leaving group <G>"),
        ("failed", 1290, "Member <M> in group <G> has failed, removing it from the group"),
        (
            "pending failed",
            1283,
            "Pending member <M> in group <G> has been removed after session timeout expiration",
        ),
        ("dropped", 1187, "Group <G> remove dynamic members who haven't joined: <M>"),
        (
            "nobody rejoined",
            1203,
            "Group <G> could not complete rebalance because no members rejoined",
        ),
        ("loaded", 895, "Loading group metadata for <G> with generation <N>"),
        ("unloading", 871, "Unloading group metadata for <G> with generation <N>"),
        (
            "deleted",
            544,
            "The following groups were deleted: <G>. A total of <*> offsets were removed",
        ),
        ("starting", 108, "Starting up"),
        (None, 111, "Startup complete"),
        ("stopping", 119, "Shutting down"),
        (None, 124, "Shutdown complete"),
        (
            None,
            1054,
            (
                "Static member which joins during Stable stage and doesn't affect "
                "selectProtocol will "
                "not trigger rebalance"
            ),
        ),
        (
            None,
            338,
            "Attempt to add rejoining member <M> of group <G> in unexpected group state <S>",
        ),
        (None, 419, "Setting empty assignments for members <M> of <G> for generation <N>"),
        (None, 597, "The following offsets of the group <G> were deleted: <*>"),
        (None, 838, "Removed <*> offsets associated with deleted partitions: <*>"),
        (
            None,
            942,
            "Sending empty assignment to member <M> of <G> for generation <N> with no errors",
        ),
        (None, 1058, "Failed to persist metadata for group <G>: <*>"),
        (None, 1198, "Group <G> is dead, skipping rebalance stage"),
        (None, 1218, "Failed to write empty metadata for group <G>: <*>"),
        (None, 1273, "Member id <M> was not found in <G> during heartbeat completion check"),
        (
            None,
            1281,
            "Received notification of heartbeat expiration for member <M> after group <*>",
        ),
    ),
    *_table(
        "GroupMetadataManager.scala",
        ("dead", 809, "Group <G> transitioned to Dead in generation <N>"),
        (None, 300, "Appending metadata message for group <G> generation <N> failed <*>"),
        (None, 353, "group: <G> with leader: <*> has received offset commits from consumers <*>"),
        (None, 536, "Scheduling loading of offsets and group metadata from <*>"),
        (None, 540, "Already loading offsets and group metadata from <*>"),
        (None, 551, "Finished loading offsets and group metadata from <*>"),
        (None, 555, "Error loading offsets from <*>"),
        (None, 569, "Attempted to load offsets and group metadata from <*>, but found no log"),
        (None, 603, "Loaded offsets and group metadata from <*> with buffer larger <*>"),
        (None, 755, "Scheduling unloading of offsets and group metadata from <*>"),
        (None, 778, "Finished unloading <*>"),
        (None, 791, "Removed <*> expired offsets in <*> milliseconds"),
        (None, 855, "Failed to append <*> tombstones to <*>"),
        (None, 863, "BrokerId <*> is no longer a coordinator for the group <*>"),
        (None, 894, "Group <G> has moved away from <*> after transaction marker was written <*>"),
    ),
    *_table(
        "GroupMetadata.scala",
        (None, 147, "Static member <*> loaded with member id <*>"),
        (None, 283, "Group leader [member.id: <*>] failed to join before rebalance timeout<*>"),
        (None, 404, "given member.id <*> is identified as a known static member <*>"),
        (None, 484, "Failed to parse Consumer Protocol <*>"),
    ),
)

OLD: Final = (
    *_table(
        "GroupCoordinator.scala",
        ("preparing", 651, "Preparing to restabilize group <G> with old generation <N>"),
        ("stabilized", 704, "Stabilized group <G> generation <N>"),
        ("assigned", 264, "Assignment received from leader for group <G> for generation <N>"),
        ("empty", 693, "Group <G> with generation <N> is now empty"),
        ("loaded", 535, "Loading group metadata for <G> with generation <N>"),
        ("unloading", 506, "Unloading group metadata for <G> with generation <N>"),
        ("starting", 72, "Starting up"),
        (None, 76, "Startup complete"),
        ("stopping", 84, "Shutting down"),
        (None, 89, "Shutdown complete"),
        (None, 700, "Failed to write empty metadata for group <G>: <*>"),
    ),
    *_table(
        "GroupMetadataManager.scala",
        ("dead", 576, "Group <G> transitioned to Dead in generation <N>"),
        (None, 190, "Appending metadata message for group <G> generation <N> failed <*>"),
        (None, 380, "Loading offsets and group metadata from <*>"),
        (None, 384, "Offset load from <*> already in progress"),
        (None, 394, "Error loading offsets from <*>"),
        (None, 412, "Attempted to load offsets and group metadata from <*>, but found no log"),
        (None, 496, "Finished loading offsets from <*>"),
        (None, 552, "Removed <*> cached offsets for <*> on follower transition"),
        (None, 555, "Removed <*> cached groups for <*> on follower transition"),
        (None, 618, "Failed to append <*> tombstones to <*>"),
        (None, 625, "BrokerId <*> is no longer a coordinator for the group <*>"),
        (None, 629, "Removed <*> expired offsets in <*> milliseconds"),
    ),
)

JAVA: Final = (
    *_table(
        "GroupMetadataManager.java",
        (
            "preparing",
            6932,
            "Preparing to rebalance group <g> in state <S> with old generation <N> (reason: <R>)",
        ),
        ("stabilized", 6642, "Stabilized group <G> generation <N> with <K> members"),
        (
            "assigned",
            7401,
            (
                "Assignment received from leader <M> for group <G> for generation <N>. The "
                "group has "
                "<K> members, <*> of which are static"
            ),
        ),
        ("empty", 6623, "Group <G> with generation <N> is now empty"),
        (
            "given id",
            6370,
            (
                "Dynamic member with unknown member id joins group <g> in <S> state. Created a new "
                "member id <M> and requesting the member to rejoin with this id"
            ),
        ),
        (
            "joined",
            6390,
            (
                "Dynamic member with unknown member id joins group <g> in state <S>. Created a new "
                "member id <M> and added the member to the group"
            ),
        ),
        (
            "joined",
            6337,
            (
                "Static member with groupInstanceId=<I> and unknown member id joins group <g> "
                "in <S> "
                "state. Created a new member id <M> for this member and added to the group"
            ),
        ),
        (
            "back",
            6325,
            (
                "Static member with groupInstanceId=<I> and unknown member id joins group <g> "
                "in <S> "
                "state. Replacing previously mapped member <M> with this groupInstanceId"
            ),
        ),
        (
            "pending joined",
            6440,
            (
                "Pending dynamic member with id <M> joins group <g> in <S> state. Adding to "
                "the group "
                "now"
            ),
        ),
        (
            "left",
            8014,
            (
                "[Group <g>] Member <M> has left group through explicit `LeaveGroup` request; "
                "client "
                "reason: <R>"
            ),
        ),
        (
            "pending left",
            7936,
            (
                "[Group <g>] Pending member <M> has left group through explicit `LeaveGroup` "
                "request; "
                "client reason: <R>"
            ),
        ),
        ("failed", 6726, "Member <M> in group <G> has failed, removing it from the group"),
        (
            "pending failed",
            6717,
            "Pending member <M> in group <G> has been removed after session timeout expiration",
        ),
        ("dropped", 6599, "Group <G> removed dynamic members who haven't joined: <M>"),
        (
            "nobody rejoined",
            6609,
            "Group <G> could not complete rebalance because no members rejoined",
        ),
        ("loaded", 5934, "Loaded classic group <G> with <K> members"),
        ("unloading", 5987, "[GroupId=<g>] Unloading group metadata for generation <N>"),
        (None, 6199, "Failed to write empty metadata for group <G>: <*>"),
        (
            None,
            6540,
            "Attempt to add rejoining member <M> of group <G> in unexpected group state <S>",
        ),
        (None, 6604, "Group <G> is dead, skipping rebalance stage"),
        (
            None,
            6713,
            "Received notification of heartbeat expiration for member <M> after group <*>",
        ),
        (
            None,
            7056,
            "Sending empty assignment to member <M> of <G> for generation <N> with no errors",
        ),
        (None, 7143, "Received unexpected notification of sync expiration <*>"),
        (
            None,
            7248,
            (
                "Static member which joins during Stable stage and doesn't affect the selected "
                "protocol will not trigger a rebalance"
            ),
        ),
        (None, 7255, "Failed to persist metadata for group <G> static member <*>"),
        (None, 7421, "Setting empty assignments for members <M> of <G> for generation <N>"),
        (None, 1327, "Cannot upgrade classic group <*>"),
        (
            "of another kind",
            822,
            "[GroupId <g>] Converted the empty classic group to a consumer group",
        ),
        ("of another kind", 1416, "[GroupId <g>] Converted the classic group to a consumer group"),
        ("of another kind", 1316, "[GroupId <g>] Converted the consumer group to a classic group"),
        (
            "of another kind",
            6156,
            "[GroupId <g>] Converted the empty consumer group to a classic group",
        ),
    ),
    *_table(
        "OffsetMetadataManager.java",
        (None, 465, "[GroupId <G>] Creating a simple consumer group via manual offset commit"),
        (None, 1252, "Skipped the materialization of transactional offset commit <*>"),
    ),
    *_table(
        "GroupCoordinatorShard.java",
        (
            "deleted",
            639,
            "The following groups were deleted: <G>. A total of <*> offsets were removed",
        ),
        (None, 1013, "Generated <*> tombstone records <*>"),
    ),
    *_table(
        "GroupCoordinatorService.java",
        ("starting", 2252, "Starting up"),
        (None, 2255, "Startup complete"),
        ("stopping", 2268, "Shutting down"),
        (None, 2273, "Shutdown complete"),
    ),
    *_table(
        "ClassicGroup.java",
        (None, 516, "Group leader [memberId: <*>] failed to join before the rebalance timeout<*>"),
        (None, 807, "Request memberId=<*> for static member with <*> is fenced <*>"),
        (None, 1178, "Failed to parse Consumer Protocol <*>"),
    ),
    *_table(
        "CoordinatorRuntime.java",
        (None, 403, "The write event <*>"),
        (None, 710, "Ignored load completion from <*>"),
        (None, 719, "Finished loading of metadata from <*>"),
        (None, 725, "Failed to load metadata from <*>"),
        (None, 753, "Failed to unload coordinator for <*>"),
        (None, 792, "Tried to flush an empty batch for <*>"),
        (None, 811, "The state machine of the coordinator <*>"),
        (None, 841, "Failed to write <*>"),
        (None, 1096, "Replaying record <*>"),
        (None, 1240, "Completion of event <*>"),
        (None, 1882, "Execution of <*>"),
        (None, 2460, "Scheduling loading of metadata from <*>"),
        (None, 2481, "The coordinator <*> is already <*>"),
        (None, 2489, "Cannot load coordinator <*>"),
        (None, 2492, "Ignored loading metadata from <*>"),
        (None, 2514, "Scheduling unloading of metadata for <*>"),
        (None, 2522, "Started unloading metadata for <*>"),
        (None, 2525, "Finished unloading metadata for <*>"),
        (None, 2529, "Failed to unload metadata for <*>"),
        (None, 2537, "Ignored unloading metadata for <*>"),
        (None, 2605, "Closing coordinator runtime"),
        (None, 2625, "Coordinator runtime closed"),
    ),
    *_table(
        "GroupMetadataManager.java",
        ("of another kind", 5900, "Loaded streams group <G> with <K> members"),
        ("of another kind", 5917, "Loaded consumer group <G> with <K> members"),
        ("of another kind", 5952, "Loaded share group <G> with <K> members"),
        ("of another kind", 5975, "[GroupId=<g>] Unloaded group metadata for group epoch <*>"),
        ("of another kind", 2954, "[GroupId <g>]<*>"),
    ),
)
