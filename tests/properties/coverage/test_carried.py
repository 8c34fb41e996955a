"""Tests of a tour count again with other rules, until these rules differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from groupcheck.model.classic.instances.instance import feature_instances, virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.edits import DropEffect, about
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.properties.coverage.carried import carried
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest, count_covered
from groupcheck.properties.explored import deviating_space
from groupcheck.properties.findings.finding import Exchange
from groupcheck.properties.generators.tour import Walk
from groupcheck.properties.generators.walks import Walker
from groupcheck.properties.histories.recorded_replay import check_recorded
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import Checks
from support.model_port import ModelPort
from support.spaces import edits_once, explored_once

PROFILE = PROFILES["4.1"]
LIMIT = 40
WALKS = 40
# Without one of their effects the state differs before an answer does.
RULES = {
    "rebalance/prepare-from-completing",
    "sync/follower-completing",
    "failover/restored-empty",
}


def _walks(
    coverage: Coverage, port: Port
) -> Iterator[tuple[list[TransitionReference], list[Exchange]]]:
    """The transitions and the exchanges of each test of a tour."""
    walker = Walker(coverage.steps(), port)
    while coverage.way(0, LIMIT - 1) is not None:
        walk = Walk(coverage, walker, LIMIT)
        walk.go()
        checks = Checks(PROFILE, coverage.space.instance.broker)
        for each in walker.record[: len(walk.taken)]:
            check_recorded(checks, each)
        yield walk.taken, checks.exchanges


@pytest.mark.slow
def test_what_counts_again_is_what_an_oracle_of_the_other_rules_finds() -> None:
    instances = virtual_time_instances(PROFILE, 1) | feature_instances(PROFILE, 1)
    space = explored_once(instances["reload"])
    edits = [e for e in edits_once(PROFILE) if isinstance(e, DropEffect) and about(e) in RULES]
    assert {about(edit) for edit in edits} == RULES
    kept = cut = 0
    for edit in edits:
        model = deviating(PROFILE, (edit,))
        now = deviating_space(space, model)
        assert now is not None
        walks = list(islice(_walks(Coverage(space, Random(0)), ModelPort(0, model)), WALKS))
        tests = list(carried((taken for taken, _ in walks), space, now))
        counted, expected = Coverage(now, Random(0)), Coverage(now, Random(0))
        for (whole, record), taken in zip(walks, tests, strict=True):
            counted.count_test(taken)
            test = ObservedTest(space.instance.broker, tuple(record[: len(taken)]))
            count_covered(test, expected, model, failed=False)
            kept += len(taken)
            cut += len(whole) - len(taken)
        assert (counted.shown, counted.times) == (expected.shown, expected.times), str(edit)
        assert expected.diverged == set()
    assert kept > cut > 0
