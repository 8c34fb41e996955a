"""Who waits until what was written is committed: by partition, in the order of the log.

Where answers wait the state moves on as it is appended to the log, before anybody knows that the
append is safe. Whatever is answered on the strength of it waits in a queue behind it, be it of
somebody who has written nothing. Whose answer does wait is decided elsewhere.

    queue of a partition:  write  answer  answer  write  parked request  answer
                           `- open: all behind it wait

A queue begins with a write that is open; without one there is no queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from groupcheck.implementation.core.refusals import refused
from groupcheck.model.vocabulary import (
    EndTxnRequest,
    ErrorCode,
    Request,
    Response,
    ResponseBody,
)


class Write:
    """An append; `error` is None as long as nobody knows how it went.

    If nobody did when it was made it has `taken_effect` nevertheless. `noted` is what it has then
    changed, of which there is something older to be read (`committed`).
    """

    __slots__ = ("error", "noted", "taken_effect")

    def __init__(self) -> None:
        self.error: ErrorCode | None = None
        self.noted: list[str | tuple[str, tuple[str, int]]] = []
        self.taken_effect = False


class Waiter(NamedTuple):
    """What is done once all that was written before is committed, or if that is lost."""

    released: Callable[[], object]
    lost: Callable[[ErrorCode], object]


class Waiting:
    """The queues of all partitions; the answers that leave them go to the outbox."""

    __slots__ = ("_outbox", "parked", "queues")

    def __init__(self, outbox: list[Response]) -> None:
        self._outbox = outbox
        self.queues: dict[int, deque[Write | Waiter]] = {}
        # Requests in a queue that nobody has answered yet.
        self.parked: set[int] = set()

    def write(self, partition: int, write: Write) -> None:
        """Let whoever comes from now on wait for an append."""
        self.queues.setdefault(partition, deque()).append(write)

    def wait(self, partition: int, waiter: Waiter) -> None:
        """Let something wait for the appends before it; there has to be one."""
        self.queues[partition].append(waiter)

    def answer(self, partition: int, request: Request, answer: ResponseBody) -> ResponseBody | None:
        """The answer, if nothing has to be waited for; else None, and it is given later."""
        if partition not in self.queues:
            return answer
        give = partial(self._give, request.request_id)
        lost = partial(_failed, request)
        self.wait(partition, Waiter(partial(give, answer), lambda error: give(lost(error))))
        return None

    def park(
        self, partition: int, request_id: int, refusal: Callable[[ErrorCode], ResponseBody]
    ) -> None:
        """Let a request, which its group will answer, learn of a loss meanwhile."""
        if partition not in self.queues:
            return
        self.parked.add(request_id)

        def lost(error: ErrorCode) -> None:
            if request_id in self.parked:
                self.parked.remove(request_id)
                self._give(request_id, refusal(error))

        self.wait(partition, Waiter(partial(self.parked.discard, request_id), lost))

    def release(self, partition: int) -> list[Write]:
        """Give what waits for open appends no longer; the appends that are committed by now."""
        committed: list[Write] = []
        queue = self.queues.get(partition)
        if queue is None:
            return committed
        while queue:
            entry = queue[0]
            if isinstance(entry, Waiter):
                entry.released()
            elif entry.error is None:
                return committed
            else:
                committed.append(entry)
            queue.popleft()
        del self.queues[partition]
        return committed

    def lose(self, partition: int, error: ErrorCode) -> list[Write]:
        """Tell all who wait that it was in vain; the appends that nobody will wait for."""
        lost: list[Write] = []
        for entry in self.queues.pop(partition, ()):
            if isinstance(entry, Waiter):
                entry.lost(error)
            else:
                lost.append(entry)
        return lost

    def _give(self, request_id: int, answer: ResponseBody) -> None:
        self._outbox.append(Response(request_id, answer))


def _failed(request: Request, error: ErrorCode) -> ResponseBody:
    """What a request is answered whose answer was lost."""
    is_marker = isinstance(request.body, EndTxnRequest)
    if is_marker and error is ErrorCode.NOT_COORDINATOR:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return refused(request, error)
