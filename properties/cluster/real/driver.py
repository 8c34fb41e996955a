"""Drives a real cluster through sequences, and observes it when it has settled."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event
from typing import Final

from groupcheck.model.brokers import (
    CANCEL,
    COMMIT,
    CREATE,
    DELETE,
    ELECT,
    EXPIRE,
    KILL,
    MOVE,
    NO_LEADER,
    NOBODY,
    REASSIGN,
    START,
    ClusterInput,
    Partition,
)
from groupcheck.properties.brokers.apache import Release
from groupcheck.properties.brokers.definition import Address, NotStartedError, Report
from groupcheck.properties.cluster.real.actions import (
    ASSIGNMENTS,
    PAUSE,
    RESUME,
    TARGETS,
    possible,
    simulated,
)
from groupcheck.properties.cluster.real.processes import Processes, started
from groupcheck.properties.cluster.real.promises import unsettled
from groupcheck.properties.cluster.real.views import (
    IDS,
    NO_OFFSET,
    NONE,
    OFFSETS,
    UNKNOWN_TOPIC_OR_PARTITION,
    Answers,
    ClusterView,
    Group,
    RawNodes,
    TopicNode,
)
from groupcheck.properties.cluster.real.wire import Metadata, Wire
from groupcheck.properties.ports.connection import pause, raise_if_interrupted
from groupcheck.properties.ports.port import PortFailedError

SETTLE_S: Final = 20.0  # the longest wait; what does not hold then is violated
STABLE_S: Final = 0.25  # how long the nodes have to stay as they are
POLL_S: Final = 0.03
MOST_TRANSIENT: Final = 200  # views of one step
OWN: Final = re.compile(r"t[0-9]+-[0-9]+-0")  # the folder of a topic that a sequence has created


class RealCluster:
    """A cluster that runs, and the sequence that it is led through.

    Args:
        release: of Kafka.
        interrupted: when set, ends every wait.
        report: receives a line before a download.

    Raises:
        PortUnavailableError: it does not start.
    """

    def __init__(self, release: Release, interrupted: Event, report: Report) -> None:
        self._release, self._interrupted, self._report = release, interrupted, report
        self._numbers = count(1)
        self._open()

    @property
    def has_zookeeper(self) -> bool:
        """Whether it has ZooKeeper."""
        return self._release.has_zookeeper

    def _open(self) -> None:
        self._processes: Processes = started(self._release, self._interrupted, self._report)
        self._wire = Wire(self._interrupted)
        self._real: tuple[int, ...] = IDS
        self._base = RawNodes(NOBODY, 0, 0, 0, {}, (), ())
        self._topics: tuple[str, ...] = ()
        self._group = ""
        self._committed: list[set[int]] = []
        self._offset = 0

    def stop(self) -> None:
        """End the cluster; safe to call twice."""
        self._wire.close()
        self._processes.stop()

    def restart(self) -> None:
        """End the cluster and start another one."""
        self.stop()
        self._open()

    def begin(self) -> ClusterView:
        """Begin a sequence: with new topics and a new group, and the controller as broker 1."""
        number = next(self._numbers)
        self._topics = tuple(f"t{number}-{topic}" for topic in range(len(ASSIGNMENTS)))
        self._group = f"g{number}"
        self._committed = [{NO_OFFSET} for _ in self._topics]
        self._offset = 0
        raw = self._processes.nodes.read(())
        if raw.controller != NOBODY:
            self._real = (raw.controller, *(each for each in IDS if each != raw.controller))
        self._base = raw
        if self._read().offsets_topic is None:
            self._create_offsets_topic()
        return self.settle()[-1]

    def _create_offsets_topic(self) -> None:
        """Ask for the coordinator of the group, which creates it."""
        deadline = time.monotonic() + SETTLE_S
        while self._read().offsets_topic is None and time.monotonic() < deadline:
            self._wire.coordinator(self._address(1), self._group)
            pause(self._interrupted)

    def is_possible(self, given: ClusterInput) -> bool:
        """Whether an action is possible now."""
        view = self._read()
        if not possible(given, simulated(view)):
            return False
        # Others would wait for the controller, or for a replica that does not work.
        of_controller = given.name in {ELECT, REASSIGN, CANCEL}
        if of_controller or (given.name in {CREATE, DELETE} and not view.zookeeper):
            return view.has_controller
        if given.name == COMMIT:
            state = view.offsets_topic.partition if view.offsets_topic else None
            return state is not None and all(map(view.works, {*state.isr, state.leader}))
        return True

    def do(self, given: ClusterInput) -> str:
        """Do an action that is possible; returns the error that a broker answered, if one did.

        Raises:
            PortFailedError: a broker does not start, or ZooKeeper does not answer.
        """
        if given.name == MOVE:
            self._processes.zookeeper.delete_controller()
        elif given.broker:
            self._do_with_broker(given.name, self._real[given.broker - 1])
        elif error := self._do_with_topic(given.name, given.topic):
            return f"error {error}"
        return ""

    def _do_with_broker(self, name: str, broker: int) -> None:
        """Do it with a broker that has this real id."""
        if name == KILL:
            self._wire.forget(self._processes.running[broker].address)
        do: dict[str, Callable[[int], object]] = {
            START: self._start,
            KILL: self._processes.kill,
            EXPIRE: self._processes.nodes.end_session,
            PAUSE: self._processes.pause,
            RESUME: self._processes.resume,
        }
        do[name](broker)

    def _do_with_topic(self, name: str, number: int) -> int:
        """Do it with a topic; returns Kafka's error."""
        topic, committed = self._topics[number], self._committed[number]
        if name == CREATE:
            committed.clear()
            committed.add(NO_OFFSET)
            replicas = [self._real[each - 1] for each in ASSIGNMENTS[number]]
            return self._processes.nodes.create_topic(topic, replicas)
        if name == DELETE:
            committed.add(NO_OFFSET)
            return self._processes.nodes.delete_topic(topic)
        if name == ELECT:
            return self._wire.elect(self._address(self._read().controller), topic)
        if name in {REASSIGN, CANCEL}:
            target = [self._real[each - 1] for each in TARGETS[number]]
            return self._wire.reassign(
                self._address(self._read().controller), topic, target if name == REASSIGN else None
            )
        return self._commit(topic, committed)

    def _commit(self, topic: str, committed: set[int]) -> int:
        self._offset += 1
        coordinator = self._address(self._read().coordinator)
        error = self._wire.commit(coordinator, self._group, topic, self._offset)
        if error == NONE:
            committed.clear()
        if error != UNKNOWN_TOPIC_OR_PARTITION:  # others may come after the record was appended
            committed.add(self._offset)
        return error

    def _start(self, *brokers: int) -> None:
        """Start brokers with these real ids."""
        try:
            self._processes.start(*brokers)
        except NotStartedError as failure:
            kind, log = "port crashed", "\n".join(failure.lines)
            raise PortFailedError(kind, str(failure), log) from failure

    def settle(self, bound_s: float = SETTLE_S) -> list[ClusterView]:
        """Wait until the cluster has settled; returns the views meanwhile, the settled one last.

        The brokers are asked for the last view only. If the cluster does not settle in time, that
        view violates a promise of `WHEN_SETTLED`.

        Raises:
            PortFailedError: a process has ended by itself, or ZooKeeper does not answer.
        """
        deadline = time.monotonic() + bound_s
        seen = [self._read()]
        since = time.monotonic()
        while True:
            self._interrupted.wait(POLL_S)
            raise_if_interrupted(self._interrupted)
            self._processes.check()
            view = self._read()
            now = time.monotonic()
            if view != seen[-1]:
                seen = [*seen[-MOST_TRANSIENT:], view]
                since = now
            if now - since < STABLE_S and now < deadline:
                continue
            asked = self._ask(view)
            problems = unsettled(asked)
            if (not problems and self._read() == view) or now > deadline:
                return [*seen, asked]

    def recover(self) -> list[ClusterView]:
        """Let all brokers run and work again; returns the views, as `settle`."""
        view = self._read()
        for broker, real in zip(IDS, self._real, strict=True):
            if view.paused[broker - 1]:
                self._processes.resume(real)
            if not view.running[broker - 1]:
                self._processes.nodes.end_session(real)
        self._start(*(real for real in self._real if real not in self._processes.running))
        return self.settle()

    def clean(self) -> list[ClusterView]:
        """Delete the topics of the sequence; returns the views, as `settle`."""
        view = self._read()
        for number, topic in enumerate(view.topics):
            if topic is not None and not view.is_deleted(number):
                self.do(ClusterInput(DELETE, topic=number))
        seen = self.settle()
        for name in self._topics:
            self._processes.nodes.forget_topic(name)
        return seen

    def _address(self, broker: int) -> Address:
        process = self._processes.running.get(self._real[broker - 1]) if broker else None
        return process.address if process else ("127.0.0.1", 0)

    def _read(self) -> ClusterView:
        """Read the nodes."""
        raw = self._processes.nodes.read((*self._topics, OFFSETS))
        processes = [self._processes.running.get(real) for real in self._real]
        base = self._base
        topics = tuple(map(self._topic, raw.topics))
        view = ClusterView(
            running=tuple(process is not None for process in processes),
            paused=tuple(process is not None and process.paused for process in processes),
            controller=self._id(raw.controller),
            controller_node=raw.controller_node,
            controller_epoch=raw.controller_epoch - base.controller_epoch + 1,
            controller_version=raw.controller_version - base.controller_epoch + 1,
            registered=tuple(raw.registered.get(real, 0) for real in self._real),
            topics=topics[:-1],
            offsets_topic=topics[-1],
            deletions=raw.deletions[:-1],
            zookeeper=self.has_zookeeper,
        )
        for number, topic in enumerate(view.topics):
            if topic is None and not view.deletions[number]:
                self._committed[number] = {NO_OFFSET}
        committed = tuple(tuple(sorted(each)) for each in self._committed)
        return view._replace(committed=committed)

    def _id(self, real: int) -> int:
        return self._real.index(real) + 1 if real in self._real else real

    def _topic(self, raw: TopicNode | None) -> TopicNode | None:
        if raw is None:
            return None
        state = raw.partition
        if state is not None:
            isr = tuple(map(self._id, state.isr))
            epoch = state.controller_epoch - self._base.controller_epoch + 1
            leader = self._id(state.leader)
            state = Partition(leader, state.leader_epoch, isr, epoch, state.version)
        replicas, adding, removing = (
            tuple(map(self._id, each)) for each in (raw.replicas, raw.adding, raw.removing)
        )
        return raw._replace(replicas=replicas, partition=state, adding=adding, removing=removing)

    def _ask(self, view: ClusterView) -> ClusterView:
        """Ask the brokers that work, and look at their disks."""
        answers = tuple(self._answers(each) if view.works(each) else None for each in IDS)
        group: Group | None = None
        if view.works(view.coordinator):
            address = self._address(view.coordinator)
            group = self._wire.group(address, self._group, self._topics)
        return view._replace(answers=answers, group=group)

    def _answers(self, broker: int) -> Answers | None:
        address = self._address(broker)
        metadata = self._wire.metadata(address, (*self._topics, OFFSETS))
        if metadata is None:
            return None
        coordinator = self._wire.coordinator(address, self._group)
        return Answers(
            self._id(self._controller(address, metadata)),
            tuple(map(self._id, metadata.leaders)),
            self._id(coordinator),
            self._folders(broker),
        )

    def _controller(self, address: Address, metadata: Metadata) -> int:
        """The controller that a broker finds; without ZooKeeper, its metadata name any broker."""
        if self.has_zookeeper:
            return metadata.controller
        leader = self._wire.leader(address)
        return leader.node if leader else NO_LEADER

    def _folders(self, broker: int) -> tuple[str, ...]:
        """The numbers of the sequence's topics that have a folder, not yet to be deleted."""
        names = {f"{topic}-0": str(number) for number, topic in enumerate(self._topics)}
        found = (names.get(path.name) for path in self._disk(self._real[broker - 1]))
        return tuple(sorted(number for number in found if number is not None))

    def _disk(self, real: int) -> list[Path]:
        data = self._processes.data(real)
        return sorted(data.iterdir()) if data.is_dir() else []

    def left_on_disk(self, bound_s: float) -> list[str]:
        """The folders of deleted topics that no broker has deleted; waits for that.

        Kafka looks for them 30 s after its start, and then every `log.segment.delete.delay.ms`.
        """
        deadline = time.monotonic() + bound_s
        while True:
            paths = [path for real in IDS for path in self._disk(real)]
            left = [f"{path.parent.name}/{path.name}" for path in paths if OWN.match(path.name)]
            if not left or time.monotonic() > deadline:
                return left
            pause(self._interrupted)
