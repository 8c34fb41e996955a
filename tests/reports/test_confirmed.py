"""The stored counts of confirmed parts are complete and up to date."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from confirmed import DROPS, PORTS, Recorded, recording_of

from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import Edit, about
from groupcheck.reports.confirmed import confirmed, total

VERSIONS = {version for version, _ in confirmed()}
STALE = "reports/confirmed.tsv is out of date: run python bench/confirmed.py --write"


def drops(profile: Profile) -> list[Edit]:
    return [edit for edit in edits_of(profile) if isinstance(edit, DROPS)]


def test_each_rule_of_a_version_with_recordings_has_its_parts() -> None:
    for version in VERSIONS:
        parts = Counter(about(edit) for edit in drops(EVERY_PROFILE[version]))
        kept = {rule: each.of for (other, rule), each in confirmed().items() if other == version}
        assert kept == parts, STALE


def test_each_recording_is_counted() -> None:
    assert len(VERSIONS) == len(PORTS)


def test_no_more_parts_are_confirmed_than_there_are() -> None:
    assert all(0 <= each.parts <= each.visible <= each.of for each in confirmed().values())


def test_at_least_95_percent_of_the_visible_parts_of_a_version_are_confirmed() -> None:
    for version in VERSIONS:
        every = total(each for (other, _), each in confirmed().items() if other == version)
        assert every.parts >= 0.95 * every.visible, f"{version}: {every}"


@pytest.mark.slow
@pytest.mark.parametrize("port", PORTS)
def test_the_stored_counts_match_the_recorded_tests(port: str) -> None:
    recorded = Recorded(recording_of(port))
    version = recorded.profile.name
    edits = drops(recorded.profile)
    for rule in Random().sample(sorted({about(edit) for edit in edits}), 5):
        found = sum(recorded.confirms(edit) for edit in edits if about(edit) == rule)
        assert (rule, found) == (rule, confirmed()[version, rule].parts), STALE
