"""The page on the minor versions of Kafka has the differences that the model has."""

from __future__ import annotations

from broker_pages import minors_page

from support.marked_tests import ROOT

PART = "## The profiles"


def test_the_page_has_each_difference_of_a_profile() -> None:
    page = (ROOT / "docs" / "kafka-versions.md").read_text(encoding="utf-8")
    assert page.partition(PART)[2] == minors_page([]).partition(PART)[2]
