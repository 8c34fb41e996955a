"""A store on ZooKeeper, with kazoo.

A watch is called on a thread of kazoo, after the change: the session calls its watches in the order
of the changes, and before it reads what they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from logging import NullHandler, getLogger
from threading import Event
from typing import Any, Final, TypeVar
from warnings import catch_warnings

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    InvalidACLError,
    KazooException,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NotReadOnlyCallError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.exceptions import (
    BadVersionError as KazooBadVersion,
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
from kazoo.handlers.threading import KazooTimeoutError
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
    DeniedError,
    EphemeralParentError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Operation,
    SessionExpiredError,
    SetData,
    Stat,
    StoreError,
    UnavailableError,
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
    NoAuthError: DeniedError,
    AuthFailedError: DeniedError,
    InvalidACLError: DeniedError,
    NotReadOnlyCallError: DeniedError,
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
        connect_s: how many seconds a session waits for its first connection; a server that accepts
            it and never answers is given up after `session_s`.
    """

    def __init__(
        self, hosts: str, session_s: float = SESSION_S, connect_s: float = START_S
    ) -> None:
        self._hosts = hosts
        self._session_s = session_s
        self._connect_s = connect_s
        # Without a handler of its own, each broken connection would be on standard error.
        self._logger = getLogger("groupcheck.kazoo")
        self._logger.propagate = False
        if not self._logger.handlers:
            self._logger.addHandler(NullHandler())

    def open(self) -> ZooKeeperSession:
        """A new session.

        Raises:
            UnavailableError: ZooKeeper cannot be reached, or its root is missing; nothing is left.
        """
        return ZooKeeperSession(self._client(None), self._client, self._hosts, self._connect_s)

    def _client(self, resumed: tuple[int, bytes] | None) -> KazooClient:
        # As Kafka does, an operation is repeated until there is a connection, but never in another
        # session (KafkaZkClient.scala:1709).
        retry = KazooRetry(max_tries=-1, max_delay=1.0, ignore_expire=False)
        return KazooClient(
            self._hosts,
            timeout=self._session_s,
            client_id=resumed,
            command_retry=retry,
            logger=self._logger,
        )


class ZooKeeperSession:
    """A session with ZooKeeper: kazoo would open another one after its end, this does not."""

    def __init__(
        self,
        client: KazooClient,
        resume: Callable[[tuple[int, bytes]], KazooClient],
        hosts: str,
        connect_s: float,
    ) -> None:
        self._client = client
        self._resume = resume
        self._alive = True
        self._closed = False
        client.add_listener(self._changed)
        self._hosts = hosts
        self._connect_s = connect_s
        self._start(client)
        self._id: tuple[int, bytes] = (client._session_id, client._session_passwd)  # noqa: SLF001 - `client_id` is None without a connection
        if client.chroot and self.exists("/") is None:
            self.close()
            raise UnavailableError(hosts)

    def _start(self, client: KazooClient) -> None:
        """Connect; a client that cannot is closed."""
        try:
            with catch_warnings(action="ignore"):  # that there is no root
                client.start(self._connect_s)
        except (KazooTimeoutError, KazooException) as error:
            client.stop()
            client.close()
            raise UnavailableError(self._hosts) from error

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
        except KazooException as error:
            raise _ERRORS.get(type(error), StoreError)(path) from error
        if not self._alive:  # it may be the result of another session
            raise SessionExpiredError(path)
        return result  # type: ignore[no-any-return]

    def multi(self, operations: Sequence[Operation]) -> list[Stat | None]:
        """See `Session`."""
        path = operations[0].path if operations else "/"
        results = self._do(path, lambda: self._commit(operations))
        for index, (operation, result) in enumerate(zip(operations, results, strict=True)):
            if isinstance(result, Exception) and not isinstance(result, _NOT_THE_CAUSE):
                raise _ERRORS.get(type(result), StoreError)(operation.path, index) from result
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
        with suppress(SessionExpiredError):
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
        self._start(other)
        other.stop()
        other.close()
        self.close()


def _stat(stat: Any) -> Stat:  # noqa: ANN401 - kazoo has no types
    return Stat(stat.version, stat.czxid, stat.ephemeralOwner)
