"""The scenarios of article 002 in recordings of real consumers, state by state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from groupcheck.cli import main
from groupcheck.implementation.core.profiles import PROFILES
from support import java_consumers
from support.client_processes import LIBRARIES, Consumer, Group, eventually, group
from support.economy import slow_if
from support.held_requests import HeldRequests
from support.needs import needs_client
from support.rebalances import SCENARIOS, Phases
from support.serving import QUICK, Served, checked_session

GROUP = "three"
TOPIC = "topic"
NAMES = ("a", "b", "c")
TIMES = {"session_timeout_ms": 30_000, "heartbeat_interval_ms": 150}
JAVA = {"kafka-clients:2.7": "2.7.2", "kafka-clients:4.1": "4.1.2"}
DELAY_MS = 3_000  # Kafka's default
POLL_MS = 60_000  # of kafka-python, until there is a record


class Running(Protocol):
    """The consumers of one library, by name."""

    def start(self, name: str) -> None:
        """Start a consumer."""

    def close(self, name: str) -> None:
        """Let a consumer leave the group."""

    def owned(self, name: str) -> Sequence[object]:
        """The partitions that a consumer has."""

    def assignments(self, name: str) -> int:
        """How often a consumer has been assigned partitions."""


class InPython:
    """Consumers of a Python library, each in a process."""

    def __init__(self, library: str, members: Group) -> None:
        self._library = library
        self._settings = TIMES | ({"poll_ms": POLL_MS} if library == "kafka-python" else {})
        self._group = members
        self._consumers: dict[str, Consumer] = {}

    def start(self, name: str) -> None:
        self._consumers[name] = self._group.add(self._library, client_id=name, **self._settings)

    def close(self, name: str) -> None:
        self._consumers[name].leave()

    def owned(self, name: str) -> Sequence[object]:
        return self._consumers[name].assigned

    def assignments(self, name: str) -> int:
        return sum(map(bool, self._consumers[name].assignments))


class InJava:
    """Consumers of Kafka, in one process."""

    def __init__(self, consumers: java_consumers.Consumers) -> None:
        self._consumers = consumers
        self.close = consumers.close

    def start(self, name: str) -> None:
        self._consumers.start(name, TOPIC)

    def owned(self, name: str) -> Sequence[object]:
        return self._consumers.owns(name)

    def assignments(self, name: str) -> int:
        return len(self._consumers.of(name, "assigned"))


@contextmanager
def running(library: str, address: str) -> Iterator[Running]:
    if library in JAVA:
        settings = {"group_id": GROUP, **TIMES}
        with java_consumers.Consumers(address, JAVA[library], "sticky", **settings) as consumers:
            yield InJava(consumers)
    else:
        with group(address, GROUP, TOPIC, len(NAMES)) as members:
            yield InPython(library, members)


class Stage:
    """Three consumers, their group, and the network between them."""

    def __init__(self, served: Served, consumers: Running) -> None:
        self.requests = HeldRequests(served)
        self.consumers = consumers
        self._served = served
        self._topics = java_consumers.Topics(served.address)

    def _produce(self) -> None:
        """End the polls of all consumers."""
        for partition in range(len(NAMES)):
            self._topics.produce(f"{TOPIC}-{partition}", "record")

    def start(self, *names: str) -> None:
        """Start consumers, whose first JoinGroup comes when all of them have sent theirs."""
        self.requests.hold("JoinGroup", *names)
        for name in names:
            self.consumers.start(name)
        self.wait_for_request("JoinGroup", *names)

    def wait_for_request(self, api: str, *names: str) -> None:
        eventually(lambda: self.requests.holds(api, *names), lambda: self.requests.held)

    def join(self, *names: str, members: int) -> None:
        """Let consumers join one by one, until the group has so many members."""
        for number, name in enumerate(names, members - len(names) + 1):
            self.requests.release("JoinGroup", name)
            self.wait_for(members=number)

    def wait_for(self, state: str = "", members: int = 0) -> None:
        """Wait until the group is in a state, or has so many members."""

        def reached() -> bool:
            (found,) = wire.ask("DescribeGroups", 5, groups=[GROUP]).groups
            return state in ("", found.group_state) and members in (0, len(found.members))

        with self._served.connected() as wire:
            eventually(reached)

    def wait_for_assignments(self, *names: str) -> None:
        """Wait until the group is Stable and these consumers share all partitions."""

        def shared() -> bool:
            self._produce()
            owned = [self.consumers.owned(name) for name in names]
            return all(owned) and len(set().union(*owned)) == sum(map(len, owned)) == len(NAMES)

        self.wait_for("Stable", len(names))
        eventually(shared)

    def wait_for_assignment_counts(self, expected: list[int]) -> None:
        """Wait until each consumer has had so many assignments: it may still have to poll."""

        def counts() -> list[int]:
            return [self.consumers.assignments(name) for name in NAMES]

        eventually(lambda: counts() == expected, counts)

    def close(self) -> None:
        """Let all consumers leave at the same time."""
        self.requests.hold("LeaveGroup", *NAMES)
        with ThreadPoolExecutor(len(NAMES)) as threads:
            closed = threads.map(self.consumers.close, NAMES)
            while not self.requests.holds("LeaveGroup", *NAMES):
                self._produce()
            self.requests.release("LeaveGroup", *NAMES)
            list(closed)
        self.wait_for("Empty")


def one_rebalance(stage: Stage) -> None:
    """The first is the leader and still assigns partitions when the others join."""
    stage.start(*NAMES)
    stage.requests.hold("SyncGroup", "a")
    stage.join("a", members=1)
    stage.wait_for_request("SyncGroup", "a")
    stage.join("b", "c", members=3)
    stage.requests.release("SyncGroup", "a")
    stage.wait_for_assignments(*NAMES)


def two_rebalances(stage: Stage) -> None:
    """The others join when the first has its partitions, and before it has joined again."""
    stage.start("a")
    stage.join("a", members=1)
    stage.wait_for_assignments("a")
    stage.start("b", "c")
    stage.requests.hold("JoinGroup", "a")
    stage.join("b", "c", members=3)
    stage.requests.release("JoinGroup", "a")
    stage.wait_for_assignments(*NAMES)


def three_rebalances(stage: Stage) -> None:
    """Each joins when those before it have their partitions."""
    for number, name in enumerate(NAMES, 1):
        stage.start(name)
        stage.join(name, members=number)
        stage.wait_for_assignments(*NAMES[:number])


WAYS: dict[str, Callable[[Stage], None]] = {
    "one rebalance": one_rebalance,
    "two rebalances": two_rebalances,
    "three rebalances": three_rebalances,
}


@contextmanager
def staged(
    directory: Path, library: str, profile: str, config: Sequence[str] = QUICK
) -> Iterator[Stage]:
    topic = (TOPIC, len(NAMES))
    with (
        checked_session(directory, profile, topic, config=config) as served,
        running(library, served.address) as consumers,
    ):
        yield Stage(served, consumers)


def phases(directory: Path, capsys: pytest.CaptureFixture[str]) -> Phases:
    """The states of the group of the recording, as `groupcheck replay` prints them."""
    assert main(["replay", "-v", str(directory / "session.jsonl")]) == 0
    out = capsys.readouterr().out
    assert out.endswith("of 1 group, each answered as Kafka would\n")
    found = re.findall(r"^ +at .*: (\w+), generation (\d+)$", out, re.MULTILINE)
    return tuple((state, int(generation)) for state, generation in found)


def without_empty(states: Phases) -> Phases:
    """Without the first state: a group may also begin with its first member."""
    return states[1:] if states[0] == ("Empty", 0) else states


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("profile", slow_if(lambda profile: profile != "2.7", PROFILES))
@pytest.mark.parametrize(
    "library",
    [
        *slow_if(lambda library: library != "kafka-python", LIBRARIES),
        *(pytest.param(each, marks=[pytest.mark.slow, needs_client(each)]) for each in JAVA),
    ],
)
def test_the_scenarios_of_three_consumers_are_in_recordings(
    library: str, profile: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected, calls = SCENARIOS[name]
    with staged(tmp_path, library, profile) as stage:
        WAYS[name](stage)
        stage.wait_for_assignment_counts([assigned for assigned, _ in calls])
        stage.close()
    last = expected[-1][1]
    end = (("PreparingRebalance", last), ("Empty", last + 1))
    assert without_empty(phases(tmp_path, capsys)) == (*expected[1:], *end)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_three_consumers_within_the_initial_delay_have_one_join_phase(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    delay = f"group.initial.rebalance.delay.ms={DELAY_MS}"
    with staged(tmp_path, "kafka-python", profile, [delay]) as stage:
        stage.start(*NAMES)
        stage.requests.release("JoinGroup", *NAMES)
        stage.wait_for_assignments(*NAMES)
        stage.close()
    assert without_empty(phases(tmp_path, capsys)) == (
        ("PreparingRebalance", 0),
        ("CompletingRebalance", 1),
        ("Stable", 1),
        ("PreparingRebalance", 1),
        ("Empty", 2),
    )
