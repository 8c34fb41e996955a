"""A coordinator in another language, from Kafka's source alone, verified from end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.instances.small import small_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.explored import explored
from groupcheck.properties.ports.source import port_source
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.verify import Verification
from support.needs import needs
from support.spaces import together

TOY = Path(__file__).parent / "ports" / "toy_coordinator.js"
SHORT = small_instances(PROFILES["2.7"], 2)

pytestmark = needs("node")


def _verify(settings: Settings, flags: str = "", only: str = "") -> Result:
    """On the instances of its features, or on one of them."""
    found = virtual_time_instances(PROFILES["2.7"], settings.members)
    given = together({name: found[name] for name in found if only in {"", name}})
    return Verification(port_source(f"exec:node {TOY} {flags}"), settings, given=given).run()


def test_the_toy_coordinator_conforms() -> None:
    result = _verify(Settings(examples=30))
    assert result.findings == []
    for each in result.instances:
        # It shows no inner state and always makes the same choice.
        counts = each.transitions
        assert counts.covered + counts.not_observed + counts.ambiguous == counts.total
        assert counts.covered >= 0.98 * counts.total


def test_features_that_the_toy_coordinator_lacks_are_skipped() -> None:
    given = explored({name: SHORT[name] for name in ("crowded", "loners", "failing-static")})
    settings = Settings(examples=0)
    result = Verification(port_source(f"exec:node {TOY}"), settings, given=given).run()
    assert result.findings == []
    assert {"groupInstanceId", "crash", "EndTxn"} <= set(result.unsupported)


@pytest.mark.parametrize(
    ("fault", "length"), [("old-generation-heartbeat", 3), ("follower-sees-members", 3)]
)
def test_fault_of_the_toy_coordinator_is_found_and_minimised(fault: str, length: int) -> None:
    result = _verify(Settings(examples=0), f"--fault={fault}", "metadata")
    assert len(result.findings[0].sequence.steps) == length


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("crash", "port crashed"), ("garbage", "protocol error"), ("answer-twice", "protocol error")],
)
def test_failing_toy_coordinator_is_a_finding_of_that_kind(fault: str, kind: str) -> None:
    result = _verify(Settings(members=1, examples=0), f"--fault={fault}", "membership")
    failures = [f.failure for f in result.findings if f.failure is not None]
    assert [failure.kind for failure in failures] == [kind] * len(failures) != []
