"""Several brokers in one process, and what an operator can do to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from groupcheck.implementation.cluster.cluster import ImpossibleError
from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.implementation.server.node import Node
from groupcheck.implementation.server.running_cluster import RunningCluster
from groupcheck.implementation.server.server import CannotServeError, Options
from groupcheck.implementation.server.topics import BadTopicError
from groupcheck.model.brokers import EXPIRE, KILL, MOVE, ClusterInput

LAST_PORT: Final = 2**16 - 1


class CannotDoError(Exception):
    """An operator's command cannot be done now; the message is one line."""


class Status(NamedTuple):
    """The cluster in the store.

    Args:
        controller: a broker, or None.
        running: the brokers that run.
        registered: the brokers whose sessions have not ended.
        leaders: by topic and partition, the leader or -1.
        deletions: the topics whose deletion is not complete.
    """

    controller: int | None
    running: tuple[int, ...]
    registered: tuple[int, ...]
    leaders: dict[str, tuple[int, ...]]
    deletions: tuple[str, ...]


class Brokers:
    """A cluster on a running loop: `start` it, then `stop` it.

    Args:
        options: of the cluster; broker 1 has the port, and each further broker the next one.
        brokers: how many there are.
        session_timeout_ms: when the session of a killed broker ends.
        say: writes a line for the operator.
    """

    def __init__(
        self,
        options: Options,
        brokers: int,
        say: Callable[[str], None],
        *,
        session_timeout_ms: int = 1_000,
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self._options = options
        self._brokers = brokers
        self._say = say
        self._nodes: dict[int, Node] = {}
        self._sessions: dict[int, asyncio.Task[None]] = {}  # of killed brokers, until they end
        self._running: RunningCluster

    async def start(self) -> None:
        """Start all brokers.

        Raises:
            CannotServeError: one cannot start; nothing stays open.
        """
        options = self._options
        if options.record is not None or options.data_dir is not None:
            msg = "a cluster of several brokers is neither recorded nor stored"
            raise CannotServeError(msg)
        if options.port + self._brokers - 1 > LAST_PORT:
            msg = f"the port of broker {self._brokers} is above {LAST_PORT}"
            raise CannotServeError(msg)
        if options.profile not in PROFILES:
            msg = f"no coordinator of profile {options.profile[:40]!r}"
            raise CannotServeError(msg)
        settings, loop = options.settings, asyncio.get_running_loop()
        self._running = RunningCluster(self._brokers, settings, loop)
        try:
            for number in range(1, self._brokers + 1):
                await self._start(number)
            await self._running.settled()  # so that each partition has all replicas in its ISR
            self._running.create_offsets_topic()
            for name, partitions in options.topics:
                self._running.create_topic(name, partitions)
        except (BadTopicError, CannotServeError) as error:
            await self.stop()
            raise CannotServeError(str(error)) from error
        await self._running.settled()

    async def stop(self) -> None:
        """Stop all brokers, and release all resources."""
        self._running.close()
        for session in self._sessions.values():
            session.cancel()
        for node in self._nodes.values():
            await node.stop()
        self._nodes.clear()

    def served_at(self) -> list[tuple[str, str, int]]:
        """See `Service`."""
        what = f"Kafka {self._options.profile} as broker"
        return [
            (f"{what} {number}", *address)
            for number, node in sorted(self._nodes.items())
            for address in node.addresses[:1]
        ]

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The addresses of the running brokers, in the order of their ids."""
        return [(host, port) for _, host, port in self.served_at()]

    # One broker.

    async def start_broker(self, number: int) -> None:
        """Start a broker, after the session of its last process has ended.

        Raises:
            CannotDoError: there is no such broker, it runs, or it cannot start.
        """
        self._expect(number, running=False)
        if number in self._sessions:
            await asyncio.wait([self._sessions[number]])
        try:
            await self._start(number)
        except CannotServeError as error:
            raise CannotDoError(str(error)) from error
        await self._running.settled()

    async def _start(self, number: int) -> None:
        first = self._options.port
        port = self._running.ports.get(number, first and first + number - 1)
        node = Node(number, self._running, self._options._replace(port=port), self._say)
        self._nodes[number] = node
        try:
            await node.start()
        except CannotServeError:
            self._end(number)
            self._running.apply(ClusterInput(EXPIRE, number))
            raise
        self._running.ports[number] = node.addresses[0][1]

    async def stop_broker(self, number: int) -> None:
        """Stop a broker, which ends its session.

        Raises:
            CannotDoError: there is no such broker, or it does not run.
        """
        node = self._expect_running(number)
        self._end(number)
        self._running.apply(ClusterInput(EXPIRE, number))
        await node.stop()
        await self._running.settled()

    async def kill_broker(self, number: int) -> None:
        """Stop a broker at once; its session ends after the timeout.

        Raises:
            CannotDoError: there is no such broker, or it does not run.
        """
        node = self._expect_running(number)
        self._end(number)
        self._sessions[number] = asyncio.create_task(self._end_session(number))
        await node.stop()

    def _end(self, number: int) -> None:
        """The process of a broker ends."""
        del self._nodes[number]
        self._running.followers.pop(number, None)
        self._running.apply(ClusterInput(KILL, number))

    async def _end_session(self, number: int) -> None:
        await asyncio.sleep(self.session_timeout_ms / 1000)
        del self._sessions[number]
        self._running.apply(ClusterInput(EXPIRE, number))

    async def expire_session(self, number: int) -> None:
        """End the session of a broker, which opens another one if it runs.

        Raises:
            CannotDoError: there is no such broker, or it has no session.
        """
        self._expect_known(number)
        if number in self._sessions:
            self._sessions.pop(number).cancel()
        try:
            self._running.apply(ClusterInput(EXPIRE, number))
        except ImpossibleError as error:
            raise CannotDoError(str(error)) from error
        await self._running.settled()

    # The cluster.

    async def move_controller(self) -> int | None:
        """Delete `/controller`; return the broker that is elected.

        Raises:
            CannotDoError: no broker is the controller.
        """
        if self._running.cluster.admin.controller() is None:
            msg = "no broker is the controller"
            raise CannotDoError(msg)
        self._running.apply(ClusterInput(MOVE))
        await self._running.settled()
        return self._running.cluster.admin.controller()

    async def elect(self, topic: str) -> None:
        """Elect the preferred leader of each partition of a topic.

        Raises:
            CannotDoError: there is no such topic, or no running broker is the controller.
        """
        try:
            self._running.elect(topic)
        except (BadTopicError, ImpossibleError) as error:
            raise CannotDoError(str(error)) from error
        await self._running.settled()

    async def create_topic(self, topic: str, partitions: int) -> None:
        """Create a topic.

        Raises:
            CannotDoError: it cannot be created.
        """
        try:
            self._running.create_topic(topic, partitions)
        except BadTopicError as error:
            raise CannotDoError(str(error)) from error
        await self._running.settled()

    async def delete_topic(self, topic: str) -> bool:
        """Delete a topic; whether it is gone: it stays while a replica's broker does not run.

        Raises:
            CannotDoError: there is no such topic, or it is the offsets topic.
        """
        try:
            self._running.delete_topic(topic)
        except BadTopicError as error:
            raise CannotDoError(str(error)) from error
        await self._running.settled()
        return topic not in self._running.cluster.admin.topics()

    def status(self) -> Status:
        """The cluster as it is now."""
        admin = self._running.cluster.admin
        return Status(
            admin.controller(),
            tuple(sorted(self._nodes)),
            tuple(admin.brokers()),
            {
                topic: tuple(-1 if each is None else each.leader for each in states)
                for topic in admin.topics()
                if (states := self._running.states(topic))
            },
            tuple(admin.deletions()),
        )

    def _expect_known(self, number: int) -> None:
        if not 1 <= number <= self._brokers:
            msg = f"there is no broker {number}; there are brokers 1 to {self._brokers}"
            raise CannotDoError(msg)

    def _expect(self, number: int, *, running: bool) -> None:
        self._expect_known(number)
        if (number in self._nodes) != running:
            msg = f"broker {number} {'does not run' if running else 'runs'}"
            raise CannotDoError(msg)

    def _expect_running(self, number: int) -> Node:
        self._expect(number, running=True)
        return self._nodes[number]
