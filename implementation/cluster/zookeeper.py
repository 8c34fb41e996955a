"""A store on ZooKeeper, with kazoo.

A watch is called on a thread of kazoo, after the change: the session calls its watches in the order
of the changes, and before it reads what they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, Final, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError as KazooBadVersion,
)
from kazoo.exceptions import (
    ConnectionClosedError,
    NoChildrenForEphemeralsError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.exceptions import (
    NodeExistsError as KazooNodeExists,
)
from kazoo.exceptions import (
    NoNodeError as KazooNoNode,
)
from kazoo.exceptions import (
    NotEmptyError as KazooNotEmpty,
)
from kazoo.exceptions import (
    SessionExpiredError as KazooSessionExpired,
)
from kazoo.protocol.states import Callback, EventType, KazooState, WatchedEvent
from kazoo.retry import KazooRetry

from groupcheck.implementation.cluster.store import (
    CHANGED,
    CHILDREN,
    CREATED,
    DELETED,
    BadVersionError,
    Create,
    Delete,
    EphemeralParentError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Operation,
    SessionExpiredError,
    SetData,
    Stat,
    StoreError,
    Watch,
)

SESSION_S: Final = 18.0  # Kafka's zookeeper.session.timeout.ms
START_S: Final = 30.0

_Result = TypeVar("_Result")
_KINDS: Final = {
    EventType.CREATED: CREATED,
    EventType.DELETED: DELETED,
    EventType.CHANGED: CHANGED,
    EventType.CHILD: CHILDREN,
}
_ERRORS: Final[dict[type[Exception], type[StoreError]]] = {
    KazooNodeExists: NodeExistsError,
    KazooNoNode: NoNodeError,
    KazooBadVersion: BadVersionError,
    KazooNotEmpty: NotEmptyError,
    NoChildrenForEphemeralsError: EphemeralParentError,
    KazooSessionExpired: SessionExpiredError,
    ConnectionClosedError: SessionExpiredError,
}
_NOT_THE_CAUSE: Final = (RolledBackError, RuntimeInconsistency)  # another operation fails


@dataclass(frozen=True)
class _Watcher:
    """A watch, for kazoo: two are equal if their watches are, so that each is called once."""

    watch: Watch
    session: int

    def __call__(self, event: WatchedEvent) -> None:
        kind = _KINDS.get(event.type)
        if kind is not None:  # otherwise the connection has changed
            self.watch(kind, event.path)


class ZooKeeperStore:
    """A store on a ZooKeeper.

    Args:
        hosts: where it is, as HOST:PORT; a path after that is the root of the store, and exists.
        session_s: after how many seconds without its client a session ends.
    """

    def __init__(self, hosts: str, session_s: float = SESSION_S) -> None:
        self._hosts = hosts
        self._session_s = session_s

    def open(self) -> ZooKeeperSession:
        """A new session.

        Raises:
            kazoo.handlers.threading.KazooTimeoutError: ZooKeeper cannot be reached.
        """
        return ZooKeeperSession(self._client(None), self._client)

    def _client(self, resumed: tuple[int, bytes] | None) -> KazooClient:
        # As Kafka does, an operation is repeated until there is a connection, but never in another
        # session (KafkaZkClient.scala:1709).
        retry = KazooRetry(max_tries=-1, max_delay=1.0, ignore_expire=False)
        return KazooClient(
            self._hosts, timeout=self._session_s, client_id=resumed, command_retry=retry
        )


class ZooKeeperSession:
    """A session with ZooKeeper: kazoo would open another one after its end, this does not."""

    def __init__(
        self, client: KazooClient, resume: Callable[[tuple[int, bytes]], KazooClient]
    ) -> None:
        self._client = client
        self._resume = resume
        self._alive = True
        self._closed = False
        client.add_listener(self._changed)
        client.start(START_S)
        self._id: tuple[int, bytes] = client.client_id

    def _changed(self, state: str) -> None:
        if state == KazooState.LOST:
            self._alive = False

    @property
    def number(self) -> int:
        """See `Session`."""
        return self._id[0]

    @property
    def alive(self) -> bool:
        """See `Session`. The client may learn of the end later than others."""
        return self._alive

    def _do(self, path: str, action: Callable[[], _Result]) -> _Result:
        if not self._alive:
            raise SessionExpiredError(path)
        try:
            result = self._client.retry(action)
        except tuple(_ERRORS) as error:
            raise _ERRORS[type(error)](path) from error
        if not self._alive:  # it may be the result of another session
            raise SessionExpiredError(path)
        return result  # type: ignore[no-any-return]

    def multi(self, operations: Sequence[Operation]) -> list[Stat | None]:
        """See `Session`."""
        path = operations[0].path if operations else "/"
        results = self._do(path, lambda: self._commit(operations))
        for index, (operation, result) in enumerate(zip(operations, results, strict=True)):
            if isinstance(result, Exception) and not isinstance(result, _NOT_THE_CAUSE):
                raise _ERRORS[type(result)](operation.path, index) from result
        return [
            _stat(result) if isinstance(operation, SetData) else None
            for operation, result in zip(operations, results, strict=True)
        ]

    def _commit(self, operations: Sequence[Operation]) -> list[Any]:
        transaction = self._client.transaction()
        for each in operations:
            if isinstance(each, Create):
                transaction.create(each.path, each.data, ephemeral=each.ephemeral)
            elif isinstance(each, SetData):
                transaction.set_data(each.path, each.data, each.version)
            elif isinstance(each, Delete):
                transaction.delete(each.path, each.version)
            else:
                transaction.check(each.path, each.version)
        results: list[Any] = transaction.commit()
        return results

    def get(self, path: str, watch: Watch | None = None) -> tuple[bytes, Stat]:
        """See `Session`."""
        data, stat = self._do(path, lambda: self._client.get(path, self._watcher(watch)))
        return data or b"", _stat(stat)

    def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """See `Session`."""
        stat = self._do(path, lambda: self._client.exists(path, self._watcher(watch)))
        return None if stat is None else _stat(stat)

    def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """See `Session`."""
        names = self._do(path, lambda: self._client.get_children(path, self._watcher(watch)))
        return sorted(names)

    def _watcher(self, watch: Watch | None) -> _Watcher | None:
        return None if watch is None else _Watcher(watch, self.number)

    def settle(self) -> None:
        """See `Session`."""
        if not self._alive:
            return
        self.exists("/")  # notifications come before the answer
        called = Event()
        self._client.handler.dispatch_callback(Callback("watch", called.set, ()))
        called.wait(START_S)

    def close(self) -> None:
        """See `Session`."""
        if self._closed:
            return
        self._alive, self._closed = False, True
        self._client.stop()
        self._client.close()

    def expire(self) -> None:
        """See `Session`. Another client takes the session over and ends it."""
        other = self._resume(self._id)
        other.start(START_S)
        other.stop()
        other.close()
        self.close()


def _stat(stat: Any) -> Stat:  # noqa: ANN401 - kazoo has no types
    return Stat(stat.version, stat.czxid, stat.ephemeralOwner)
