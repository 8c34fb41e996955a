"""The table of differences between the profiles."""

from __future__ import annotations

from support import differences


def test_each_difference_is_shown_by_a_test() -> None:
    assert differences.shown().keys() == differences.rows().keys()


def test_the_page_is_that_of_the_tests_as_they_are() -> None:
    assert differences.PAGE.read_text(encoding="utf-8") == differences.page()
