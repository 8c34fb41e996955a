"""The BFS levels of a model instance, in a folder, with a marker for each complete level.

Spark writes a level as Parquet. Its marker, which is written then, has the number of states and the
counts of the previous level. A killed run continues after the last marker.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from groupcheck import model
from groupcheck.cache import source_digest
from groupcheck.pipeline import exploring
from groupcheck.pipeline.errors import PipelineError, naming_errors
from groupcheck.pipeline.exploring.expansion import InstanceSpec
from groupcheck.pipeline.output import marker, put_marker
from groupcheck.pipeline.sources import place, uri_of
from groupcheck.properties import temporal

KIND: Final = "levels"

Counted = tuple[str, str, str, int, int]  # a row of TALLY


class Level(NamedTuple):
    """A complete level: its states, the counts of the previous level, and the elapsed time."""

    states: int
    before: list[Counted]
    seconds: float


class Levels:
    """The complete levels in the folder of one model instance."""

    def __init__(self, path: str, spec: InstanceSpec) -> None:
        """Continue with the existing levels.

        Raises:
            PipelineError: the folder has other content, or cannot be written to.

        """
        self.name = path.rstrip("/")
        self._system, self._path = place(self.name)
        self._uri = uri_of(self.name)
        self.complete: list[Level] = []
        self._claim(
            {
                **spec._asdict(),
                "features": list(spec.features),
                "model": source_digest(model, temporal, exploring),
            }
        )
        while (level := self._level(len(self.complete))) is not None:
            self.complete.append(level)

    def _claim(self, instance: dict[str, Any]) -> None:
        """Check that the folder belongs to this instance, or mark it."""
        entries = marker(self.name)
        if entries is None:
            with naming_errors(f"write to {self.name}"):
                self._system.create_dir(self._path, recursive=True)
                if self._system.get_file_info(fs.FileSelector(self._path)):
                    msg = f"{self.name} is not a folder of explored levels"
                    raise PipelineError(msg)
            put_marker(self.name, {"kind": KIND, "instance": instance})
            return
        other = entries.get("instance") if entries.get("kind") == KIND else None
        if other == instance:
            return
        if not isinstance(other, dict):
            content = "other data"
        elif {**other, "model": instance["model"]} == instance:
            content = "the same instance of another model"
        else:
            content = _described(other)
        msg = f"{self.name} has {content}: another folder is needed for {_described(instance)}"
        raise PipelineError(msg)

    def _level(self, depth: int) -> Level | None:
        entries = marker(f"{self.name}/{_name(depth)}")
        if entries is None:
            return None
        before = [(*map(str, row[:3]), *map(int, row[3:])) for row in entries["before"]]
        return Level(int(entries["states"]), before, float(entries["seconds"]))  # type: ignore[arg-type]

    @property
    def next_uri(self) -> str:
        """The URI of the next level."""
        return f"{self._uri}/{_name(len(self.complete))}"

    def uris(self) -> list[str]:
        """The URIs of the levels, from the first."""
        return [f"{self._uri}/{_name(depth)}" for depth in range(len(self.complete))]

    def unfinished_uri(self, depth: int) -> str:
        """The URI of the unfinished obligations of a level."""
        return f"{self._uri}/{_name(depth, 'unfinished')}"

    def states(self, depth: int) -> int:
        """The number of states in the folder of a level."""
        return int(self._data(depth).count_rows())

    def add(self, level: Level) -> None:
        """Mark the next level as complete."""
        entries = {"kind": KIND, **level._asdict()}
        put_marker(f"{self.name}/{_name(len(self.complete))}", entries)
        self.complete.append(level)

    def rows(self, depth: int, ids: Iterable[int]) -> dict[int, tuple[int, str]]:
        """The parents and the texts of some states of a level, by their ids."""
        wanted = ds.field("id").isin(pa.array(sorted(ids), pa.int64()))
        columns = ["id", "parent", "state"]
        rows = self._data(depth).to_table(columns=columns, filter=wanted).to_pylist()
        return {row["id"]: (row["parent"], row["state"]) for row in rows}

    def _data(self, depth: int) -> ds.Dataset:
        where = f"{self._path}/{_name(depth)}"
        return ds.dataset(where, filesystem=self._system, format="parquet")


def _name(depth: int, kind: str = "level") -> str:
    return f"{kind}-{depth:04}"


def _described(instance: dict[str, Any]) -> str:
    """An instance by its options."""
    words = [f"{instance['space']} of {instance['profile']}", f"members: {instance['members']}"]
    words += [f"features: {' '.join(instance['features'])}"] if instance["features"] else []
    words += [f"generations: {instance['generations']}"] if instance["generations"] > 1 else []
    return ", ".join(words)
