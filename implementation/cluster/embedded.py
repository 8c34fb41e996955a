"""A store in memory: deterministic, with ZooKeeper's rules for versions, sessions and watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from groupcheck.implementation.cluster.store import (
    ANY_VERSION,
    CHANGED,
    CHILDREN,
    CREATED,
    DELETED,
    PERSISTENT,
    BadVersionError,
    Check,
    Create,
    Delete,
    EphemeralParentError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    Operation,
    SessionExpiredError,
    Stat,
    StoreError,
    Watch,
)

_ROOT: Final = "/"
_Undo = list[Callable[[], None]]
_Watches = dict[str, dict[tuple[int, Watch], None]]  # by path, in the order of their registration


@dataclass(slots=True)
class _Node:
    data: bytes
    created: int
    owner: int
    version: int = 0
    children: set[str] = field(default_factory=set)

    @property
    def stat(self) -> Stat:
        return Stat(self.version, self.created, self.owner)


def _parent(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition("/")
    return parent or _ROOT, name


class EmbeddedStore:
    """Nodes in memory. A watch is called at the change, before the operation returns."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {_ROOT: _Node(b"", 0, PERSISTENT)}
        self._transaction = 0
        self._sessions = 0
        self._data_watches: _Watches = {}
        self._child_watches: _Watches = {}
        self._ephemeral: dict[int, dict[str, None]] = {}

    def open(self) -> EmbeddedSession:
        """A new session."""
        self._sessions += 1
        self._ephemeral[self._sessions] = {}
        return EmbeddedSession(self, self._sessions)

    def apply(self, session: int, operations: Sequence[Operation]) -> list[Stat | None]:
        """Do all operations in one transaction, then call the watches in the order of the writes.

        Raises:
            StoreError: as `Session.multi`.
        """
        results: list[Stat | None] = []
        undo: _Undo = []
        self._transaction += 1
        changed: list[tuple[str, str]] = []
        for index, operation in enumerate(operations):
            try:
                results.append(self._apply(session, operation, undo, changed))
            except StoreError as error:
                error.index = index
                for each in reversed(undo):
                    each()
                raise
        for kind, path in changed:
            self._fire(kind, path)
        return results

    def _apply(
        self,
        session: int,
        operation: Operation,
        undo: _Undo,
        changed: list[tuple[str, str]],
    ) -> Stat | None:
        path = operation.path
        if isinstance(operation, Create):
            self._create(session, operation, undo)
            changed.append((CREATED, path))
            return None
        node = self._expected(path, operation.version)
        if isinstance(operation, Check):
            return None
        if isinstance(operation, Delete):
            if node.children:
                raise NotEmptyError(path)
            self._remove(path)
            undo.append(partial(self._put, path, node))
            changed.append((DELETED, path))
            return None
        undo.append(partial(self._restore, node, node.data, node.version))
        node.data = operation.data
        node.version += 1
        changed.append((CHANGED, path))
        return node.stat

    def _expected(self, path: str, version: int) -> _Node:
        node = self._nodes.get(path)
        if node is None:
            raise NoNodeError(path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersionError(path)
        return node

    def _create(self, session: int, operation: Create, undo: _Undo) -> None:
        path = operation.path
        parent = self._nodes.get(_parent(path)[0])
        if parent is None:
            raise NoNodeError(path)
        if path in self._nodes:
            raise NodeExistsError(path)
        if parent.owner != PERSISTENT:
            raise EphemeralParentError(path)
        owner = session if operation.ephemeral else PERSISTENT
        self._put(path, _Node(operation.data, self._transaction, owner))
        undo.append(partial(self._remove, path))

    def _put(self, path: str, node: _Node) -> None:
        above, name = _parent(path)
        self._nodes[path] = node
        self._nodes[above].children.add(name)
        if node.owner != PERSISTENT:
            self._ephemeral[node.owner][path] = None

    def _remove(self, path: str) -> None:
        above, name = _parent(path)
        node = self._nodes.pop(path)
        self._nodes[above].children.discard(name)
        if node.owner != PERSISTENT:
            self._ephemeral[node.owner].pop(path, None)

    def _restore(self, node: _Node, data: bytes, version: int) -> None:
        node.data, node.version = data, version

    def _fire(self, kind: str, path: str) -> None:
        """Call the watches of a change, as DataTree of ZooKeeper does."""
        called = self._call(self._data_watches, path, kind)
        if kind == CHANGED:
            return
        if kind == DELETED:
            self._call(self._child_watches, path, kind, called)
        above, _ = _parent(path)
        self._call(self._child_watches, above, CHILDREN)

    def _call(
        self,
        watches: _Watches,
        path: str,
        kind: str,
        already: dict[tuple[int, Watch], None] | None = None,
    ) -> dict[tuple[int, Watch], None]:
        found = watches.pop(path, None) or {}
        for each in found:
            if not already or each not in already:
                each[1](kind, path)
        return found

    def read(self, path: str, session: int, watch: Watch | None) -> tuple[bytes, Stat]:
        """See `Session.get`."""
        node = self._expected(path, ANY_VERSION)
        self._watch(self._data_watches, path, session, watch)
        return node.data, node.stat

    def stat(self, path: str, session: int, watch: Watch | None) -> Stat | None:
        """See `Session.exists`."""
        self._watch(self._data_watches, path, session, watch)
        node = self._nodes.get(path)
        return None if node is None else node.stat

    def names(self, path: str, session: int, watch: Watch | None) -> list[str]:
        """See `Session.children`."""
        node = self._expected(path, ANY_VERSION)
        self._watch(self._child_watches, path, session, watch)
        return sorted(node.children)

    def _watch(self, watches: _Watches, path: str, session: int, watch: Watch | None) -> None:
        if watch is not None:
            watches.setdefault(path, {})[session, watch] = None

    def end(self, session: int) -> None:
        """End a session: its watches are gone, and its nodes are deleted, the oldest first."""
        for watches in (self._data_watches, self._child_watches):
            for path in list(watches):
                kept = {each: None for each in watches[path] if each[0] != session}
                watches.update({path: kept}) if kept else watches.pop(path)
        paths = sorted(self._ephemeral.get(session, ()), key=self._created)
        if paths:
            self.apply(session, [Delete(path) for path in paths])
        self._ephemeral.pop(session, None)

    def _created(self, path: str) -> int:
        return self._nodes[path].created


class EmbeddedSession:
    """A session of an embedded store."""

    def __init__(self, store: EmbeddedStore, number: int) -> None:
        self._store = store
        self._number = number
        self._alive = True

    @property
    def number(self) -> int:
        """See `Session`."""
        return self._number

    @property
    def alive(self) -> bool:
        """See `Session`."""
        return self._alive

    def _check(self, path: str) -> None:
        if not self._alive:
            raise SessionExpiredError(path)

    def multi(self, operations: Sequence[Operation]) -> list[Stat | None]:
        """See `Session`."""
        self._check(operations[0].path if operations else _ROOT)
        return self._store.apply(self._number, operations)

    def get(self, path: str, watch: Watch | None = None) -> tuple[bytes, Stat]:
        """See `Session`."""
        self._check(path)
        return self._store.read(path, self._number, watch)

    def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """See `Session`."""
        self._check(path)
        return self._store.stat(path, self._number, watch)

    def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """See `Session`."""
        self._check(path)
        return self._store.names(path, self._number, watch)

    def settle(self) -> None:
        """See `Session`. They have been."""

    def close(self) -> None:
        """See `Session`."""
        if self._alive:
            self._alive = False
            self._store.end(self._number)

    def expire(self) -> None:
        """See `Session`."""
        self.close()
