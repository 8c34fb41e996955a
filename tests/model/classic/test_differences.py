"""The table of differences between the versions, and the sequences that show them on brokers."""

from __future__ import annotations

import pytest

from support import marked_tests
from support.differences_on_the_wire import NOT_SHOWN, SHOWN, Shown, answers


def test_each_difference_is_shown_by_a_test() -> None:
    assert marked_tests.shown().keys() == marked_tests.differences().keys()


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: f"{shown.difference}-{shown.newer}")
def test_two_versions_answer_the_same_sequence_differently(shown: Shown) -> None:
    assert answers(shown, shown.older) != answers(shown, shown.newer)


def test_each_difference_is_shown_on_brokers_or_has_a_reason() -> None:
    named = {shown.difference for shown in SHOWN}
    assert named.isdisjoint(NOT_SHOWN)
    assert named | NOT_SHOWN.keys() == marked_tests.differences().keys()
