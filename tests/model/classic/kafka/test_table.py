"""The table of Kafka's tests: each has a scenario or a reason, and the page shows it."""

from __future__ import annotations

import pytest

from support.marked_tests import holds, kafka_tests, scenarios

COVERED = {name for scenario in scenarios() for name in scenario.holds}


def test_all_157_of_kafkas_tests_are_listed_once_each() -> None:
    names = [row.name for row in kafka_tests()]
    assert len(names) == len(set(names)) == 157


def test_each_of_kafkas_tests_has_a_scenario_or_a_reason() -> None:
    for row in kafka_tests():
        assert row.subject
        assert (row.name in COVERED) == (not row.reason), row


def test_a_reason_is_a_missing_feature_or_why_the_test_does_not_apply() -> None:
    for row in kafka_tests():
        kind, _, words = row.reason.partition(": ")
        assert not row.reason or (kind in {"waits", "does not apply"} and words), row


def test_each_scenario_of_kafkas_tests_is_a_test() -> None:
    assert [s for s in scenarios() if not s.name.startswith("test_")] == []


def test_a_scenario_names_only_tests_that_kafka_has() -> None:
    with pytest.raises(LookupError, match="testNothing"):
        holds("testNothing")
