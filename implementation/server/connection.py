"""A client's connection: frames in, responses out in the order of the requests.

As in Kafka one request is in progress at a time: a JoinGroup that waits for the rebalance delays
all later requests on its connection.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from groupcheck.implementation.server.broker import Broker, UnservedError
from groupcheck.implementation.server.calls import Client
from groupcheck.implementation.server.codec import MalformedFrameError
from groupcheck.implementation.server.maintenance import Notes
from groupcheck.implementation.server.settings import Limits

LENGTH_BYTES: Final = 4
MOST_UNREAD_BYTES: Final = 64 * 1024  # of further requests while one is in progress
TURN_S: Final = 0.005  # how long one connection is processed before the next
MOST_UNSENT_BYTES: Final = 256 * 1024  # for a client that does not read; then no more are handled


class FrameLengthError(ValueError):
    """A frame announces a length that is not allowed."""

    def __init__(self, length: int) -> None:
        super().__init__(f"a frame length of {length} bytes")


class Frames:
    """The frames of one connection: `feed` received bytes, `take` frame by frame.

    Only received bytes take memory, whatever length a frame announces.

    Args:
        limit: the maximum length of a frame, in bytes.

    """

    __slots__ = ("_arrived", "_limit")

    def __init__(self, limit: int) -> None:
        self._arrived = bytearray()
        self._limit = limit

    def __len__(self) -> int:
        """The number of buffered bytes."""
        return len(self._arrived)

    def feed(self, data: bytes) -> None:
        """Buffer received bytes."""
        self._arrived += data

    def take(self) -> bytes | None:
        """The next frame without its length, None if it is not complete.

        Raises:
            FrameLengthError: it is longer than the limit, or its length is negative.
        """
        arrived = self._arrived
        if len(arrived) < LENGTH_BYTES:
            return None
        length = int.from_bytes(arrived[:LENGTH_BYTES], "big", signed=True)
        if not 0 <= length <= self._limit:
            raise FrameLengthError(length)
        end = LENGTH_BYTES + length
        if len(arrived) < end:
            return None
        frame = bytes(arrived[LENGTH_BYTES:end])
        del arrived[:end]
        return frame


class Shared(Protocol):
    """The broker, the limits and the counts that the connections share."""

    broker: Broker
    limits: Limits
    notes: Notes

    def add(self, connection: Connection) -> bool:
        """Add a connection; False if there are too many."""
        ...

    def remove(self, connection: Connection) -> None:
        """Remove a connection."""
        ...

    def reserve(self, size: int) -> bool:
        """Reserve bytes for requests, or release if negative; False above the limit."""
        ...


class Connection(asyncio.Protocol):
    """One connection, from connection_made to connection_lost."""

    __slots__ = (
        "_client",
        "_frames",
        "_in_progress",
        "_paused",
        "_pumping",
        "_queued",
        "_shared",
        "_transport",
        "_unread",
        "active_s",
    )

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._frames = Frames(shared.limits.socket_request_max_bytes)
        self._transport: asyncio.Transport | None = None
        self._in_progress = False  # a request without a response so far
        self._unread = False  # the client does not read its responses
        self._paused = False
        self._pumping = False
        self._queued = False  # waits for its next turn
        self.active_s = 0.0

    @property
    def idle(self) -> bool:
        """Whether the connection waits for its client."""
        return self._unread or not self._in_progress

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start, if there are not too many connections."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=MOST_UNSENT_BYTES)
        peer = transport.get_extra_info("peername") or ("", 0)
        broker_address = transport.get_extra_info("sockname") or ("", 0)
        self._client = Client(peer[0], (broker_address[0], broker_address[1]))
        self.active_s = asyncio.get_running_loop().time()
        if not self._shared.add(self):
            self.abort("too many connections")

    def connection_lost(self, exc: Exception | None) -> None:
        """End; the request in progress continues, as in Kafka."""
        del exc
        self._client.is_disconnected = True
        self._drop_frames()
        self._shared.remove(self)
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Buffer the data, and handle the complete requests."""
        if self._transport is None:
            return
        if not self._shared.reserve(len(data)):
            self.abort("incomplete requests take too much memory")
            return
        self._frames.feed(data)
        self._pump()

    def pause_writing(self) -> None:
        """Stop handling requests: the client does not read its responses."""
        self._unread = True

    def resume_writing(self) -> None:
        """Continue: the client has read its responses."""
        self._unread = False
        self._pump()

    def abort(self, why: str) -> None:
        """Close the connection at once, and log why."""
        if self._transport is not None:
            self._shared.notes.note("closed a connection", f"{self._client.host[:50]}: {why}")
            self._drop_frames()
            self._transport.abort()
            self._transport = None

    def close(self) -> None:
        """Close the connection when the responses are sent."""
        if self._transport is not None:
            self._transport.close()

    def _drop_frames(self) -> None:
        self._shared.reserve(-len(self._frames))
        self._frames = Frames(0)

    def _pump(self) -> None:
        """Handle the complete requests one by one, until the turn is over."""
        if self._queued:  # another connection's turn
            return
        self._pumping = True
        loop = asyncio.get_running_loop()
        end_s = loop.time() + TURN_S
        try:
            while self._transport is not None and not (self._in_progress or self._unread):
                self.active_s = loop.time()
                if self.active_s > end_s:
                    self._queue()
                    break
                before = len(self._frames)
                frame = self._frames.take()
                self._shared.reserve(len(self._frames) - before)
                if frame is None:
                    break
                self._in_progress = True
                self._shared.broker.handle(frame, self._client, self._send, self._fail)
        except (FrameLengthError, MalformedFrameError, UnservedError) as error:
            self.abort(str(error))
        except Exception as error:  # noqa: BLE001 - other connections are not affected
            self._fail(error)
        finally:
            self._pumping = False
        self._pause_or_resume()

    def _queue(self) -> None:
        if not self._queued:
            self._queued = True
            asyncio.get_running_loop().call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._queued = False
        self._pump()

    def _pause_or_resume(self) -> None:
        """Pause reading while too many bytes wait for an earlier request."""
        if self._transport is None:
            return
        busy = self._in_progress or self._unread or self._queued
        full = busy and len(self._frames) > MOST_UNREAD_BYTES
        if full and not self._paused:
            self._transport.pause_reading()
        elif self._paused and not full:
            self._transport.resume_reading()
        self._paused = full

    def _fail(self, error: Exception) -> None:
        self.abort(f"a request failed here ({type(error).__name__})")

    def _send(self, answer: bytes | None) -> None:
        self._in_progress = False
        if self._transport is not None:
            if answer is not None:
                self._transport.write(answer)
            if len(self._frames) and not self._pumping:
                # Not at once: the same call has other responses to send first.
                self._queue()
