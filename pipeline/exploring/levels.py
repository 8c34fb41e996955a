"""The BFS levels of a model instance, in a folder, with a marker for each complete level.

Spark writes a level as Parquet, and then comes its marker with the number of states and the counts
of the level before. A run that was killed continues after the last marker.
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
from groupcheck.properties import temporal

KIND: Final = "levels"

Counted = tuple[str, str, str, int, int]  # a row of TALLY


class Level(NamedTuple):
    """A complete level: its states, the counts of the level `before`, and how long it took."""

    states: int
    before: list[Counted]
    seconds: float


class Levels:
    """The complete levels in the folder of one model instance."""

    def __init__(self, path: str, which: Which) -> None:
        """Continue with the levels that are there.

        Raises:
            PipelineError: something else is, or it cannot be written to.

        """
        self.name = path.rstrip("/")
        self._system, self._path = place(self.name)
        self._uri = self.name if "://" in self.name else f"{LOCAL}{self._path}"
        self.whole: list[Level] = []
        self._claim({**which._asdict(), "features": list(which.features), "model": _model()})
        while (level := self._level(len(self.whole))) is not None:
            self.whole.append(level)

    def _claim(self, of: dict[str, Any]) -> None:
        """Check that the folder is of this instance, or mark it."""
        noted = marker(self.name)
        if noted is None:
            with writes(self.name):
                self._system.create_dir(self._path, recursive=True)
                if self._system.get_file_info(fs.FileSelector(self._path)):
                    msg = f"{self.name} is not a folder of explored levels: it is left as it is"
                    raise PipelineError(msg)
            put_marker(self.name, {"kind": KIND, "of": of})
            return
        there = noted.get("of") if noted.get("kind") == KIND else None
        if there == of:
            return
        if not isinstance(there, dict):
            what = "something else"
        elif {**there, "model": of["model"]} == of:
            what = "the same instance of another model"
        else:
            what = _in_words(there)
        msg = f"{self.name} is of {what}: another folder is needed for {_in_words(of)}"
        raise PipelineError(msg)

    def _level(self, depth: int) -> Level | None:
        noted = marker(f"{self.name}/{_name(depth)}")
        if noted is None:
            return None
        before = [(*map(str, row[:3]), *map(int, row[3:])) for row in noted["before"]]
        return Level(int(noted["states"]), before, float(noted["seconds"]))  # type: ignore[arg-type]

    @property
    def next_uri(self) -> str:
        """The URI of the next level."""
        return f"{self._uri}/{_name(len(self.whole))}"

    def uris(self) -> list[str]:
        """The URIs of the levels, from the first."""
        return [f"{self._uri}/{_name(depth)}" for depth in range(len(self.whole))]

    def unfinished_uri(self, depth: int) -> str:
        """The URI of the unfinished obligations of a level."""
        return f"{self._uri}/{_name(depth, 'unfinished')}"

    def states(self, depth: int) -> int:
        """The number of states in the folder of a level."""
        return int(self._data(depth).count_rows())

    def add(self, level: Level) -> None:
        """Mark the next level as complete."""
        noted = {"kind": KIND, **level._asdict()}
        put_marker(f"{self.name}/{_name(len(self.whole))}", noted)
        self.whole.append(level)

    def rows(self, depth: int, ids: Iterable[int]) -> dict[int, tuple[int, str]]:
        """The parents and the texts of some states of a level, by their ids."""
        wanted = ds.field("id").isin(pa.array(sorted(ids), pa.int64()))
        columns = ["id", "parent", "state"]
        rows = self._data(depth).to_table(columns=columns, filter=wanted).to_pylist()
        return {row["id"]: (row["parent"], row["state"]) for row in rows}

    def _data(self, depth: int) -> ds.Dataset:
        where = f"{self._path}/{_name(depth)}"
        return ds.dataset(where, filesystem=self._system, format="parquet")


def _name(depth: int, what: str = "level") -> str:
    return f"{what}-{depth:04}"


def _in_words(of: dict[str, Any]) -> str:
    """An instance by its options."""
    words = [f"{of['space']} of {of['profile']}", f"members: {of['members']}"]
    words += [f"features: {' '.join(of['features'])}"] if of["features"] else []
    words += [f"generations: {of['generations']}"] if of["generations"] > 1 else []
    return ", ".join(words)


@cache
def _model() -> str:
    """A hash of the source code of the model, its properties and the exploration."""
    folders = [Path(package.__path__[0]) for package in (model, temporal, exploring)]
    sources = [each for folder in folders for each in sorted(folder.rglob("*.py"))]
    return blake2b(b"\0".join(each.read_bytes() for each in sources), digest_size=8).hexdigest()
