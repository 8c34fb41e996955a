"""Several programs of a port in parallel find and cover the same as one program."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.ports.source import port_source
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.verify import Verification
from support.spaces import together
from support.waiting_program import port_of

EXAMPLES: Final = 40  # of one state machine, or of four
FAULT: Final = "KAFKA-10134"  # a heartbeat in CompletingRebalance is answered with an error


@cache
def verified(programs: int, fault: str = "") -> Result:
    settings = Settings(members=1, examples=EXAMPLES, walks=50, steps=30, side_by_side=programs)
    given = together({"metadata": instances(PROFILES["2.7"], 1)["metadata"]})
    return Verification(port_source(port_of(0.5, fault)), settings, given=given).run()


@pytest.mark.slow
def test_programs_side_by_side_try_the_transitions_that_one_tries() -> None:
    """Each program chooses its allowed outcomes."""
    for result in (verified(1), verified(6)):
        (instance,) = result.instances
        counts = instance.transitions
        assert result.findings == []
        assert counts.covered + counts.not_observed == counts.total
        by_state_machines = result.sequences - instance.tours.tests - result.settings.walks
        assert EXAMPLES <= by_state_machines < 2 * EXAMPLES


@pytest.mark.slow
def test_programs_side_by_side_have_the_findings_of_one() -> None:
    one, several = verified(1, FAULT), verified(6, FAULT)
    assert [each.finding_id for each in several.findings] == [e.finding_id for e in one.findings]
    lengths = [[len(e.sequence.steps) for e in each.findings] for each in (one, several)]
    assert lengths[0] == lengths[1] != []
