"""The unfinished obligations of a model instance, step by step; see `cycles` for their use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.types import BinaryType

from groupcheck.pipeline.schemas import BOOL, INT, LONG, STRING, Field, table
from groupcheck.properties.temporal.liveness import unfinished

if TYPE_CHECKING:
    from groupcheck.model.engine.exploration import Seen
    from groupcheck.model.state import Coordinator
    from groupcheck.properties.temporal.step import CheckedStep

UNFINISHED: Final = table(
    Field("property", STRING, "the property with the obligation"),
    Field("covers", LONG, "a bit for each known violation of the version that the step is part of"),
    Field("depth", INT, "the steps to the state"),
    Field("id", LONG, "the `id` of the state in its level"),
    Field("nth", INT, "the number of the step among those of the state"),
    Field(
        "here",
        BinaryType(),
        "the `key` of the state, and the owner of the obligation by its name there",
    ),
    Field("there", BinaryType(), "the same for the state after the step"),
    Field("tick", BOOL, "whether time passes in the step"),
    Field("holding", BOOL, "whether appends are held in the state before it"),
)


class Unfinished:
    """The steps of some states over which an obligation stays unfinished, each once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int, str, int, str, bool], None] = {}

    def see(self, node: int, step: CheckedStep, seen: Seen) -> None:
        """Add the obligations that stay unfinished over a step from a node."""
        for prop, (here, there, tick, covers) in unfinished(step, seen.names):
            if tick or (node, here) != (seen.target, there):
                bits = sum(1 << place for place in covers)
                self._found.setdefault((prop.name, bits, node, here, seen.target, there, tick))

    def rows(
        self, depth: int, ids: list[int], keys: list[bytes], nodes: Sequence[Coordinator]
    ) -> Iterator[dict[str, Any]]:
        """Rows of `UNFINISHED`; the first nodes have these ids, and all have these keys."""
        for nth, (prop, covers, node, here, target, there, tick) in enumerate(self._found):
            at = {"depth": depth, "id": ids[node], "nth": nth}
            ends = {"here": keys[node] + here.encode(), "there": keys[target] + there.encode()}
            how = {"covers": covers, "tick": tick, "holding": nodes[node].holding}
            yield {"property": prop, **at, **ends, **how}
