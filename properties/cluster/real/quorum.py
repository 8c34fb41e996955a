"""The metadata of a cluster without ZooKeeper (KRaft), as its brokers and controllers answer.

Each node is a broker and a controller. The leader of the quorum is the controller that answers
DescribeQuorum, with the highest epoch. The metadata are what a majority of the brokers answers,
word for word: two brokers that agree have applied what was committed, and every later majority has
one of them. A single broker that was paused may still answer with what was true before. Without a
majority that agrees, the metadata are those that the last one agreed on. The leader alone says
which topics are being reassigned.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from groupcheck.model.brokers import NOBODY
from groupcheck.properties.brokers.definition import Address, free_port
from groupcheck.properties.cluster.real.views import IDS, MAJORITY, NO_ANSWER, RawNodes, TopicNode
from groupcheck.properties.cluster.real.wire import Described, Leader, Moving, Wire

ANSWER_S: Final = 1.0
# Below the ports that Linux gives to outgoing connections.
LOWEST_PORT: Final = 10_000
EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
TRIES: Final = 50


class Quorum:
    """The metadata of a cluster.

    Args:
        live: returns the address of the broker by node, for those that run and are not paused.
        interrupted: when set, ends every wait.
    """

    def __init__(self, live: Callable[[], Mapping[int, Address]], interrupted: Event) -> None:
        self.controllers: dict[int, int] = dict(zip(IDS, stable_ports(len(IDS)), strict=True))
        self._live = live
        self._wire = Wire(interrupted, ANSWER_S)
        self._epoch = 0  # the highest of a leader
        self._brokers: frozenset[tuple[int, int]] = frozenset()
        self._topics: dict[str, TopicNode | None] = {}
        self._moving: dict[str, Moving] = {}

    def close(self) -> None:
        """Close all connections."""
        self._wire.close()

    def read(self, topics: Sequence[str]) -> RawNodes:
        """Read the leader, the brokers that are unfenced, and the named topics."""
        live = self._live()
        leader = self._leader(live)
        answers = (self._wire.described(address, topics) for address in live.values())
        if (found := agreed([each for each in answers if each])) is not None:
            self._brokers = frozenset(found.ports.items())
            self._topics |= {topic: found.topics.get(topic) for topic in topics}
        if leader is not None and topics:
            moving = self._wire.reassignments(self._controller(leader.node), topics)
            self._moving = self._moving if moving is None else moving
        node = leader.node if leader else NOBODY
        return RawNodes(
            node,
            node,
            self._epoch,
            self._epoch,
            {
                each: 1
                for each, port in sorted(self._brokers)
                if each not in live or live[each][1] == port  # else it is the one before a restart
            },
            tuple(map(self._topic, topics)),
            (False,) * len(topics),
        )

    def _topic(self, name: str) -> TopicNode | None:
        found, moving = self._topics.get(name), self._moving.get(name, Moving())
        return found and found._replace(adding=moving.adding, removing=moving.removing)

    def create_topic(self, name: str, replicas: Sequence[int]) -> int:
        """Ask the controller to create a topic; returns the error."""
        leader = self._leader(self._live())
        if leader is None:
            return NO_ANSWER
        return self._wire.create_topic(self._controller(leader.node), name, replicas)

    def delete_topic(self, name: str) -> int:
        """Ask the controller to delete a topic; returns the error."""
        leader = self._leader(self._live())
        if leader is None:
            return NO_ANSWER
        return self._wire.delete_topic(self._controller(leader.node), name)

    def forget_topic(self, name: str) -> None:
        """Forget a topic that no sequence has any more."""
        self._topics.pop(name, None)

    def end_session(self, broker: int) -> bool:
        """Nothing: the controller ends the session of a broker that sends no heartbeat."""
        del broker
        return False

    def _controller(self, node: int) -> Address:
        return "127.0.0.1", self.controllers[node]

    def _leader(self, live: Mapping[int, Address]) -> Leader | None:
        """The leader; not one that was paused and does not know that it is none any more."""
        asked = (self._wire.leader(self._controller(node)) for node in live)
        found = max((each for each in asked if each), key=lambda each: each.epoch, default=None)
        if found is None or found.epoch < self._epoch:
            return None
        self._epoch = found.epoch
        return found


def agreed(answers: Sequence[Described]) -> Described | None:
    """What a majority of all brokers answers; None if no majority does."""
    return next((each for each in answers if answers.count(each) >= MAJORITY), None)


def stable_ports(count: int) -> list[int]:
    """Unused ports that no outgoing connection is given, so that a node may use its port again."""
    lowest_ephemeral = LOWEST_PORT
    with suppress(OSError, ValueError):
        lowest_ephemeral = int(EPHEMERAL.read_text().split()[0])
    found: set[int] = set()
    for _ in range(TRIES if lowest_ephemeral > LOWEST_PORT + TRIES else 0):
        port = random.randrange(LOWEST_PORT, lowest_ephemeral)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            found.add(port)
        if len(found) == count:
            return list(found)
    while len(found) < count:
        found.add(free_port())
    return list(found)
