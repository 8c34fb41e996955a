"""Creates the coordinator and runs it on the event loop's clock: requests in, responses out.

If its log is in a directory, the appends of all requests in one turn of the loop share a flush, and
the coordinator accepts no request until the flush has finished. So requests and commits have one
order, which can be recorded and checked.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.profiles import PROFILES, Behaviour
from groupcheck.implementation.log.codec import FORMATS
from groupcheck.implementation.log.directory import DirectoryLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.log.records import Batch, Completed, Log
from groupcheck.implementation.server.calls import Client
from groupcheck.implementation.server.recording import Recording
from groupcheck.model.vocabulary import ErrorCode, Request, RequestBody, Response, ResponseBody

Answered = Callable[[ResponseBody], None]

HERE: Final = Client("127.0.0.1", ("", 0))  # the client for requests of this broker
NO_CLIENT: Final[tuple[Answered, Client]] = (lambda _body: None, HERE)
MIN_WAITING: Final = 1_024
MARGIN_S: Final = 0.0005  # after a deadline, so that the timer is due when the loop calls


class Embedded(NamedTuple):
    """A coordinator, and the APIs that it handles.

    `disk` is its log if that is in a directory: the embedder has to flush it.
    """

    coordinator: Coordinator
    apis: Collection[str]
    watched: WatchedLog
    disk: DirectoryLog | None = None


class WatchedLog:
    """A log that records whether an append has failed."""

    __slots__ = ("_log", "has_failed")

    def __init__(self, log: Log) -> None:
        self._log = log
        self.has_failed = False

    def append(self, partition: int, batch: Batch, completed: Completed) -> None:
        """Append a batch."""

        def watched(error: ErrorCode) -> None:
            self.has_failed = self.has_failed or error is not ErrorCode.NONE
            completed(error)

        self._log.append(partition, batch, watched)

    def read(self, partition: int) -> Iterable[Batch]:
        """All batches of a partition."""
        return self._log.read(partition)


def embed(config: Config, profile: str, data_dir: Path | None = None) -> Embedded:
    """Create a coordinator and load its log, which is in memory unless a directory is given.

    Raises:
        LogError: the directory cannot be used, or its content cannot be read.
    """
    behaviour = PROFILES[profile]
    disk = None if data_dir is None else _disk(data_dir, behaviour)
    watched = WatchedLog(MemoryLog() if disk is None else disk)
    gc.disable()  # loaded objects stay: scanning them for garbage doubles the time
    try:
        now_ms = time.time_ns() // 1_000_000
        coordinator = Coordinator(config, profile=behaviour, log=watched, start_ms=now_ms)
    except BaseException:
        if disk is not None:
            disk.close()
        raise
    finally:
        gc.enable()
    return Embedded(coordinator, coordinator.apis, watched, disk)


def _disk(data_dir: Path, behaviour: Behaviour) -> DirectoryLog:
    versions = FORMATS[behaviour.name]
    return DirectoryLog(data_dir, versions=versions, fails_at_once=behaviour.defers_responses)


class Groups:
    """The embedder of the coordinator: advances its time, and delivers its responses.

    Args:
        embedded: the coordinator, just created, and its log.
        loop: the event loop with the clock.
        recording: records all inputs and outputs of the coordinator.

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
        self._flushing = False  # while the log is flushed
        self._queued: deque[Callable[[], None]] = deque()  # requests during a flush
        self._loop = loop
        self._recording = recording
        self._began_s = loop.time()
        self._began_ms = coordinator.now_ms
        self._requests = 0
        self._waiting: dict[int, tuple[Answered, Client]] = {}
        self._most_waiting = MIN_WAITING
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
        """Send a request to the coordinator; `answered` is called now, later or never.

        Never, because a member that repeats its JoinGroup gets one response, as in Kafka.
        """
        if self._flushing:
            self._queued.append(partial(self.ask, body, api_version, answered, client_id, client))
            return
        self._advance()
        self._requests += 1
        host = f"/{client.host}"  # in the format of InetAddress.toString
        request = Request(self._requests, api_version, body, client_id, host)
        self._wait(request.request_id, answered, client)
        try:
            self._handle_result(self._coordinator.receive(request), request)
        finally:
            self._continue()

    def cleanup(self) -> None:
        """Remove expired offsets and groups."""
        self.change("cleanup", self._coordinator.cleanup)

    def change(self, fault: str, make: Callable[[], Sequence[Response]]) -> None:
        """Change the coordinator in another way than with a request, and deliver the responses."""
        if self._flushing:
            self._queued.append(partial(self.change, fault, make))
            return
        self._advance()
        try:
            self._handle_result(make(), fault)
        finally:
            self._continue()

    def _handle_result(self, responses: Sequence[Response], given: Request | str) -> None:
        """Record an input of the coordinator, a request or a fault, and deliver the responses."""
        if self._recording is not None and self._watched.has_failed:
            self._recording.stop("an append has failed, which a recording cannot represent")
            self._recording = None
        if self._recording is not None:
            if isinstance(given, Request):
                self._recording.request(given)
            else:
                self._recording.fault(given)
        self._deliver(responses)

    def _continue(self) -> None:
        """After every input: flush the log if needed, and set the timer."""
        if self._log is not None and self._log.pending and self._storing is None:
            self._storing = self._loop.create_task(self._store(self._log))
        if not self._flushing:
            self._set_timer()

    async def _store(self, log: DirectoryLog) -> None:
        """Flush the appends of this turn of the loop, and report the results.

        The appends that these results cause are flushed too, before the next request, so that the
        recording has one release.
        """
        self._flushing = True
        try:
            released: list[Response] = []
            while log.pending:
                await self._loop.run_in_executor(None, log.flush)
                log.complete()
                released += self._coordinator.take()
            self._handle_result(released, "releaseAppends")
            if self._recording is not None:
                self._recording.fault("holdAppends")
        finally:
            self._flushing, self._storing = False, None
            for queued in self._queued:
                self._loop.call_soon(queued)
            self._queued.clear()
            self._continue()

    async def close(self) -> None:
        """Stop the clock, once all appends are stored."""
        while self._storing is not None:
            await self._storing
        if self._timer is not None:
            self._timer.cancel()

    def _advance(self) -> None:
        """Advance the coordinator to the current time."""
        passed_ms = int((self._loop.time() - self._began_s) * 1000) - self._advanced_ms
        if passed_ms > 0:
            if self._recording is not None:
                self._recording.advance(passed_ms)
            self._deliver(self._coordinator.advance(passed_ms))

    @property
    def _advanced_ms(self) -> int:
        """By how much the coordinator has been advanced."""
        return self._coordinator.now_ms - self._began_ms

    def _deliver(self, responses: Sequence[Response]) -> None:
        """Record all responses before delivering the first, which may cause another request."""
        if self._recording is not None:
            for response in responses:
                self._recording.response(response)
        for response in responses:
            answered, _ = self._waiting.pop(response.request_id, NO_CLIENT)
            answered(response.body)

    def _wait(self, request_id: int, answered: Answered, client: Client) -> None:
        """Store a request's client; above a limit, remove disconnected clients first."""
        if len(self._waiting) >= self._most_waiting:
            self._waiting = {
                request_id: (callback, waiting_client)
                for request_id, (callback, waiting_client) in self._waiting.items()
                if not waiting_client.is_disconnected
            }
            self._most_waiting = max(MIN_WAITING, 2 * len(self._waiting))
        self._waiting[request_id] = (answered, client)

    def _set_timer(self) -> None:
        """Set the loop's timer to the coordinator's next deadline, unless it is set earlier."""
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
        if self._flushing:
            return  # the timer is set again afterwards
        try:
            self._advance()
        finally:
            self._continue()
