"""The function that expands states in Spark's workers: it returns successors and counts.

The rules, the canonical form and the properties are those of the explorer in one process: a few
hundred states at a time are expanded as a part of a state space.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final, NamedTuple

import pyarrow as pa

from groupcheck.model.classic.exploring.exploration import Settings, chosen
from groupcheck.model.classic.exploring.fingerprint import key, read, written
from groupcheck.model.classic.exploring.group_graph import group_graph_of
from groupcheck.model.classic.instances.inputs import Feature, action
from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import Advance, Coordinator
from groupcheck.model.engine.exploration import Seen, StateSpace, part
from groupcheck.pipeline.schemas import BINARY, BOOL, INT, LONG, STRING, one_of, table
from groupcheck.properties.temporal import safety
from groupcheck.properties.temporal.known_violations import known_violations
from groupcheck.properties.temporal.liveness import pending
from groupcheck.properties.temporal.step import CheckedStep

STATES: Final = 500  # of a part, in memory with its successors
ROWS: Final = 5_000  # unfinished obligations, at once

# A state: `id` increases in the order of discovery, `parent` is the first state of the previous
# level that leads to it, `key` is BLAKE2b of its text.
LEVEL: Final = table({"id": LONG, "parent": LONG, "key": BINARY, "state": STRING})
# The same, with the index of the transition among those of `parent`, `place`.
REACHED: Final = table({"parent": LONG, "key": BINARY, "state": STRING, "place": INT})
# A count, and the `id` of the first counted state. `kind` is `degree`, `action`, `rule`, `applied`,
# `arrow`, `inconsistent` or `violation`; `detail` is the reason of an arrow, or the index of the
# known violation.
TALLY: Final = table(
    {"kind": STRING, "name": STRING, "detail": STRING, "times": LONG, "first": LONG}
)
# A step over which an obligation of a property stays unfinished. `covers` has a bit for each known
# violation that the step is part of, `here` and `there` the `key` of a state and the name of the
# owner there; `tick`: time passes; `holding`: appends are held in the state before.
UNFINISHED: Final = table(
    {
        "property": STRING,
        "covers": LONG,
        "depth": INT,
        "id": LONG,
        "nth": INT,  # of the step among those of the state
        "here": BINARY,
        "there": BINARY,
        "tick": BOOL,
        "holding": BOOL,
    }
)
EXPANDED: Final = one_of(reached=REACHED, tally=TALLY, unfinished=UNFINISHED)


class InstanceSpec(NamedTuple):
    """The name of a model instance, for other processes: rules cannot be pickled."""

    profile: str
    space: str
    members: int
    features: tuple[str, ...]
    generations: int

    def instance(self) -> Instance:
        """The model instance."""
        names = () if self.features else (self.space,)
        features = frozenset(map(Feature, self.features))
        settings = Settings(EVERY_PROFILE[self.profile], self.members, names)
        settings = settings._replace(features=features, generations=self.generations)
        return chosen(settings)[self.space]


_instance = cache(InstanceSpec.instance)


class Tally:
    """Counts, each with the first counted state."""

    def __init__(self) -> None:
        self._times: Counter[tuple[str, str, str]] = Counter()
        self._first: dict[tuple[str, str, str], int] = {}

    def check(self, step: CheckedStep) -> None:
        """Count the invariants that a step violates; the node of the step is an id."""
        for prop, known in safety.violations_of(step):
            detail = "" if known is None else str(known_violations(step.profile, prop).index(known))
            self._count("violation", prop.name, detail, first=step.node)

    def take(self, space: StateSpace, ids: list[int]) -> None:
        """Count a part; its first nodes have these ids, and edges."""
        for node, number in enumerate(ids):
            edges = space.edges[node]
            self._count("degree", str(len(edges)), first=number)
            for edge in edges:
                self._count("action", action(edge.given))
            for rule in {rule for edge in edges for rule in edge.applied}:
                self._count("applied", rule, first=number)
        for rule, times in space.applied.items():
            self._count("rule", rule, times=times)
        group_graph = group_graph_of(space)
        for arrow_, reasons in group_graph.arrows.items():
            for reason, times in reasons.items():
                self._count("arrow", str(arrow_), reason, times=times)
        self._count("inconsistent", "", times=len(group_graph.inconsistent))

    def _count(
        self, kind: str, name: str, detail: str = "", times: int = 1, first: int | None = None
    ) -> None:
        counted = (kind, name, detail)
        self._times[counted] += times
        first = 0 if first is None else first
        self._first[counted] = min(first, self._first.get(counted, first))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of `TALLY`."""
        for (kind, name, detail), times in self._times.items():
            if times:
                first = self._first[kind, name, detail]
                key = {"kind": kind, "name": name, "detail": detail}
                yield {**key, "times": times, "first": first}


class Unfinished:
    """The steps of some states over which an obligation stays unfinished, each once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, int, str, int, str, bool], None] = {}

    def see(self, node: int, step: CheckedStep, seen: Seen) -> None:
        """Add the obligations that stay unfinished over a step from a node."""
        tick = isinstance(step.given, Advance)
        for prop, here, there, covers in pending(step, seen.names):
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
            marks = {"covers": covers, "tick": tick, "holding": nodes[node].holding}
            yield {"property": prop, **at, **ends, **marks}


def expand(
    spec: InstanceSpec, depth: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows of `EXPANDED` of the states in columns `id` and `state`, of the level of that depth."""
    gc.set_threshold(50_000)  # states are many tuples, and few of them are garbage
    instance, tally, schema = _instance(spec), Tally(), EXPANDED
    for batch in batches:
        for start in range(0, batch.num_rows, STATES):
            ids, texts = (column.to_pylist() for column in batch.slice(start, STATES).columns)
            space, unfinished = _part(instance, ids, texts, tally)
            tally.take(space, ids)
            texts += map(written, space.nodes[len(ids) :])
            keys = list(map(key, texts))
            reached = _reached(space, ids, texts, keys)
            obligations = unfinished.rows(depth, ids, keys, space.nodes)
            yield pa.RecordBatch.from_pylist([{"reached": row} for row in reached], schema)
            while rows := [{"unfinished": row} for row in islice(obligations, ROWS)]:
                yield pa.RecordBatch.from_pylist(rows, schema)
    yield pa.RecordBatch.from_pylist([{"tally": row} for row in tally.rows()], schema)


def _part(
    instance: Instance, ids: list[int], texts: list[str], tally: Tally
) -> tuple[StateSpace, Unfinished]:
    """These states as a part of the state space; every step is checked."""
    nodes, unfinished = list(map(read, texts)), Unfinished()
    profile, config = instance.profile, instance.config

    def see(node: int, seen: Seen) -> None:
        after, responses, applied, _ = seen.outcome
        step = CheckedStep(
            ids[node], nodes[node], seen.given, after, responses, applied, profile, config
        )
        tally.check(step)
        if instance.timed:
            unfinished.see(node, step, seen)

    return part(instance, nodes, see), unfinished


def _reached(
    space: StateSpace, ids: list[int], texts: list[str], keys: list[bytes]
) -> Iterator[dict[str, Any]]:
    """The successors of a part, each with the first edge to it."""
    first: dict[int, tuple[int, int]] = {}
    for node, number in enumerate(ids):
        for place, edge in enumerate(space.edges[node]):
            if edge.target >= len(ids):
                first[edge.target] = min((number, place), first.get(edge.target, (number, place)))
    for target, (parent, place) in first.items():
        yield {"parent": parent, "place": place, "key": keys[target], "state": texts[target]}
