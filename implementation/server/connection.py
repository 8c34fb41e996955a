"""A client's connection: frames in, answers out in the order of the requests.

As in Kafka one request is in hand at a time: a JoinGroup that waits for the rebalance holds back
all that its client asked after it on that connection.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from groupcheck.implementation.server.broker import Broker, UnservedError
from groupcheck.implementation.server.calls import Client
from groupcheck.implementation.server.codec import MalformedFrameError
from groupcheck.implementation.server.frames import FrameLengthError, Frames
from groupcheck.implementation.server.notes import Notes
from groupcheck.implementation.server.settings import Limits

MOST_UNREAD_BYTES: Final = 64 * 1024  # of further requests while one is in hand
TURN_S: Final = 0.005  # before it is another connection's turn
MOST_UNSENT_BYTES: Final = 256 * 1024  # before a client that does not read is answered no more


class Room(Protocol):
    """What the connections share."""

    broker: Broker
    limits: Limits
    notes: Notes

    def enter(self, connection: Connection) -> bool:
        """Whether there is room for one more."""
        ...

    def leave(self, connection: Connection) -> None:
        """It is gone."""
        ...

    def keep(self, size: int) -> bool:
        """Whether so many more bytes may be kept of requests; a negative number gives back."""
        ...


class Connection(asyncio.Protocol):
    """One connection, from when it is made until it is lost."""

    __slots__ = (
        "_choked",
        "_client",
        "_frames",
        "_in_hand",
        "_paused",
        "_pumping",
        "_queued",
        "_room",
        "_transport",
        "active_s",
    )

    def __init__(self, room: Room) -> None:
        self._room = room
        self._frames = Frames(room.limits.socket_request_max_bytes)
        self._transport: asyncio.Transport | None = None
        self._in_hand = False  # a request that is not answered yet
        self._choked = False  # the client does not take what it is sent
        self._paused = False
        self._pumping = False
        self._queued = False  # for its next turn
        self.active_s = 0.0

    @property
    def idle(self) -> bool:
        """Whether nothing happens that is not the client's turn."""
        return self._choked or not self._in_hand

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, if there is room."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=MOST_UNSENT_BYTES)
        peer = transport.get_extra_info("peername") or ("", 0)
        reached = transport.get_extra_info("sockname") or ("", 0)
        self._client = Client(peer[0], (reached[0], reached[1]))
        self.active_s = asyncio.get_running_loop().time()
        if not self._room.enter(self):
            self.abort("no room for another connection")

    def connection_lost(self, exc: Exception | None) -> None:
        """End; what the client has in hand goes on without it, as in Kafka."""
        del exc
        self._client.gone = True
        self._forget()
        self._room.leave(self)
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Take in what arrived, and see to whatever is whole."""
        if self._transport is None:
            return
        if not self._room.keep(len(data)):
            self.abort("requests that are not whole take too much memory")
            return
        self._frames.feed(data)
        self._pump()

    def pause_writing(self) -> None:
        """The client does not take its answers: nothing more is done for it until it does."""
        self._choked = True

    def resume_writing(self) -> None:
        """It has taken them."""
        self._choked = False
        self._pump()

    def abort(self, why: str) -> None:
        """Close the connection at once, and say why."""
        if self._transport is not None:
            self._room.notes.note("closed a connection", f"{self._client.host[:50]}: {why}")
            self._forget()
            self._transport.abort()
            self._transport = None

    def close(self) -> None:
        """Close the connection, when what was answered is sent."""
        if self._transport is not None:
            self._transport.close()

    def _forget(self) -> None:
        self._room.keep(-len(self._frames))
        self._frames = Frames(0)

    def _pump(self) -> None:
        """See to the requests that are whole, one after the other, for as long as is fair."""
        if self._queued:  # it is others' turn
            return
        self._pumping = True
        loop = asyncio.get_running_loop()
        end_s = loop.time() + TURN_S
        try:
            while self._transport is not None and not (self._in_hand or self._choked):
                self.active_s = loop.time()
                if self.active_s > end_s:
                    self._queue()
                    break
                before = len(self._frames)
                frame = self._frames.take()
                self._room.keep(len(self._frames) - before)
                if frame is None:
                    break
                self._in_hand = True
                self._room.broker.handle(frame, self._client, self._send, self._fail)
        except (FrameLengthError, MalformedFrameError, UnservedError) as error:
            self.abort(str(error))
        except Exception as error:  # noqa: BLE001 - one request's failure is not everybody's
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
        """Read no more than can be kept while there is something to be done first."""
        if self._transport is None:
            return
        busy = self._in_hand or self._choked or self._queued
        full = busy and len(self._frames) > MOST_UNREAD_BYTES
        if full and not self._paused:
            self._transport.pause_reading()
        elif self._paused and not full:
            self._transport.resume_reading()
        self._paused = full

    def _fail(self, error: Exception) -> None:
        self.abort(f"a request failed here ({type(error).__name__})")

    def _send(self, answer: bytes | None) -> None:
        self._in_hand = False
        if self._transport is not None:
            if answer is not None:
                self._transport.write(answer)
            if len(self._frames) and not self._pumping:
                # Not at once: whoever was answered by the same request has not been told yet.
                self._queue()
