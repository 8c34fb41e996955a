"""An embedded store whose calls fail by choice, and which checks who writes what to it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeVar

from groupcheck.implementation.cluster import nodes
from groupcheck.implementation.cluster.embedded import EmbeddedSession, EmbeddedStore
from groupcheck.implementation.cluster.store import (
    Create,
    DeniedError,
    Operation,
    Session,
    SessionExpiredError,
    SetData,
    Stat,
    UnavailableError,
    Watch,
)
from groupcheck.model.brokers import NO_LEADER

_Result = TypeVar("_Result")


class Fault(Enum):
    """What happens to a call of the store."""

    LOST = "it is done, its answer is lost with the connection, and it is repeated"
    LATE = "watches that have fired are called after it"
    DENIED = "it is not allowed; a session cannot be opened"
    ENDED_BEFORE = "the session has ended"
    ENDED_AFTER = "it is done, and the session ends before the answer"


MILD = (Fault.LOST, Fault.LATE)
"""After these, Kafka goes on as if nothing had happened."""


class FaultyStore:
    """A store in memory with faults; the first session is that of an operator and has none.

    Args:
        faults: by the number of the call.
    """

    def __init__(self, faults: dict[int, Fault]) -> None:
        self.store = EmbeddedStore()
        self.happened: list[Fault] = []
        self.repeated: list[Operation] = []
        self.writes = Writes()
        self._faults = faults
        self._calls = 0
        self._opened = 0
        self.unreachable = 0  # how many sessions cannot be opened from now on

    def open(self) -> Session:
        self._opened += 1
        if self._opened == 1:
            return self.store.open()
        self.unreachable -= (fails := self.unreachable > 0)
        if fails or self.fault() is Fault.DENIED:
            path = "/"
            raise UnavailableError(path)
        return FaultySession(self, self.store.open())

    def fault(self) -> Fault | None:
        self._calls += 1
        found = self._faults.pop(self._calls, None)
        if found is not None:
            self.happened.append(found)
        return found

    def repair(self) -> None:
        self._faults.clear()


class FaultySession:
    def __init__(self, store: FaultyStore, session: EmbeddedSession) -> None:
        self._store = store
        self._session = session
        self._fired: deque[Callable[[], None]] = deque()
        self._watches: dict[Watch, Watch] = {}

    @property
    def number(self) -> int:
        return self._session.number

    @property
    def alive(self) -> bool:
        return self._session.alive

    def multi(self, operations: Sequence[Operation]) -> list[Stat | None]:
        def write() -> list[Stat | None]:
            noted = self._store.writes.before(self._session, operations)
            results = self._session.multi(operations)
            self._store.writes.after(self.number, operations, noted)
            return results

        return self._do(operations[0].path, write, operations)

    def get(self, path: str, watch: Watch | None = None) -> tuple[bytes, Stat]:
        return self._do(path, lambda: self._session.get(path, self._noting(watch)))

    def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        return self._do(path, lambda: self._session.exists(path, self._noting(watch)))

    def children(self, path: str, watch: Watch | None = None) -> list[str]:
        return self._do(path, lambda: self._session.children(path, self._noting(watch)))

    def settle(self) -> None:
        if self._store.fault() is not Fault.LATE:
            self._call()

    def close(self) -> None:
        self._fired.clear()
        self._session.close()

    def expire(self) -> None:
        self.close()

    def _do(
        self, path: str, action: Callable[[], _Result], operations: Sequence[Operation] = ()
    ) -> _Result:
        fault = self._store.fault()
        if fault is Fault.ENDED_BEFORE:
            self.expire()
        if fault is Fault.DENIED and self.alive:
            raise DeniedError(path)
        try:
            result = action()
            if fault is Fault.LOST:
                self._store.repeated += operations
                result = action()
        finally:
            if fault is not Fault.LATE:
                self._call()
        if fault is Fault.ENDED_AFTER:
            self.expire()
            raise SessionExpiredError(path)
        return result

    def _noting(self, watch: Watch | None) -> Watch | None:
        """The same function for the same watch, so that each is called once."""
        if watch is None:
            return None

        def noted(kind: str, path: str) -> None:
            self._fired.append(lambda: watch(kind, path))

        return self._watches.setdefault(watch, noted)

    def _call(self) -> None:
        while self._fired:
            self._fired.popleft()()


class Writes:
    """Checks each write: one controller per epoch, none by a former one, leaders of the ISR."""

    def __init__(self) -> None:
        self.epochs: dict[int, int] = {}
        self._controller: int | None = None  # the session that has raised the epoch last

    def before(self, session: EmbeddedSession, operations: Sequence[Operation]) -> dict[str, bytes]:
        """The states of partitions that are to be replaced."""
        return {
            each.path: session.get(each.path)[0]
            for each in operations
            if isinstance(each, SetData) and each.path.endswith("/state") and session.alive
            if session.exists(each.path) is not None
        }

    def after(
        self, session: int, operations: Sequence[Operation], replaced: dict[str, bytes]
    ) -> None:
        """Check the operations of a session that have been done."""
        for each in operations:
            if isinstance(each, SetData) and each.path == nodes.CONTROLLER_EPOCH:
                epoch = int(each.data)
                assert epoch > max(self.epochs, default=0)
                self.epochs[epoch] = self._controller = session
            elif isinstance(each, SetData | Create) and each.path.endswith("/state"):
                self._check_state(each.data, replaced.get(each.path))
            if each.path.startswith((f"{nodes.TOPICS}/", f"{nodes.DELETE_TOPICS}/")):
                assert session == self._controller, f"a former controller writes {each.path}"

    @staticmethod
    def _check_state(data: bytes, replaced: bytes | None) -> None:
        state = json.loads(data)
        assert state["leader"] in (*state["isr"], NO_LEADER)
        if replaced is not None:
            earlier = json.loads(replaced)
            assert state["leader_epoch"] > earlier["leader_epoch"]
            assert set(state["isr"]) <= set(earlier["isr"])
