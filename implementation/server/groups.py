"""The coordinator, on the clock of the loop: requests in, each answer to who waits for it.

Where its log is in a directory, the appends of all requests that come in one turn of the loop share
a flush, and the coordinator stands still until that is over: so what was asked, and when it was
stored, has one order, which can be recorded and judged.

Nothing else is decided here. Every request is put to the coordinator as the vocabulary's record, so
whatever the coordinator has can be asked for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.server.calls import Client
from groupcheck.implementation.server.embedding import Embedded
from groupcheck.implementation.server.recording import Recording
from groupcheck.model.vocabulary import Request, RequestBody, Response, ResponseBody

Answered = Callable[[ResponseBody], None]

HERE: Final = Client("127.0.0.1", ("", 0))  # this broker, which asks for itself
NOBODY: Final[tuple[Answered, Client]] = (lambda _body: None, HERE)
FEW_WAITING: Final = 1_024
MARGIN_S: Final = 0.0005  # that a timer has surely come due when it is looked at


class Groups:
    """The coordinator's embedder: tells it the time, and hands out what it answers.

    Args:
        embedded: the coordinator, as it begins, at the moment this is made, and its log.
        loop: whose clock it is.
        recording: is told everything that the coordinator is told and says.

    """

    def __init__(
        self,
        embedded: Embedded,
        loop: asyncio.AbstractEventLoop,
        recording: Recording | None = None,
    ) -> None:
        self._coordinator = coordinator = embedded.coordinator
        self._watched = embedded.watched
        self._log = embedded.disk
        self._storing: asyncio.Task[None] | None = None
        self._still = False  # while the log is flushed
        self._asked: deque[Callable[[], None]] = deque()  # meanwhile
        self._loop = loop
        self._recording = recording
        self._began_s = loop.time()
        self._began_ms = coordinator.now_ms
        self._requests = 0
        self._waiting: dict[int, tuple[Answered, Client]] = {}
        self._most_waiting = FEW_WAITING
        self._timer: asyncio.TimerHandle | None = None
        if recording is not None and self._log is not None:
            recording.fault("holdAppends")

    def ask(
        self,
        body: RequestBody,
        api_version: int,
        answered: Answered,
        client_id: str = "",
        client: Client = HERE,
    ) -> None:
        """Put a request to the coordinator; `answered` is called at once, later or never.

        For as in Kafka a member that joins once more before it is answered is answered once.
        """
        if self._still:
            self._asked.append(partial(self.ask, body, api_version, answered, client_id, client))
            return
        self._catch_up()
        self._requests += 1
        host = f"/{client.host}"  # as InetAddress.toString has it
        request = Request(self._requests, api_version, body, client_id, host)
        self._wait(request.request_id, answered, client)
        try:
            self._did(self._coordinator.receive(request), request)
        finally:
            self._go_on()

    def cleanup(self) -> None:
        """Let what has expired be removed."""
        if self._still:
            self._asked.append(self.cleanup)
            return
        self._catch_up()
        try:
            self._did(self._coordinator.cleanup(), "cleanup")
        finally:
            self._go_on()

    def _did(self, responses: Sequence[Response], what: Request | str) -> None:
        """Record what the coordinator was told, a request or a fault, and hand out its answers."""
        if self._recording is not None and self._watched.has_failed:
            self._recording.stop("an append has failed, which no recording can tell")
            self._recording = None
        if self._recording is not None:
            if isinstance(what, Request):
                self._recording.request(what)
            else:
                self._recording.fault(what)
        self._deliver(responses)

    def _go_on(self) -> None:
        """After anything the coordinator did: see to its log and its timers."""
        if self._log is not None and self._log.pending and self._storing is None:
            self._storing = self._loop.create_task(self._store(self._log))
        if not self._still:
            self._set_timer()

    async def _store(self, log: DirectoryLog) -> None:
        """Flush what was appended in this turn of the loop, and tell who waits for it."""
        self._still = True
        try:
            while log.pending:
                await self._loop.run_in_executor(None, log.flush)
                log.complete()
                self._did(self._coordinator.take(), "releaseAppends")
            if self._recording is not None:
                self._recording.fault("holdAppends")
        finally:
            self._still, self._storing = False, None
            for asked in self._asked:
                self._loop.call_soon(asked)
            self._asked.clear()
            self._go_on()

    async def close(self) -> None:
        """Stop the clock, when all that was appended has been stored."""
        while self._storing is not None:
            await self._storing
        if self._timer is not None:
            self._timer.cancel()

    def _catch_up(self) -> None:
        """Tell the coordinator the time."""
        passed_ms = int((self._loop.time() - self._began_s) * 1000) - self._told_ms
        if passed_ms > 0:
            if self._recording is not None:
                self._recording.advance(passed_ms)
            self._deliver(self._coordinator.advance(passed_ms))

    @property
    def _told_ms(self) -> int:
        """How much time the coordinator was told of."""
        return self._coordinator.now_ms - self._began_ms

    def _deliver(self, responses: Sequence[Response]) -> None:
        """Record all of them before anybody is answered, who may ask something else at once."""
        if self._recording is not None:
            for response in responses:
                self._recording.response(response)
        for response in responses:
            answered, _ = self._waiting.pop(response.request_id, NOBODY)
            answered(response.body)

    def _wait(self, request_id: int, answered: Answered, client: Client) -> None:
        """Remember who waits, and forget who does not any more, before they become too many."""
        if len(self._waiting) >= self._most_waiting:
            kept = {number: each for number, each in self._waiting.items() if not each[1].gone}
            self._waiting = kept
            self._most_waiting = max(FEW_WAITING, 2 * len(kept))
        self._waiting[request_id] = (answered, client)

    def _set_timer(self) -> None:
        """Look again when the coordinator's next timer is due, or would be were it not put off."""
        deadline_ms = self._coordinator.next_deadline_ms
        if deadline_ms is None:
            return
        due_s = self._began_s + (deadline_ms - self._began_ms) / 1000 + MARGIN_S
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due_s, self._due)

    def _due(self) -> None:
        self._timer = None
        if self._still:
            return  # it is looked at again afterwards
        try:
            self._catch_up()
        finally:
            self._go_on()
