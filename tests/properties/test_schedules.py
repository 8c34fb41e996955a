"""The size of a run on a real clock, tested with a virtual clock so that it need not wait."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from groupcheck.model.classic.instances.instance import DELAY
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.edits import DropRule
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import count_covered
from groupcheck.properties.minimising import concurrently
from groupcheck.properties.ports.settings import BrokerSettings
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.schedules import real_time
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.verify import TimeOverError, Verification
from support.model_port import ModelPort

NEW = PROFILES["2.7"]
EXAMPLES = 5


def _verify(*edits: DropRule, time_s: int = 0) -> Result:
    return _run(*edits, time_s=time_s).result


def _run(*edits: DropRule, time_s: int = 0) -> Verification:
    seeds, model = count(), deviating(NEW, edits)
    source = PortSource(
        "model",
        lambda: ModelPort(next(seeds), model),
        broker_settings=lambda: BrokerSettings({DELAY: 0}),
    )
    settings = Settings(members=1, examples=EXAMPLES, time_s=time_s)
    run = Verification(source, settings, schedule=real_time)
    run.run()
    return run


def test_without_a_time_a_broker_is_tried_with_as_many_sequences_as_examples() -> None:
    assert _verify().sequences == EXAMPLES


def test_with_a_time_sequences_run_until_every_transition_was_tried() -> None:
    result = _verify(time_s=100)
    (order,) = result.instances
    assert result.sequences > EXAMPLES
    assert result.conforms
    assert order.transitions.untried == 0
    assert order.transitions.covered > 0.9 * order.transitions.total
    assert not result.time_over


def test_with_a_time_what_is_behind_a_deviation_is_tried_too() -> None:
    edit = DropRule("heartbeat/other-generation")
    result = _verify(edit, time_s=100)
    (order,) = result.instances
    assert [str(finding.cause) for finding in result.findings] == [str(edit)]
    assert order.transitions.untried == 0


def test_what_earlier_tests_show_by_the_rules_of_a_deviation_is_covered() -> None:
    edit = DropRule("heartbeat/other-generation")
    run = _run(edit, time_s=100)
    (coverage,) = run.coverages.values()
    again = Coverage(coverage.space, Random(0))
    for test, failed in run.tests:
        count_covered(test, again, deviating(NEW, (edit,)), failed=failed)
    assert again.shown == coverage.shown
    assert again.diverged == set()
    assert len(run.tests) == run.result.sequences


def test_after_the_time_no_sequence_is_replayed_to_make_a_finding_minimal() -> None:
    run = _run()

    def over() -> None:
        raise TimeOverError

    run.check_interruption = over
    with pytest.raises(TimeOverError), concurrently(run, 1) as how:
        list(how.replays([Sequence("2.7", {}, ())]))
