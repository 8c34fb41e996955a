"""The parts of the model that recorded tests confirm: without them it rejects a test."""

from __future__ import annotations

from pathlib import Path

from confirmed import Recorded
from edits import area_of

from groupcheck.model.engine.edits import DropEffect, DropGuard, DropRule
from groupcheck.properties.histories.recorded_tests import RecordingOfTests
from support.clock_port import TOLERANCES, walked


def test_recorded_tests_confirm_the_parts_without_which_the_model_does_not_allow_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tests.jsonl"
    with RecordingOfTests(path, "clock", TOLERANCES) as recording:
        for seed in range(8):
            recording.add(walked(seed))
    recorded = Recorded(path)
    rules = recorded.profile.rules
    alive = rules["heartbeat/unknown-member"]
    assert recorded.confirms(DropRule(alive.id))
    assert recorded.confirms(DropEffect(alive.id, alive.effects[0].words))
    loading = rules["heartbeat/loading"]
    assert not recorded.confirms(DropRule(loading.id))
    assert recorded.confirms(DropGuard(loading.id, loading.guards[0].words))
    assert area_of(recorded.profile, DropRule(loading.id)) == "Heartbeat"
    assert area_of(recorded.profile, DropEffect("add-member", "")) == "procedures"
