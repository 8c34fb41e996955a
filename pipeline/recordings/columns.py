"""A batch of events as columns.

A pair is a request and its response, at the same time, with no event between them and no other
response after them. Equal pairs have the same number; committed offsets do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from groupcheck.properties.histories.bodies import COMMIT, OFFSET
from groupcheck.properties.histories.events import Event

Codes = npt.NDArray[np.int64]

# The requests of members in the steady state. No rule about them reads the client or the committed
# offset.
STEADY: Final = ("Heartbeat", COMMIT)
NO_PAIR: Final = -1
AROUND: Final = 150  # characters of a line without its body

Said = tuple[str, int, tuple[str, ...], str]  # API, version, request but for offsets, answer


def rows(batch: pa.RecordBatch) -> Iterator[Event]:
    """The events of a batch."""
    return map(Event._make, zip(*map(pa.Array.to_pylist, batch.columns), strict=True))


class Columns:
    """A batch of rows of `EVENTS`; `pairs` has the number of the pair that begins at an event."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self._codes: dict[str, Codes] = {}
        self._values: dict[str, list[Any]] = {}
        self._bodies, self._body_codes = _coded(batch.column("body"))
        for name in ("group_id", "source", "kind", "api", "client_id", "client_host"):
            values, self._codes[name] = _coded(batch.column(name))
            self._values[name] = [*values.to_pylist(), None]  # the last one is that of code -1
        for name in ("session", "seq", "line", "at_ms"):
            self._codes[name] = _numbers(batch.column(name))
        self._nullable = {n: batch.column(n) for n in ("request_id", "api_version")}
        self._numbers = {n: _numbers(c.fill_null(-1)) for n, c in self._nullable.items()}
        self.at_ms: list[int] = self._codes["at_ms"].tolist()
        self.offsets: dict[int, list[int]] = {}  # that a pair commits, by its event
        self._templates: dict[tuple[str, ...], int] = {}
        self.pairs: list[int] = self._paired().tolist()

    def __len__(self) -> int:
        return len(self.at_ms)

    def event(self, at: int) -> Event:
        """One of the events."""
        codes, values = self._codes, self._values
        body = int(self._body_codes[at])
        number, version = (int(self._numbers[name][at]) for name in self._numbers)
        return Event(
            values["group_id"][codes["group_id"][at]],
            values["source"][codes["source"][at]],
            int(codes["session"][at]),
            int(codes["seq"][at]),
            int(codes["line"][at]),
            self.at_ms[at],
            values["kind"][codes["kind"][at]],
            number if number >= 0 else self._nullable["request_id"][at].as_py(),
            values["api"][codes["api"][at]],
            version if version >= 0 else self._nullable["api_version"][at].as_py(),
            values["client_id"][codes["client_id"][at]],
            values["client_host"][codes["client_host"][at]],
            None if body < 0 else self._bodies[body].as_py(),
        )

    def said(self, at: int) -> Said:
        """The content of a pair."""
        api = self._values["api"][self._codes["api"][at]]
        text = self._bodies[int(self._body_codes[at])].as_py()
        answer = self._bodies[int(self._body_codes[at + 1])].as_py()
        template = tuple(OFFSET.split(text)[::2]) if api == COMMIT else (text,)
        return api, int(self._numbers["api_version"][at]), template, answer

    def characters(self, start: int, stop: int) -> int:
        """The approximate length of these events as lines of a recording."""
        return int(self._characters[stop] - self._characters[start])

    @cached_property
    def histories(self) -> list[int]:
        """Where each history begins, and where the batch ends."""
        return [*np.flatnonzero(self._begins).tolist(), len(self)]

    @cached_property
    def _begins(self) -> npt.NDArray[np.bool_]:
        begins = np.ones(len(self.batch), dtype=bool)
        begins[1:] = False
        for name in ("group_id", "source", "session"):
            begins[1:] |= self._codes[name][1:] != self._codes[name][:-1]
        return begins

    @property
    def in_order(self) -> bool:
        """Whether the events of each history are in order."""
        later = self._codes["seq"][1:] > self._codes["seq"][:-1]
        return bool((later | self._begins[1:]).all())

    @cached_property
    def _characters(self) -> Codes:
        lengths = _numbers(pc.utf8_length(self._bodies))
        each = np.append(lengths, 0)[self._body_codes] + AROUND
        return np.concatenate(([0], np.cumsum(each)))

    def _paired(self) -> Codes:
        """The number of each pair where it begins, `NO_PAIR` elsewhere."""
        kinds, apis = self._values["kind"], self._values["api"]
        kind, api, version = self._codes["kind"], self._codes["api"], self._numbers["api_version"]
        asks = kind == (kinds.index("request") if "request" in kinds else -2)
        answers = kind == (kinds.index("response") if "response" in kinds else -2)
        steady = [code for code, name in enumerate(apis) if name in STEADY]
        begins = asks & np.isin(api, steady) & (version >= 0) & (self._body_codes >= 0)
        begins[-1:] = False
        for column in (api, version, self._numbers["request_id"], self._codes["at_ms"]):
            begins[:-1] &= column[:-1] == column[1:]
        begins[:-1] &= answers[1:] & ~self._begins[1:] & (self._body_codes[1:] >= 0)
        # Another response may follow the last event in the next batch.
        begins[-2:] = False
        begins[:-2] &= ~answers[2:] | self._begins[2:]
        asked = self._body_codes.copy()
        if COMMIT in apis:
            self._commits(np.flatnonzero(begins & (api == apis.index(COMMIT))), asked)
        most = max(len(self._bodies) + len(self._templates), 1)
        pair = (asked * len(apis) + api) * (int(version.max(initial=0)) + 1) + version
        numbers = np.full(len(kind), NO_PAIR, dtype=np.int64)
        numbers[:-1] = pair[:-1] * most + self._body_codes[1:]
        return np.where(begins, numbers, NO_PAIR)

    def _commits(self, rows: Codes, asked: Codes) -> None:
        """Give commits that differ only in their offsets the same number."""
        first = len(self._bodies)
        texts = self._bodies.take(pa.array(asked[rows])).to_pylist()
        for row, text in zip(rows.tolist(), texts, strict=True):
            parts = OFFSET.split(text)
            self.offsets[row] = [int(offset) for offset in parts[1::2]]
            template = tuple(parts[::2])
            asked[row] = first + self._templates.setdefault(template, len(self._templates))


def _coded(column: pa.Array) -> tuple[pa.Array, Codes]:
    """The distinct values of a column, and which of them each row has: -1 if none."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return coded.dictionary, _numbers(coded.indices.fill_null(-1))


def _numbers(column: pa.Array) -> Codes:
    found: Codes = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return found
