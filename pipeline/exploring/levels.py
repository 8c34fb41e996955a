"""The layers of a space that is being explored, in a folder: a marker for each that is whole.

A layer is Parquet, written by Spark, and then its marker, which says how many states it has and
what was counted of the layer before. A run that was killed goes on after the last marker.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from groupcheck import model
from groupcheck.pipeline import exploring
from groupcheck.pipeline.errors import PipelineError
from groupcheck.pipeline.exploring.expansion import Which
from groupcheck.pipeline.output import marker, put_marker, writes
from groupcheck.pipeline.sources import LOCAL, place
from groupcheck.properties import laws

KIND: Final = "layers"

Counted = tuple[str, str, str, int, int]  # a row of TALLY


class Layer(NamedTuple):
    """A whole layer: its states, what was counted of the layer `before`, and how long it took."""

    states: int
    before: list[Counted]
    seconds: float


class Layers:
    """The layers that are whole, in the folder of one space."""

    def __init__(self, path: str, which: Which) -> None:
        """Take up what is there.

        Raises:
            PipelineError: something else is, or it cannot be written to.

        """
        self.name = path.rstrip("/")
        self._system, self._path = place(self.name)
        self._uri = self.name if "://" in self.name else f"{LOCAL}{self._path}"
        self.whole: list[Layer] = []
        self._claim({**which._asdict(), "features": list(which.features), "model": _model()})
        while (layer := self._layer(len(self.whole))) is not None:
            self.whole.append(layer)

    def _claim(self, of: dict[str, Any]) -> None:
        """See that the folder is of this space, or make it so."""
        told = marker(self.name)
        if told is None:
            with writes(self.name):
                self._system.create_dir(self._path, recursive=True)
                if self._system.get_file_info(fs.FileSelector(self._path)):
                    msg = f"{self.name} is no folder of explored layers, and is not written to"
                    raise PipelineError(msg)
            put_marker(self.name, {"kind": KIND, "of": of})
            return
        there = told.get("of") if told.get("kind") == KIND else None
        if there == of:
            return
        if not isinstance(there, dict):
            what = "something else"
        elif {**there, "model": of["model"]} == of:
            what = "the same space of another model"
        else:
            what = _in_words(there)
        msg = f"{self.name} is of {what}: another folder is needed for {_in_words(of)}"
        raise PipelineError(msg)

    def _layer(self, depth: int) -> Layer | None:
        told = marker(f"{self.name}/{_name(depth)}")
        if told is None:
            return None
        before = [(*map(str, row[:3]), *map(int, row[3:])) for row in told["before"]]
        return Layer(int(told["states"]), before, float(told["seconds"]))  # type: ignore[arg-type]

    @property
    def next_uri(self) -> str:
        """Where the next layer is to be written."""
        return f"{self._uri}/{_name(len(self.whole))}"

    def uris(self) -> list[str]:
        """Where the layers are, from the first."""
        return [f"{self._uri}/{_name(depth)}" for depth in range(len(self.whole))]

    def goings_uri(self, depth: int) -> str:
        """Where is what goes on unfinished over the steps of a layer, or is to be written."""
        return f"{self._uri}/{_name(depth, 'goings')}"

    def states(self, depth: int) -> int:
        """How many states were written to the folder of a layer."""
        return int(self._data(depth).count_rows())

    def add(self, layer: Layer) -> None:
        """The layer that was written is whole."""
        told = {"kind": KIND, **layer._asdict()}
        put_marker(f"{self.name}/{_name(len(self.whole))}", told)
        self.whole.append(layer)

    def rows(self, depth: int, ids: Iterable[int]) -> dict[int, tuple[int, str]]:
        """The parents and the texts of some states of a layer, by their ids."""
        wanted = ds.field("id").isin(pa.array(sorted(ids), pa.int64()))
        columns = ["id", "parent", "state"]
        rows = self._data(depth).to_table(columns=columns, filter=wanted).to_pylist()
        return {row["id"]: (row["parent"], row["state"]) for row in rows}

    def _data(self, depth: int) -> ds.Dataset:
        where = f"{self._path}/{_name(depth)}"
        return ds.dataset(where, filesystem=self._system, format="parquet")


def _name(depth: int, what: str = "layer") -> str:
    return f"{what}-{depth:04}"


def _in_words(of: dict[str, Any]) -> str:
    """A space, as one asks for it."""
    words = [f"{of['space']} of {of['profile']}", f"members: {of['members']}"]
    words += [f"features: {' '.join(of['features'])}"] if of["features"] else []
    words += [f"generations: {of['generations']}"] if of["generations"] > 1 else []
    return ", ".join(words)


@cache
def _model() -> str:
    """What tells the model from any other: a hash of its text, and of what is noted of it."""
    rooms = [Path(room.__path__[0]) for room in (model, laws, exploring)]
    sources = [each for room in rooms for each in sorted(room.rglob("*.py"))]
    return blake2b(b"\0".join(each.read_bytes() for each in sources), digest_size=8).hexdigest()
