"""Responses deferred until appends are committed: a queue for each partition of the log.

Where responses are deferred, the state changes when a record is appended, before the append is
known to be safe. Every later response of the partition waits in a queue behind the append, even to
a request that appends nothing.

    queue of a partition:  append  response  response  append  parked request  response
                           `- not committed: all entries behind it wait

A queue begins with an append that is not committed. Without one there is no queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from groupcheck.implementation.core.error_responses import error_response
from groupcheck.model.vocabulary import EndTxnRequest, ErrorCode, Request, Response, ResponseBody


class Append:
    """An append; `error` is None while its result is not known.

    If that is so when `Log.append` returns, the append has `taken_effect`. `changed` lists the
    groups and offsets whose older committed values are kept (`snapshots`).
    """

    __slots__ = ("changed", "error", "taken_effect")

    def __init__(self) -> None:
        self.error: ErrorCode | None = None
        self.changed: list[str | tuple[str, tuple[str, int]]] = []
        self.taken_effect = False


class Deferred(NamedTuple):
    """The callbacks for the commit of all earlier appends, and for their failure."""

    committed: Callable[[], object]
    failed: Callable[[ErrorCode], object]


class DeferredResponses:
    """The queues of all partitions; responses that leave them go to the outbox."""

    __slots__ = ("_outbox", "due", "parked", "queues")

    def __init__(self, outbox: list[Response]) -> None:
        self._outbox = outbox
        self.queues: dict[int, deque[Append | Deferred]] = {}
        # Callbacks to call once no more appends complete for now.
        self.due: list[Callable[[], object]] = []
        # Requests in a queue that have not been answered.
        self.parked: set[int] = set()

    def add_append(self, partition: int, append: Append) -> None:
        """Let all later responses wait for an append."""
        self.queues.setdefault(partition, deque()).append(append)

    def wait(self, partition: int, waiter: Deferred) -> None:
        """Add an entry behind the appends of a partition, of which there must be one."""
        self.queues[partition].append(waiter)

    def answer(self, partition: int, request: Request, answer: ResponseBody) -> ResponseBody | None:
        """The response, or None if it has to wait and is returned later."""
        if partition not in self.queues:
            return answer
        send = partial(self._send, request.request_id)
        failed = partial(_error_response, request)
        self.wait(partition, Deferred(partial(send, answer), lambda error: send(failed(error))))
        return None

    def park(
        self, partition: int, request_id: int, failure: Callable[[ErrorCode], ResponseBody]
    ) -> None:
        """Answer a request that is parked at its group if the partition fails meanwhile."""
        if partition not in self.queues:
            return
        self.parked.add(request_id)

        def failed(error: ErrorCode) -> None:
            if request_id in self.parked:
                self.parked.remove(request_id)
                self._send(request_id, failure(error))

        self.wait(partition, Deferred(partial(self.parked.discard, request_id), failed))

    def release(self, partition: int) -> list[Append]:
        """Release the entries that wait for no append; returns the appends that are committed."""
        committed: list[Append] = []
        queue = self.queues.get(partition)
        if queue is None:
            return committed
        while queue:
            entry = queue[0]
            if isinstance(entry, Deferred):
                entry.committed()
            elif entry.error is None:
                return committed
            else:
                committed.append(entry)
            queue.popleft()
        del self.queues[partition]
        return committed

    def fail(self, partition: int, error: ErrorCode) -> list[Append]:
        """Fail all entries of a partition; returns its appends."""
        appends: list[Append] = []
        for entry in self.queues.pop(partition, ()):
            if isinstance(entry, Deferred):
                entry.failed(error)
            else:
                appends.append(entry)
        return appends

    def _send(self, request_id: int, answer: ResponseBody) -> None:
        self._outbox.append(Response(request_id, answer))


def _error_response(request: Request, error: ErrorCode) -> ResponseBody:
    """The response to a request whose deferred response failed."""
    is_marker = isinstance(request.body, EndTxnRequest)
    return error_response(request, marker_error(error) if is_marker else error)


def marker_error(error: ErrorCode) -> ErrorCode:
    """The error of a marker: its sender handles only errors of a partition's leader."""
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if error is ErrorCode.NOT_COORDINATOR else error
