"""The store of a cluster: what ZooKeeper promises, as an interface.

A store has nodes in a tree. Each has data, a version that every write raises, and the number of the
transaction that created it. A node that a session creates as ephemeral is deleted when the session
ends. A watch is called once, for the next change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

ANY_VERSION: Final = -1
PERSISTENT: Final = 0  # the owner of a node that no session owns

# What has happened to a watched node.
CREATED: Final = "created"
CHANGED: Final = "changed"
DELETED: Final = "deleted"
CHILDREN: Final = "children"

Watch = Callable[[str, str], None]
"""A function of one of the kinds above and the path. It must not use the store itself."""


class StoreError(Exception):
    """An operation of the store fails; the store is as it was.

    Args:
        path: of the operation.
        index: of an operation of `multi`, which of them fails; 0 otherwise.
    """

    def __init__(self, path: str, index: int = 0) -> None:
        super().__init__(f"{type(self).__name__}: {path}")
        self.path = path
        self.index = index


class NodeExistsError(StoreError):
    """The node to create is there."""


class NoNodeError(StoreError):
    """The node, or the parent of the node to create, is not there."""


class BadVersionError(StoreError):
    """The node has another version than expected."""


class NotEmptyError(StoreError):
    """The node to delete has children."""


class EphemeralParentError(StoreError):
    """The parent of the node to create is ephemeral."""


class SessionExpiredError(StoreError):
    """The session has ended."""


class DeniedError(StoreError):
    """The session may not do it, by an ACL or because the store is read-only."""


class MalformedError(StoreError):
    """The data of a node is not what this version of Kafka writes."""


class UnavailableError(StoreError):
    """The store cannot be reached in the time that its client waits."""


class Stat(NamedTuple):
    """What the store knows about a node.

    Args:
        version: 0 for a new node.
        created: the number of the transaction, ZooKeeper's czxid: it only rises.
        owner: the id of the session that it is ephemeral to, or `PERSISTENT`.
    """

    version: int
    created: int
    owner: int


class Create(NamedTuple):
    """Create a node, whose parent is there."""

    path: str
    data: bytes = b""
    ephemeral: bool = False


class SetData(NamedTuple):
    """Set the data of a node that has a version."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Delete a node that has a version and no children."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Only check that a node has a version."""

    path: str
    version: int


Operation = Create | SetData | Delete | Check


class Session(Protocol):
    """A session. After its end, each method that reads or writes raises SessionExpiredError."""

    @property
    def number(self) -> int:
        """The id that `Stat.owner` has for its nodes."""
        ...

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        ...

    def multi(self, operations: Sequence[Operation]) -> list[Stat | None]:
        """Do all operations, or none.

        Returns:
            for each SetData the node, and None for the others.

        Raises:
            NodeExistsError, NoNodeError, BadVersionError, NotEmptyError, EphemeralParentError: of
                the first operation that fails, with its index.
        """
        ...

    def get(self, path: str, watch: Watch | None = None) -> tuple[bytes, Stat]:
        """The data of a node; a watch is called when it is changed or deleted.

        Raises:
            NoNodeError: there is none; nothing is watched then.
        """
        ...

    def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """The node, if it is there; a watch is called when it is created, changed or deleted."""
        ...

    def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """The names of the children, sorted; a watch is called when there are others.

        Raises:
            NoNodeError: there is no such node; nothing is watched then.
        """
        ...

    def settle(self) -> None:
        """Wait until the watches of all changes so far have been called, if it has not ended."""
        ...

    def close(self) -> None:
        """End it: its nodes are deleted."""
        ...

    def expire(self) -> None:
        """End it without its owner, as the store does after its timeout."""
        ...


class Store(Protocol):
    """A store that opens sessions."""

    def open(self) -> Session:
        """A new session.

        Raises:
            UnavailableError: the store cannot be reached.
        """
        ...


def written(results: Sequence[Stat | None], index: int) -> Stat:
    """What `multi` has returned for a SetData.

    Raises:
        TypeError: it was another operation.
    """
    stat = results[index]
    if stat is None:
        message = f"operation {index} does not set data"
        raise TypeError(message)
    return stat


def create(session: Session, path: str, data: bytes = b"", *, ephemeral: bool = False) -> None:
    """Create one node: see `multi`."""
    session.multi([Create(path, data, ephemeral)])


def set_data(session: Session, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
    """Set the data of one node: see `multi`."""
    return written(session.multi([SetData(path, data, version)]), 0)


def delete(session: Session, path: str, version: int = ANY_VERSION) -> None:
    """Delete one node: see `multi`."""
    session.multi([Delete(path, version)])
