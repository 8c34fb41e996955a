"""The nodes of ZooKeeper: read, written and deleted with kazoo; and the end of a session.

To end the session of a broker, a second connection takes the session over and closes it. It needs
the password of the session, which ZooKeeper 3.5 derives from the id of the session and a constant
(`ZooKeeperServer.generatePasswd`), and the id is in each ephemeral node of the broker. ZooKeeper
then treats the session as closed by its client: it deletes the ephemeral nodes. The broker's own
connection breaks, and it learns that the session has ended when it connects again.
"""

from __future__ import annotations

import json
import logging
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from groupcheck.model.brokers import NOBODY, Partition
from groupcheck.properties.cluster.real.views import NONE, RawNodes, TopicNode
from groupcheck.properties.ports.port import PortFailedError

TIMEOUT_S: Final = 10.0
READY_S: Final = 1.0  # for an answer while it starts
NEW_SESSION: Final = 0

_Node = tuple[bytes, Any]  # its data, and kazoo's ZnodeStat
SECRET: Final = 0xB3415C00  # ZooKeeperServer.superSecret
CLOSE: Final = -11  # ZooDefs.OpCode.closeSession
PASSWORD_BYTES: Final = 16


class ZooKeeper:
    """A connection to the ZooKeeper of a cluster.

    Every call raises `PortFailedError` if ZooKeeper does not answer.

    Args:
        port: of 127.0.0.1, on which it listens.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        # It would report each connection that breaks, on standard error.
        logger = logging.getLogger("groupcheck.kazoo")
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
        client = _kazoo("client").KazooClient
        self._client = client(f"127.0.0.1:{port}", timeout=TIMEOUT_S, logger=logger)
        with _failing():
            self._client.start(timeout=TIMEOUT_S)

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._client.stop()
        self._client.close()

    def read(self, topics: Sequence[str]) -> RawNodes:
        """Read the nodes of the cluster, and those of the named topics."""
        with _failing():
            controller, epoch = self._controller()
            registered = {
                number: node[1].czxid
                for number in map(int, self._children("/brokers/ids"))
                if (node := self._get(f"/brokers/ids/{number}"))
            }
            pending = set(self._children("/admin/delete_topics"))
            return RawNodes(
                json.loads(controller[0])["brokerid"] if controller else NOBODY,
                controller[1].czxid if controller else 0,
                int(epoch[0]) if epoch else 0,
                epoch[1].version if epoch else 0,
                registered,
                tuple(map(self._topic, topics)),
                tuple(topic in pending for topic in topics),
            )

    def create_topic(self, name: str, replicas: Sequence[int]) -> int:
        """Write the nodes of a new topic, as `kafka-topics --zookeeper` does; returns no error."""
        assignment = {
            "version": 2,
            "partitions": {"0": list(replicas)},
            "adding_replicas": {},
            "removing_replicas": {},
        }
        with _failing():
            self._write(f"/config/topics/{name}", {"version": 1, "config": {}})
            self._write(f"/brokers/topics/{name}", assignment)
        return NONE

    def delete_topic(self, name: str) -> int:
        """Request the deletion of a topic, known or not; returns no error."""
        with _failing():
            self._client.ensure_path(f"/admin/delete_topics/{name}")
        return NONE

    def forget_topic(self, name: str) -> None:
        """Delete the settings of a topic, which `kafka-topics` leaves for an unknown one."""
        self.remove(f"/config/topics/{name}")

    def delete_controller(self) -> None:
        """Delete `/controller`, if it exists."""
        self.remove("/controller")

    def remove(self, path: str) -> None:
        """Delete a node and those below it, if it exists."""
        with _failing():
            try:
                self._client.delete(path, recursive=True)
            except _kazoo("exceptions").NoNodeError:
                return

    def end_session(self, broker: int) -> bool:
        """End the session of a broker with a real id; returns whether it had one."""
        with _failing():
            node = self._get(f"/brokers/ids/{broker}")
        return node is not None and end_session(self._port, node[1].ephemeralOwner)

    def _controller(self) -> tuple[_Node | None, _Node | None]:
        """Read `/controller` and `/controller_epoch`, of one time: a controller writes both."""
        while True:
            epoch = self._get("/controller_epoch")
            controller = self._get("/controller")
            again = self._get("/controller_epoch")
            if (epoch and epoch[1].version) == (again and again[1].version):
                return controller, epoch

    def _topic(self, name: str) -> TopicNode | None:
        node = self._get(f"/brokers/topics/{name}")
        if node is None:
            return None
        state = self._get(f"/brokers/topics/{name}/partitions/0/state")
        assigned = json.loads(node[0])
        replicas, adding, removing = (
            tuple(assigned.get(kind, {}).get("0", ()))
            for kind in ("partitions", "adding_replicas", "removing_replicas")
        )
        partition = _partition(*state) if state else None
        return TopicNode(node[1].czxid, replicas, partition, adding, removing)

    def _get(self, path: str) -> _Node | None:
        try:
            data, stat = self._client.get(path)
        except _kazoo("exceptions").NoNodeError:
            return None
        return data, stat

    def _children(self, path: str) -> list[str]:
        try:
            return list(self._client.get_children(path))
        except _kazoo("exceptions").NoNodeError:
            return []

    def _write(self, path: str, value: object) -> None:
        data = json.dumps(value).encode()
        try:
            self._client.create(path, data, makepath=True)
        except _kazoo("exceptions").NodeExistsError:
            self._client.set(path, data)


def _kazoo(module: str) -> Any:  # noqa: ANN401 (it comes without types)
    """A module of kazoo, an extra, which is imported when it is first needed."""
    return import_module(f"kazoo.{module}")


def _partition(data: bytes, stat: Any) -> Partition:  # noqa: ANN401 (as above)
    state = json.loads(data)
    isr = tuple(state["isr"])
    return Partition(
        state["leader"], state["leader_epoch"], isr, state["controller_epoch"], stat.version
    )


@contextmanager
def _failing() -> Iterator[None]:
    """Convert the errors of kazoo."""
    errors = (
        _kazoo("exceptions").KazooException,
        _kazoo("handlers.threading").KazooTimeoutError,
    )
    try:
        yield
    except errors as error:
        kind = "port crashed"
        reason = f"ZooKeeper does not answer ({type(error).__name__})"
        raise PortFailedError(kind, reason) from error


def password(session: int) -> bytes:
    """The password of a session: `java.util.Random(session ^ superSecret).nextBytes`."""
    seed = ((session ^ SECRET) ^ 0x5DEECE66D) & (2**48 - 1)
    made = b""
    while len(made) < PASSWORD_BYTES:
        seed = (seed * 0x5DEECE66D + 0xB) & (2**48 - 1)
        made += (seed >> 16).to_bytes(4, "little")
    return made


def is_ready(port: int) -> bool:
    """Whether ZooKeeper answers on a port: it makes a session, which ends at once."""
    try:
        return end_session(port, NEW_SESSION, READY_S)
    except PortFailedError:
        return False


def end_session(port: int, session: int, timeout_s: float = TIMEOUT_S) -> bool:
    """End a session; returns whether it existed.

    Raises:
        PortFailedError: ZooKeeper does not answer.
    """
    signed = struct.unpack(">q", struct.pack(">Q", session & (2**64 - 1)))[0]
    # ConnectRequest: protocol version, last zxid seen, timeout, session, password; read-only.
    request = struct.pack(">iqiq", 0, 0, 30_000, signed)
    request += struct.pack(">i", PASSWORD_BYTES) + password(session) + b"\0"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout_s) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = _frame(connection)
            _, timeout_ms, _ = struct.unpack(">iiq", answer[:16])
            if not timeout_ms:
                return False
            connection.sendall(struct.pack(">iii", 8, 1, CLOSE))
            _frame(connection)
    except (OSError, struct.error) as error:
        kind, reason = "port crashed", f"ZooKeeper does not end a session ({error})"
        raise PortFailedError(kind, reason) from error
    return True


def _frame(connection: socket.socket) -> bytes:
    (length,) = struct.unpack(">i", _exactly(connection, 4))
    return _exactly(connection, length)


def _exactly(connection: socket.socket, length: int) -> bytes:
    read = b""
    while len(read) < length:
        chunk = connection.recv(length - len(read))
        if not chunk:
            msg = "it closed the connection"
            raise OSError(msg)
        read += chunk
    return read
