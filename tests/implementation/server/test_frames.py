"""Bytes to frames, however they arrive and whatever length they announce."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.implementation.server.connection import FrameLengthError, Frames


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


@given(st.lists(st.binary(max_size=50)), st.data())
def test_frames_round_trip_however_the_bytes_are_split(
    bodies: list[bytes], data: st.DataObject
) -> None:
    stream, frames, taken = framed(*bodies), Frames(50), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        frames.feed(stream[:cut])
        stream = stream[cut:]
        while (frame := frames.take()) is not None:
            taken.append(frame)
    assert taken == bodies
    assert len(frames) == 0


@given(st.lists(st.binary(max_size=30)))
def test_only_received_bytes_are_buffered_and_no_frame_exceeds_the_limit(
    chunks: list[bytes],
) -> None:
    frames, fed, taken = Frames(20), 0, 0
    for chunk in chunks:
        frames.feed(chunk)
        fed += len(chunk)
        try:
            while (frame := frames.take()) is not None:
                assert len(frame) <= 20
                taken += 4 + len(frame)
        except FrameLengthError:
            return
        assert len(frames) == fed - taken


@pytest.mark.parametrize("length", [-1, -(2**31), 21, 2**31 - 1])
def test_invalid_frame_length_is_rejected_before_the_frame_arrives(length: int) -> None:
    frames = Frames(20)
    frames.feed(struct.pack(">i", length))
    with pytest.raises(FrameLengthError, match=f"a frame length of {length} bytes"):
        frames.take()


def test_longest_frame_and_empty_frame_are_accepted() -> None:
    frames = Frames(20)
    frames.feed(framed(b"", b"x" * 20))
    assert [frames.take(), frames.take(), frames.take()] == [b"", b"x" * 20, None]
