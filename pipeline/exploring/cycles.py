"""Liveness of a model instance that does not fit into memory: obligations that never finish.

The rows of a property go to one worker, as numbers. SciPy finds their strongly connected
components; in those with a fair cycle the shortest one is searched as in one process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from groupcheck.model.classic.exploring.fingerprint import KEY_BYTES
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.engine.lasso import MarkedStep
from groupcheck.pipeline.schemas import BOOL, INT, LONG, STRING, for_spark, table
from groupcheck.properties.temporal import liveness
from groupcheck.properties.temporal.liveness import TICK, allowances, marks, shortest_cycle

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

# An edge of the cycle, at a `position` counted from the entry of the cycle. It begins at the state
# with this depth and `id`, in which the obligation has this `owner`; `tick`: time passes in it.
CYCLE_EDGE: Final = table(
    {
        "property": STRING,
        "violation": INT,  # the index of the known violation of Kafka
        "position": INT,
        "depth": INT,
        "id": LONG,
        "owner": STRING,
        "tick": BOOL,
    },
    null={"violation"},
)

_PROPERTIES: Final = {prop.name: prop for prop in liveness.PROPERTIES}


class _Graph(NamedTuple):
    """The obligations of a property as numbers.

    `holding` and `row` have an entry for each number: of a row that begins there.
    """

    here: NDArray[np.int32]
    there: NDArray[np.int32]
    tick: NDArray[np.bool_]
    covers: NDArray[np.int64]
    holding: NDArray[np.bool_]
    row: NDArray[np.int64]


def cycles(unfinished: DataFrame, profile: str) -> DataFrame:
    """Rows of `CYCLE_EDGE` for rows of `UNFINISHED`: the cycles of the violated properties."""

    def of_property(rows: pa.Table) -> pa.Table:
        return _cycle(profile, rows)

    return unfinished.groupBy("property").applyInArrow(of_property, for_spark(CYCLE_EDGE))


def _cycle(profile: str, rows: pa.Table) -> pa.Table:
    """The cycle of one property."""
    prop, graph = _PROPERTIES[rows["property"][0].as_py()], _graph(rows)
    edges: list[dict[str, Any]] = []
    for violation in allowances(EVERY_PROFILE[profile], prop):
        selected = graph.covers == 0
        if violation is not None:
            selected |= graph.covers & (1 << violation) != 0
        names = {"property": prop.name, "violation": violation}
        edges = [{**names, **edge} for edge in _edges(rows, graph, _fair(graph, selected))]
        if edges:
            break
    return pa.Table.from_pylist(edges, CYCLE_EDGE)


def _graph(rows: pa.Table) -> _Graph:
    ends = pa.chunked_array([*rows["here"].chunks, *rows["there"].chunks])
    codes = pc.dictionary_encode(ends).combine_chunks().indices.to_numpy()
    here, there = codes[: rows.num_rows], codes[rows.num_rows :]
    holding = np.zeros(codes.max() + 1, np.bool_)
    holding[here[rows["holding"].to_numpy()]] = True
    row = np.zeros(len(holding), np.int64)
    row[here] = np.arange(len(here))
    covers = rows["covers"].to_numpy()
    return _Graph(here, there, rows["tick"].to_numpy(), covers, holding, row)


def _fair(graph: _Graph, selected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The selected rows in a component with a fair cycle."""
    size = len(graph.holding)
    here, there = graph.here[selected], graph.there[selected]
    matrix = coo_array((np.ones(len(here), np.bool_), (here, there)), shape=(size, size))
    count, of = connected_components(matrix, connection="strong")
    within = selected & (of[graph.here] == of[graph.there])
    ticked, free = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    ticked[of[graph.here[within & graph.tick]]] = True
    free[of[~graph.holding]] = True
    fair: NDArray[np.bool_] = within & (ticked & free)[of[graph.here]]
    return fair


def _edges(rows: pa.Table, graph: _Graph, selected: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """The shortest fair cycle in the selected rows."""
    # In the order of the explorer in one process, so that both find the same shortest cycle.
    keys = (rows[name].filter(selected).to_numpy() for name in ("nth", "id", "depth"))
    order = np.flatnonzero(selected)[np.lexsort(tuple(keys))]
    columns = (each[order].tolist() for each in (graph.here, graph.there, graph.tick))
    steps = (
        MarkedStep(here, there, marks(tick=tick, holding=bool(graph.holding[here])))
        for here, there, tick in zip(*columns, strict=True)
    )

    def depth(code: int) -> int:
        return int(rows["depth"][int(graph.row[code])].as_py())

    for position, step in enumerate(shortest_cycle(steps, depth) or ()):
        row = int(graph.row[step.here])
        at = {name: rows[name][row].as_py() for name in ("depth", "id")}
        owner = rows["here"][row].as_py()[KEY_BYTES:].decode()
        yield {"position": position, **at, "owner": owner, "tick": TICK in step.marks}
