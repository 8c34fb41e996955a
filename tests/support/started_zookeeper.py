"""Kafka 2.7's ZooKeeper, for tests of the store and of the cluster on it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event

from groupcheck.implementation.cluster.store import Session, Store, create
from groupcheck.properties.brokers import java
from groupcheck.properties.brokers.apache import RELEASES, start_zookeeper
from groupcheck.properties.brokers.definition import free_port
from groupcheck.properties.brokers.supervised import Supervised

RELEASE = next(each for each in RELEASES if each.minor == "2.7")
START_S = 60.0


class Roots:
    """Empty stores on one ZooKeeper, each below a node of its own.

    A killed broker leaves its session, so all sessions are noted, and `close` ends them.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._numbers = count()
        self._sessions: list[Session] = []

    def store(self) -> Store:
        """A new one."""
        from groupcheck.implementation.cluster.zookeeper import ZooKeeperStore  # noqa: PLC0415

        root = f"/root-{next(self._numbers)}"
        session = ZooKeeperStore(self.address).open()
        create(session, root)
        session.close()
        return _Noting(ZooKeeperStore(self.address + root), self._sessions)

    def close(self) -> None:
        """End the sessions of all stores."""
        while self._sessions:
            self._sessions.pop().close()


class _Noting:
    def __init__(self, store: Store, sessions: list[Session]) -> None:
        self._store = store
        self._sessions = sessions

    def open(self) -> Session:
        session = self._store.open()
        self._sessions.append(session)
        return session


@contextmanager
def started_zookeeper() -> Iterator[Roots]:
    """Start ZooKeeper; the value has empty stores on it."""
    java.jars(RELEASE.kafka, RELEASE.scala, print)
    programs = Supervised(Event())
    try:
        port = free_port()
        start_zookeeper(RELEASE, programs, port)
        _wait(port, programs)
        roots = Roots(f"127.0.0.1:{port}")
        try:
            yield roots
        finally:
            roots.close()
    finally:
        programs.close()


def _wait(port: int, programs: Supervised) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert programs.ended("zookeeper") is None, programs.log("zookeeper")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    msg = "ZooKeeper does not listen"
    raise TimeoutError(msg)
