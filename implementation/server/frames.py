"""Splits the received bytes into frames."""

from __future__ import annotations

from typing import Final

LENGTH_BYTES: Final = 4


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
