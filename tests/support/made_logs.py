"""Logs of brokers, generated from random walks of the model."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.exploring.group_graph import ABSENT, state_of
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.pipeline.logs.files import LogReader, LogSource
from groupcheck.pipeline.logs.lines import PLACEHOLDERS, messages
from groupcheck.pipeline.logs.log_events import LogEvent
from groupcheck.pipeline.logs.log_events import printed as printed_in
from groupcheck.properties.histories.lines import Line
from support.replayed import Checked, replayed
from support.walks import walk

Row = dict[str, Any]
LOGGERS: Final = {
    "0.10.2": ("[GroupCoordinator 1]: ", "kafka.coordinator.GroupCoordinator"),
    "2.7": ("[GroupCoordinator 1]: ", "kafka.coordinator.group.GroupCoordinator"),
    "4.1": (
        "[GroupCoordinator id=1 topic=__consumer_offsets partition=3] ",
        "org.apache.kafka.coordinator.group.GroupMetadataManager",
    ),
}
BEGAN_MS: Final = 1_790_000_000_000
# The reasons that Kafka logs for a rebalance.
WHYS: Final = {
    "join/new-member": "Adding new member m with group instance id None",
    "join/pending-member": "Adding new member m with group instance id None",
    "join/leader-stable": "leader m re-joining group during Stable",
    "join/changed-stable": "Updating metadata for member m during Stable",
    "join/changed-completing": "Updating metadata for member m during CompletingRebalance",
    "join/static-completing": "Updating metadata for static member m with instance id Some(one)",
    "join/static-changed": "Group's selectedProtocol will change because static member m with "
    "instance id Some(one) joined with change of protocol",
    "time/session-expired": "removing member m on heartbeat expiration",
    "time/syncs-expired": "Removing [m] on pending sync request expiration",
    "time/replaced-member-sync-expired": "Removing [] on pending sync request expiration",
    "log/assignments-failed": "error when storing group assignment during SyncGroup (member: m)",
}
LEAVES: Final = {
    "2.7": "removing member m on LeaveGroup",
    "4.1": "explicit `LeaveGroup` request for (m) members.",
}


class Printed(NamedTuple):
    """A log event, and the generation in its line."""

    event: LogEvent
    generation: int


def printed_on_a_walk(random: Random, profile: str, name: str, steps: int) -> Iterator[Printed]:
    """The log events of a random walk through a model instance."""
    instance = instances(PROFILES[profile], 2)[name]
    generation = 0
    for step in walk(instance, random, steps):
        began: int | None = generation
        for event, count in printed_in(
            instance.profile, step.before, step.given, step.outcome.applied
        ):
            began = count.of(began)
            if began is None:  # what is loaded may be older
                began = random.randint(0, generation)
            if event is not None:
                yield Printed(event, began)
        is_gone = state_of(step.outcome.coordinator) == ABSENT
        generation = 0 if is_gone else began or 0


def line(profile: str, printed: Printed, group: str, at_ms: int) -> str:
    """The line of a log event."""
    event = printed.event
    message = next(each for each in messages(profile) if each.event == event.name)
    why = LEAVES.get(profile, "") if event.rule.startswith("leave/") else WHYS.get(event.rule, "")
    words = {
        "g": group,
        "G": group,
        "S": event.state,
        "N": str(printed.generation),
        "K": "0" if event.state == "Empty" else "2",
        "R": why,
        "P": "__consumer_offsets-3",
    }
    text = message.text
    for word in PLACEHOLDERS:
        text = text.replace(f"<{word}>", words.get(word, "m"))
    prefix, logger = LOGGERS[profile]
    when = datetime.fromtimestamp(at_ms // 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"[{when},{at_ms % 1_000:03}] INFO {prefix}{text} ({logger})"


def log(profile: str, printed: list[Printed], group: str = "g") -> list[str]:
    """The lines of one group, each later than the one before."""
    return [line(profile, each, group, BEGAN_MS + 7 * at) for at, each in enumerate(printed)]


def check(*logs: list[str] | list[bytes], time_zone: str = "UTC") -> Checked:
    """The result for logs, as of `groupcheck check` but without Spark; each is a file."""

    def rows() -> Iterator[tuple[str, Row]]:
        for rank, lines in enumerate(logs):
            texts = (each if isinstance(each, bytes) else each.encode() for each in lines)
            numbered = (Line(at, text + b"\n") for at, text in enumerate(texts, 1))
            log_source = LogSource("file:///logs", rank, time_zone)
            yield from LogReader(f"file:///logs/{rank}.log", log_source).rows(numbered)

    return replayed(rows())
