"""What goes on unfinished over the steps of a space, noted as its states are expanded.

It is what liveness is judged by, once all layers are there: see `cycles`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.types import BinaryType

from groupcheck.pipeline.schemas import BOOL, INT, LONG, STRING, Field, table
from groupcheck.properties.laws.liveness import unfinished

if TYPE_CHECKING:
    from groupcheck.model.exploring.explorer import Seen
    from groupcheck.model.state import Coordinator
    from groupcheck.properties.laws.law import Taken

GOING: Final = table(
    Field("law", STRING, "which wants finished what goes on"),
    Field("covers", LONG, "a bit for each place of what the version is known for and the step is"),
    Field("depth", INT, "the steps to the state"),
    Field("id", LONG, "the `id` of the state in its layer"),
    Field("nth", INT, "of the steps of the state, in the order in which they were made"),
    Field("here", BinaryType(), "the `key` of the state, and the name there of whose it is"),
    Field("there", BinaryType(), "the same of the state after the step"),
    Field("tick", BOOL, "whether time passes in the step"),
    Field("holding", BOOL, "whether appends are held in the state before it"),
)


class Goings:
    """The steps of a part of a space over which something goes on unfinished, each way once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int, str, int, str, bool], None] = {}

    def see(self, node: int, step: Taken, seen: Seen) -> None:
        """Note what goes on over a step from a node of the part."""
        for law, (here, there, tick, covers) in unfinished(step, seen.names):
            if tick or (node, here) != (seen.target, there):
                bits = sum(1 << place for place in covers)
                self._found.setdefault((law.name, bits, node, here, seen.target, there, tick))

    def rows(
        self, depth: int, ids: list[int], keys: list[bytes], nodes: Sequence[Coordinator]
    ) -> Iterator[dict[str, Any]]:
        """Rows of `GOING`; the first nodes have these ids, and all have these keys."""
        for nth, (law, covers, node, here, target, there, tick) in enumerate(self._found):
            at = {"depth": depth, "id": ids[node], "nth": nth}
            ends = {"here": keys[node] + here.encode(), "there": keys[target] + there.encode()}
            how = {"covers": covers, "tick": tick, "holding": nodes[node].holding}
            yield {"law": law, **at, **ends, **how}
