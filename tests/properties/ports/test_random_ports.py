"""For any output or exception of a port, a verification ends in a result that can be rendered."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from groupcheck.properties.ports.source import PortSource
from support.economy import few_or_many
from support.fuzzed_runs import ended
from support.random_ports import KINDS
from support.source_mutants import mutant

ENDS = {"findings", "no finding", "ended early", "not available"}
ALL: dict[str, Callable[[Random], PortSource]] = {**KINDS, "source": mutant}


@pytest.mark.parametrize("runs", few_or_many(3, 60))
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::RuntimeWarning")
def test_a_port_with_random_edits_ends_in_findings_or_one_line(kind: str, runs: int) -> None:
    ends = set()
    for seed in range(runs):
        ends.add(ended(ALL[kind], Random(f"{kind} {seed}")))
    assert ends <= ENDS
