"""Events of histories as columns: most events of a history are never made into an `Event`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Final, overload

import pyarrow as pa
import pyarrow.compute as pc

from groupcheck.properties.histories.bodies import COMMIT, OFFSET
from groupcheck.properties.histories.events import Event

# The requests of members in the steady state. No rule about them reads the client or the committed
# offset.
STEADY: Final = pa.array(("Heartbeat", COMMIT))


class Events(Sequence[Event]):
    """Events of one history, in order.

    For an event that begins a pair, `pairs` has the content of the pair; for other events, None.
    """

    def __init__(
        self, history: tuple[str, str, int], columns: list[list[Any]], pairs: list[str | None]
    ) -> None:
        self.history = history
        self.pairs = pairs
        self._columns = columns  # those of an event after its history
        self.seq, _, self.at_ms, *_, self.body = columns

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> Events: ...
    def __getitem__(self, at: int | slice) -> Event | Events:
        columns: list[Any] = [column[at] for column in self._columns]
        if isinstance(at, slice):
            return Events(self.history, columns, self.pairs[at])
        return Event(*self.history, *columns)


def histories(batch: pa.RecordBatch) -> Iterator[Events]:
    """The events of each history in a batch of events, which is sorted."""
    columns = [column.to_pylist() for column in batch.columns[3:]]
    pairs = _pairs(batch)
    for start, end in bounds(batch):
        pairs[end - 1] = None  # the next event is of another history
        history = tuple(column[start].as_py() for column in batch.columns[:3])
        yield Events(history, [column[start:end] for column in columns], pairs[start:end])


def bounds(batch: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """The first row of each history in a sorted batch, and the row after its last."""
    differs = reduce(pc.or_, (pc.not_equal(each[1:], each[:-1]) for each in batch.columns[:3]))
    starts = (end + 1 for end in pc.indices_nonzero(differs).to_pylist())
    if len(batch):
        yield from pairwise((0, *starts, len(batch)))


def _pairs(batch: pa.RecordBatch) -> list[str | None]:
    """The contents of pairs of request and response, at their first events.

    The content is the API, its version, the request without committed offsets, and the response. A
    response has the time of its request, and is the next event. The event after it is not a
    response, which is unknown of the last pair of a batch.
    """
    kind, api, body = (batch.column(name) for name in ("kind", "api", "body"))
    same = (batch.column(name) for name in ("request_id", "at_ms"))
    conditions = (
        pc.equal(kind[:-2], "request"),
        pc.is_in(api[:-2], STEADY),
        pc.equal(kind[1:-1], "response"),
        pc.not_equal(kind[2:], "response"),
        *(pc.equal(column[:-2], column[1:-1]) for column in same),
    )
    starts = pc.indices_nonzero(reduce(pc.and_, conditions))
    contents = pc.binary_join_element_wise(
        api.take(starts),
        batch.column("api_version").take(starts).cast(pa.string()),
        pc.replace_substring_regex(body.take(starts), OFFSET.pattern, r"\2"),
        body.take(pc.add(starts, 1)),
        "\0",
    ).dictionary_encode()
    texts = contents.dictionary.to_pylist()
    found: list[str | None] = [None] * len(batch)
    for start, number in zip(starts.to_pylist(), contents.indices.to_pylist(), strict=True):
        found[start] = None if number is None else texts[number]
    return found
