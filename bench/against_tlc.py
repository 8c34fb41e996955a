"""The explorer beside TLC on the same instances, which is what `groupcheck bench` measures.

They run one after the other. TLC has two workers and writes nothing of what it finds; its time is
that of the whole process, so that its start counts. The explorer has one core and runs twice: as
TLC does, with each member's name its own, and reduced by symmetry, where one state stands for all
that differ in names alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from groupcheck.model.exploring.explorer import Space, explore
from groupcheck.model.spaces.instance import Instance
from support import tla

WORKERS = 2

HEAD = f"""\
                                                         states a second            times TLC
space                members  generations   states      edges    TLC  explorer  reduced  expl.  red.
{"-" * 100}
"""


class Measured(NamedTuple):
    """One instance: what there is in it, and how many seconds each took to find it.

    `counted` is what TLC found: distinct states, and transitions.
    """

    space: str
    members: int
    generations: int
    states: int
    edges: int
    counted: tuple[int, int]
    tlc_s: float
    explorer_s: float
    symmetric_s: float

    @property
    def agreed(self) -> bool:
        """Whether both have found the same."""
        return self.counted == (self.states, self.edges)


def measure(name: str, instance: Instance) -> Measured:
    """Run both.

    Raises:
        OSError: there is no Java.
        ValueError: TLC did not come to its end.
    """
    with tempfile.TemporaryDirectory() as folder:
        text = tla.config(name, instance)
        started = time.perf_counter()
        checked = tla.check(Path(folder), text, workers=WORKERS, dump=None)
        tlc_s = time.perf_counter() - started
    space, explorer_s = _timed(instance, symmetry=False)
    counted = checked.distinct, checked.generated - 1  # one is the initial state
    found = len(space.nodes), space.edge_count
    del space  # which the next one shall not have to carry
    _, symmetric_s = _timed(instance, symmetry=True)
    instances = instance.members, instance.generations
    return Measured(name, *instances, *found, counted, tlc_s, explorer_s, symmetric_s)


def _timed(instance: Instance, *, symmetry: bool) -> tuple[Space, float]:
    started = time.perf_counter()
    space = explore(instance, symmetry=symmetry)
    return space, time.perf_counter() - started


def table(kafka: str, measured: Iterable[Measured]) -> str:
    """The figures, a row for each instance; where the two disagree it says so."""
    said = f"{kafka}: the explorer on one core, beside TLC with {WORKERS} workers, start included\n"
    return said + "\n" + HEAD + "".join(map(_row, measured))


def _row(one: Measured) -> str:
    tlc, explorer, symmetric = (
        one.states / seconds for seconds in (one.tlc_s, one.explorer_s, one.symmetric_s)
    )
    row = (
        f"{one.space:23}{one.members:5}{one.generations:13}{one.states:9,}{one.edges:11,}{tlc:7,.0f}"
        f"{explorer:10,.0f}{symmetric:9,.0f}{explorer / tlc:7.1f}{symmetric / tlc:6.1f}\n"
    )
    if not one.agreed:
        states, edges = one.counted
        row += f"  TLC finds something else: {states:,} states and {edges:,} transitions\n"
    return row
