"""The sequences that show differences on brokers, played on the model."""

from __future__ import annotations

import pytest

from support import differences
from support.differences_on_the_wire import NOT_SHOWN, SHOWN, Shown, answers


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: f"{shown.difference}-{shown.newer}")
def test_two_profiles_answer_the_same_sequence_differently(shown: Shown) -> None:
    assert answers(shown, shown.older) != answers(shown, shown.newer)


def test_each_difference_is_shown_or_it_is_said_why_not() -> None:
    named = {shown.difference for shown in SHOWN}
    assert named.isdisjoint(NOT_SHOWN)
    assert named | NOT_SHOWN.keys() == differences.rows().keys()
