"""Bytes as they arrive, cut into frames; what is in a frame does not belong here."""

from __future__ import annotations

from typing import Final

LENGTH_BYTES: Final = 4


class FrameLengthError(ValueError):
    """A frame says that it is of a length that none may have."""

    def __init__(self, length: int) -> None:
        super().__init__(f"a frame said to be {length} bytes long")


class Frames:
    """The frames of one connection: `feed` what arrived, `take` frame by frame.

    Only what has arrived takes memory, whatever a frame says of its length.

    Args:
        limit: the longest frame that is let through, in bytes.

    """

    __slots__ = ("_arrived", "_limit")

    def __init__(self, limit: int) -> None:
        self._arrived = bytearray()
        self._limit = limit

    def __len__(self) -> int:
        """How many bytes are kept that no frame has been taken of."""
        return len(self._arrived)

    def feed(self, data: bytes) -> None:
        """Take in what arrived."""
        self._arrived += data

    def take(self) -> bytes | None:
        """The next frame without its length, None if it is not whole yet.

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
