"""The stored counts of confirmed parts are complete and up to date."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from confirmed import FOLDER, Recorded, drops

from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.engine.edits import about
from groupcheck.reports.confirmed import Confirmed, confirmed, total

RECORDINGS = sorted(FOLDER.iterdir())
VERSIONS = {version for version, _ in confirmed()}
STALE = "reports/confirmed.tsv is out of date: run python bench/confirmed.py --write"


def test_each_rule_of_a_version_with_recordings_has_its_parts() -> None:
    for version in VERSIONS:
        parts = Counter(about(edit) for edit in drops(EVERY_PROFILE[version]))
        kept = {rule: each.of for (other, rule), each in confirmed().items() if other == version}
        assert kept == parts, STALE


def test_each_recording_is_counted() -> None:
    assert len(VERSIONS) == len(RECORDINGS)


def test_no_more_parts_are_confirmed_than_there_are() -> None:
    assert all(0 <= each.parts <= each.of for each in confirmed().values())


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".jsonl")[0])
def test_the_stored_counts_match_the_recorded_tests(path: Path) -> None:
    recorded = Recorded(path)
    version = recorded.profile.name
    edits = drops(recorded.profile)
    for rule in Random().sample(sorted({about(edit) for edit in edits}), 5):
        found = total(
            Confirmed(int(recorded.confirms(edit)), 1) for edit in edits if about(edit) == rule
        )
        assert (rule, found) == (rule, confirmed()[version, rule]), STALE
