"""Logs of brokers made from the model: what walks through its spaces would print."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, NamedTuple

from groupcheck.model.exploring.projection import ABSENT, state_of
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import spaces
from groupcheck.model.transition import successors
from groupcheck.pipeline.kernels import begun
from groupcheck.pipeline.logs.files import LogReader, Manner
from groupcheck.pipeline.logs.log_events import Sign, shown
from groupcheck.pipeline.logs.patterns import JAVA, OLD, SCALA, WORDS
from groupcheck.pipeline.schemas import EVENTS
from groupcheck.pipeline.sources import Line
from groupcheck.properties.histories.events import Event

Row = dict[str, Any]
STATEMENTS: Final = {"0.10.2": OLD, "2.7": SCALA, "4.1": JAVA}
LOGGERS: Final = {
    "0.10.2": ("[GroupCoordinator 1]: ", "kafka.coordinator.GroupCoordinator"),
    "2.7": ("[GroupCoordinator 1]: ", "kafka.coordinator.group.GroupCoordinator"),
    "4.1": (
        "[GroupCoordinator id=1 topic=__consumer_offsets partition=3] ",
        "org.apache.kafka.coordinator.group.GroupMetadataManager",
    ),
}
BEGAN_MS: Final = 1_790_000_000_000
# What Kafka says of why it rebalances.
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
    "time/lost-sync-expired": "Removing [] on pending sync request expiration",
    "log/assignments-failed": "error when storing group assignment during SyncGroup (member: m)",
}
LEAVES: Final = {
    "2.7": "removing member m on LeaveGroup",
    "4.1": "explicit `LeaveGroup` request for (m) members.",
}


class Printed(NamedTuple):
    """A line of a log, before it is one: the sign, and the generation that it tells."""

    sign: Sign
    generation: int


def walk(random: Random, profile: str, space: str, steps: int) -> Iterator[Printed]:
    """What is printed on a walk through a space of the model."""
    instance = spaces(PROFILES[profile], 2)[space]
    node, generation = instance.initial, 0
    for _ in range(steps):
        given = random.choice(list(instance.inputs(node)))
        found = successors(node, given, instance.profile, instance.config)
        lawful = [each for each in found if instance.admits(each.coordinator)]
        if not lawful:
            continue
        after, _, fired, _ = random.choice(lawful)
        began: int | None = generation
        for sign, count in shown(instance.profile, node, given, fired):
            began = count.of(began)
            if began is None:  # what is loaded may be older
                began = random.randint(0, generation)
            if sign is not None:
                yield Printed(sign, began)
        generation = began or 0
        if state_of(after) == ABSENT:
            generation = 0
        node = instance.frame(after).node


def line(profile: str, printed: Printed, group: str, at_ms: int) -> str:
    """The line that says so."""
    sign = printed.sign
    statement = next(s for s in STATEMENTS[profile] if s.what == sign.what)
    why = LEAVES.get(profile, "") if sign.why.startswith("leave/") else WHYS.get(sign.why, "")
    words = {
        "g": group,
        "G": group,
        "S": sign.state,
        "N": str(printed.generation),
        "K": "0" if sign.state == "Empty" else "2",
        "R": why,
        "P": "__consumer_offsets-3",
    }
    text = statement.text
    for word in WORDS:
        text = text.replace(f"<{word}>", words.get(word, "m"))
    prefix, logger = LOGGERS[profile]
    when = datetime.fromtimestamp(at_ms // 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"[{when},{at_ms % 1_000:03}] INFO {prefix}{text} ({logger})"


def log(profile: str, printed: list[Printed], group: str = "g") -> list[str]:
    """The lines of one group, each later than the one before."""
    return [line(profile, each, group, BEGAN_MS + 7 * at) for at, each in enumerate(printed)]


class Checked(NamedTuple):
    """What came of logs: the rows of each table."""

    tables: dict[str, list[Row]]
    quarantined: list[Row]
    files: list[Row]

    def verdicts(self) -> dict[str, tuple[str, str | None]]:
        """The verdict on each group, with its reason."""
        return {r["group_id"]: (r["verdict"], r["reason"]) for r in self.tables.get("verdict", [])}


def check(*logs: list[str] | list[bytes], time_zone: str = "UTC") -> Checked:
    """Logs read and judged in this process, as by `groupcheck check`; each is a file of its own."""
    events: list[Event] = []
    quarantined: list[Row] = []
    files: list[Row] = []
    for rank, lines in enumerate(logs):
        texts = (each if isinstance(each, bytes) else each.encode() for each in lines)
        numbered = (Line(at, text + b"\n") for at, text in enumerate(texts, 1))
        reader = LogReader(f"file:///logs/{rank}.log", Manner("file:///logs", rank, time_zone))
        for name, row in reader.rows(numbered):
            if name == "event":
                events.append(Event._make(map(row.get, EVENTS.names)))
            else:
                (files if name == "file" else quarantined).append(row)
    replays = {}
    for event in sorted(events, key=lambda each: each[:4]):
        if event.history not in replays:
            replays[event.history] = begun(event)
        replays[event.history].take(event)
    tables: dict[str, list[Row]] = {}
    for replay in replays.values():
        for name, row in replay.end():
            tables.setdefault(name, []).append(row)
    return Checked(tables, quarantined, files)
