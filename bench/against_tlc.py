"""The speed of the explorer and of TLC on the same instances: the table of `groupcheck bench`.

They run one after the other. TLC has two workers and writes no dump; its time is that of the whole
process, including its start. The explorer has one core and runs twice: without symmetry, like TLC,
and with symmetry, where one state represents all that differ only in member names.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.engine.exploration import StateSpace, explore
from support import tla, tla_config

WORKERS = 2

HEAD = f"""\
                                                         states a second           times TLC
instance             members  generations   states transitions    TLC explorer  reduced  expl.  red.
{"-" * 100}
"""


class Measured(NamedTuple):
    """One instance: its states and transitions, and the seconds that each run took.

    `counted` are the distinct states and the transitions that TLC reports.
    """

    name: str
    members: int
    generations: int
    states: int
    transitions: int
    counted: tuple[int, int]
    tlc_s: float
    explorer_s: float
    symmetric_s: float

    @property
    def agreed(self) -> bool:
        """Whether TLC and the explorer found the same numbers."""
        return self.counted == (self.states, self.transitions)


def measure(name: str, instance: Instance) -> Measured:
    """Run both.

    Raises:
        OSError: there is no Java.
        ValueError: TLC did not finish.
    """
    with tempfile.TemporaryDirectory() as folder:
        # The explorer checks no properties.
        text, _, _ = tla_config.config(name, instance).partition(tla.LIST)
        started = time.perf_counter()
        checked = tla.check(
            Path(folder), tla_config.SPECIFICATION, text, workers=WORKERS, dump=None
        )
        tlc_s = time.perf_counter() - started
    space, explorer_s = _timed(instance, symmetry=False)
    counted = checked.distinct, checked.generated - 1  # without the initial state
    found = len(space.nodes), space.transition_count
    del space  # frees its memory for the next run
    _, symmetric_s = _timed(instance, symmetry=True)
    instances = instance.members, instance.generations
    return Measured(name, *instances, *found, counted, tlc_s, explorer_s, symmetric_s)


def _timed(instance: Instance, *, symmetry: bool) -> tuple[StateSpace, float]:
    started = time.perf_counter()
    space = explore(instance, symmetry=symmetry)
    return space, time.perf_counter() - started


def table(kafka: str, measured: Iterable[Measured]) -> str:
    """A row for each instance, with a second line where TLC and the explorer disagree."""
    title = f"{kafka}: the explorer on one core, TLC with {WORKERS} workers, start included\n"
    return title + "\n" + HEAD + "".join(map(_row, measured))


def _row(one: Measured) -> str:
    tlc, explorer, symmetric = (
        one.states / seconds for seconds in (one.tlc_s, one.explorer_s, one.symmetric_s)
    )
    row = (
        f"{one.name:23}{one.members:5}{one.generations:13}{one.states:9,}{one.transitions:12,}"
        f"{_rate(tlc):>7}{_rate(explorer):>9}{_rate(symmetric):>9}"
        f"{explorer / tlc:7.1f}{symmetric / tlc:6.1f}\n"
    )
    if not one.agreed:
        states, transitions = one.counted
        row += f"  TLC finds other numbers: {states:,} states and {transitions:,} transitions\n"
    return row


def _rate(states_a_second: float) -> str:
    """At least three significant digits: a start of TLC can take seconds for 24 states."""
    return f"{states_a_second:,.0f}" if states_a_second >= 99.5 else f"{states_a_second:#.3g}"
