"""The stores behave like a plain model of ZooKeeper: nodes, versions, sessions and watches."""

from __future__ import annotations

from itertools import count
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupcheck.implementation.cluster.embedded import EmbeddedStore
from groupcheck.implementation.cluster.store import (
    ANY_VERSION,
    BadVersionError,
    Check,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    Operation,
    Session,
    SessionExpiredError,
    SetData,
    Store,
    StoreError,
    create,
    delete,
    set_data,
)
from support.needs import needs_broker
from support.started_zookeeper import started_zookeeper

PATHS = ("/a", "/b", "/a/x", "/a/y", "/a/x/z")
SESSIONS = 2


class Step(NamedTuple):
    """What a session does: `name` is one of its methods, or `open`."""

    session: int
    name: str
    path: str = "/"
    watched: bool = False
    operations: tuple[Operation, ...] = ()


paths = st.sampled_from(PATHS)
versions = st.sampled_from((ANY_VERSION, 0, 1, 2))
data = st.sampled_from((b"one", b"two"))
operations = st.one_of(
    st.builds(Create, paths, data, st.booleans()),
    st.builds(SetData, paths, data, versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)
sessions = st.integers(0, SESSIONS - 1)
steps = st.one_of(
    st.builds(
        Step,
        sessions,
        st.just("multi"),
        operations=st.lists(operations, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Step, sessions, st.sampled_from(("get", "exists", "children")), paths, st.booleans()),
    st.builds(Step, sessions, st.sampled_from(("open", "close", "expire"))),
)


class Watched:
    """A session that notes which watches are called: one for data, and one for children."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.called: list[tuple[str, str, str]] = []

    def data(self, kind: str, path: str) -> None:
        self.called.append(("data", kind, path))

    def children(self, kind: str, path: str) -> None:
        self.called.append(("children", kind, path))

    def settle(self) -> None:
        self.session.settle()


class Driven:
    """A store that takes steps, and shows what it answers and which watches it calls."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.sessions: list[Watched | None] = [None] * SESSIONS
        self.owners: dict[int, int] = {0: -1}
        self.created: dict[int, int] = {}

    def do(self, step: Step) -> tuple[Any, list[list[tuple[str, str, str]]]]:
        watched = self.sessions[step.session]
        if step.name == "open":
            if watched is None or not watched.session.alive:
                watched = Watched(self._store.open())
                self.owners[watched.session.number] = step.session
                self.sessions[step.session] = watched
            return None, self._called()
        if watched is None:
            return None, self._called()
        try:
            answer = self._answer(watched, step)
        except StoreError as error:
            answer = (type(error).__name__, error.index)
        return answer, self._called()

    def _answer(self, watched: Watched, step: Step) -> Any:
        session = watched.session
        data_watch = watched.data if step.watched else None
        if step.name == "multi":
            return [self._shown(stat) for stat in session.multi(step.operations)]
        if step.name == "get":
            value, stat = session.get(step.path, data_watch)
            return value, self._shown(stat)
        if step.name == "exists":
            return self._shown(session.exists(step.path, data_watch))
        if step.name == "children":
            return session.children(step.path, watched.children if step.watched else None)
        return getattr(session, step.name)()

    def _shown(self, stat: Any) -> Any:
        """A node with the number of its owner, and the order of its creation."""
        if stat is None:
            return None
        rank = self.created.setdefault(stat.created, len(self.created))
        return stat.version, self.owners[stat.owner], rank

    def _called(self) -> list[list[tuple[str, str, str]]]:
        found = []
        for watched in self.sessions:
            if watched is not None:
                watched.settle()
                # ZooKeeper deletes the nodes of a session in any order.
                found.append(sorted(watched.called))
                watched.called.clear()
        return found

    def close(self) -> None:
        for watched in self.sessions:
            if watched is not None:
                watched.session.close()


class PlainSession:
    """A session of the plain model."""

    def __init__(self, store: PlainStore, number: int) -> None:
        self.store, self.number, self.alive = store, number, True

    def multi(self, operations: tuple[Operation, ...]) -> list[Any]:
        self._live()
        before = dict(self.store.nodes)
        self.store.transaction += 1
        changes: list[tuple[str, str]] = []
        results: list[Any] = []
        for index, operation in enumerate(operations):
            error = self.store.refused(operation)
            if error is not None:
                self.store.nodes = before
                raise error(operation.path, index)
            results.append(self.store.do(operation, self.number, changes))
        self.store.tell(changes)
        return results

    def _live(self) -> None:
        if not self.alive:
            path = "/"
            raise SessionExpiredError(path)

    def get(self, path: str, watch: Any) -> Any:
        stat = self.exists(path, None)
        if stat is None:
            raise NoNodeError(path)
        self.exists(path, watch)
        return self.store.nodes[path].value, stat

    def exists(self, path: str, watch: Any) -> Any:
        self._live()
        if watch is not None and (self, path, watch) not in self.store.on_data:
            self.store.on_data.append((self, path, watch))
        return self.store.nodes.get(path)

    def children(self, path: str, watch: Any) -> Any:
        self._live()
        if path not in self.store.nodes:
            raise NoNodeError(path)
        if watch is not None and (self, path, watch) not in self.store.on_children:
            self.store.on_children.append((self, path, watch))
        return sorted(self.store.below(path))

    def settle(self) -> None:
        pass

    def close(self) -> None:
        if not self.alive:
            return
        self.alive = False
        for watches in (self.store.on_data, self.store.on_children):
            watches[:] = [each for each in watches if each[0] is not self]
        owned = [path for path, node in self.store.nodes.items() if node.owner == self.number]
        changes: list[tuple[str, str]] = []
        for path in owned:
            self.store.do(Delete(path), self.number, changes)
        self.store.tell(changes)

    expire = close


class PlainNode(NamedTuple):
    version: int
    created: int
    owner: int
    value: bytes


class PlainStore:
    """What ZooKeeper's documentation promises, without any thought of speed."""

    def __init__(self) -> None:
        self.nodes = {"/": PlainNode(0, -1, 0, b"")}
        self.on_data: list[Any] = []
        self.on_children: list[Any] = []
        self._numbers = count(1)
        self.transaction = 0  # all that a multi creates has one number

    def open(self) -> Any:
        return PlainSession(self, next(self._numbers))

    def below(self, path: str) -> list[str]:
        start = path.rstrip("/") + "/"
        names = [each[len(start) :] for each in self.nodes if each.startswith(start)]
        return [name for name in names if name and "/" not in name]

    def refused(self, operation: Operation) -> type[StoreError] | None:
        node = self.nodes.get(operation.path)
        if isinstance(operation, Create):
            parent = self.nodes.get(operation.path.rpartition("/")[0] or "/")
            if parent is None:
                return NoNodeError
            if node is not None:
                return NodeExistsError
            return _named("EphemeralParentError") if parent.owner else None
        if node is None:
            return NoNodeError
        if operation.version not in (ANY_VERSION, node.version):
            return BadVersionError
        full = isinstance(operation, Delete) and self.below(operation.path)
        return _named("NotEmptyError") if full else None

    def do(self, operation: Operation, session: int, changes: list[tuple[str, str]]) -> Any:
        path = operation.path
        if isinstance(operation, Create):
            owner = session if operation.ephemeral else 0
            self.nodes[path] = PlainNode(0, self.transaction, owner, operation.data)
            changes.append(("created", path))
        elif isinstance(operation, SetData):
            node = self.nodes[path]
            self.nodes[path] = node._replace(version=node.version + 1, value=operation.data)
            changes.append(("changed", path))
            return self.nodes[path]
        elif isinstance(operation, Delete):
            del self.nodes[path]
            changes.append(("deleted", path))
        return None

    def tell(self, changes: list[tuple[str, str]]) -> None:
        for kind, path in changes:
            self._fire(self.on_data, kind, path)
            if kind == "deleted":
                self._fire(self.on_children, kind, path)
            if kind != "changed":
                self._fire(self.on_children, "children", path.rpartition("/")[0] or "/")

    def _fire(self, watches: list[Any], kind: str, path: str) -> None:
        called = [each for each in watches if each[1] == path]
        watches[:] = [each for each in watches if each[1] != path]
        for _, _, watch in called:
            watch(kind, path)


def _named(name: str) -> type[StoreError]:
    return next(each for each in StoreError.__subclasses__() if each.__name__ == name)


def check_agreement(store: Store, walk: list[Step]) -> None:
    driven, plain = Driven(store), Driven(PlainStore())
    try:
        for number in range(SESSIONS):
            assert driven.do(Step(number, "open")) == plain.do(Step(number, "open"))
        for step in walk:
            assert driven.do(step) == plain.do(step), step
    finally:
        driven.close()


@given(st.lists(steps, max_size=40))
def test_the_embedded_store_agrees_with_a_plain_model(walk: list[Step]) -> None:
    check_agreement(EmbeddedStore(), walk)


@needs_broker("kafka:2.7")
def test_zookeeper_agrees_with_a_plain_model() -> None:
    with started_zookeeper() as roots:

        @settings(
            max_examples=60,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            database=None,
        )
        @given(st.lists(steps, max_size=30))
        def agree(walk: list[Step]) -> None:
            check_agreement(roots.store(), walk)
            roots.close()

        agree()


def test_a_write_with_another_version_is_refused() -> None:
    session = EmbeddedStore().open()
    create(session, "/a", b"one")
    assert set_data(session, "/a", b"two", 0).version == 1
    with pytest.raises(BadVersionError):
        set_data(session, "/a", b"three", 0)
    with pytest.raises(BadVersionError):
        delete(session, "/a", 0)
    assert session.get("/a")[0] == b"two"


def test_the_end_of_a_session_deletes_its_nodes_and_fires_watches_in_the_order_of_creation() -> (
    None
):
    store = EmbeddedStore()
    ends, watches = store.open(), Watched(store.open())
    create(ends, "/ids")
    create(ends, "/ids/1", ephemeral=True)
    create(ends, "/controller", ephemeral=True)
    watches.session.exists("/controller", watches.data)
    watches.session.children("/ids", watches.children)
    ends.expire()
    assert watches.called == [
        ("children", "children", "/ids"),
        ("data", "deleted", "/controller"),
    ]
    assert watches.session.children("/") == ["ids"]
    with pytest.raises(SessionExpiredError):
        ends.exists("/ids")


def test_a_watch_is_called_once_however_often_it_is_set() -> None:
    watched = Watched(EmbeddedStore().open())
    for _ in range(2):
        watched.session.exists("/a", watched.data)
    create(watched.session, "/a")
    set_data(watched.session, "/a", b"one")
    assert watched.called == [("data", "created", "/a")]


def test_a_transaction_does_all_operations_or_none_and_tells_which_one_fails() -> None:
    watched = Watched(EmbeddedStore().open())
    session = watched.session
    create(session, "/a", b"one")
    session.exists("/a", watched.data)
    with pytest.raises(NodeExistsError) as raised:
        session.multi([SetData("/a", b"two"), Create("/b"), Delete("/a"), Create("/b")])
    assert raised.value.index == 3
    assert session.get("/a")[0] == b"one"
    assert session.exists("/b") is None
    assert watched.called == []
