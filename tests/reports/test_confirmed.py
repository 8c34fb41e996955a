"""The stored counts of confirmed parts are complete and up to date."""

from __future__ import annotations

from collections import Counter

import pytest
from confirmed import DROPS, Recorded
from planned_tests import plan_of, played, spaces
from recorded_brokers import RECORDED, recording_of

from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import Edit, about
from groupcheck.properties.findings.finding import Finding
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
    assert len(VERSIONS) == len(RECORDED)


def test_no_more_parts_are_confirmed_than_there_are() -> None:
    assert all(0 <= each.parts <= each.visible <= each.of for each in confirmed().values())


def test_at_least_95_percent_of_the_visible_parts_of_a_version_are_confirmed() -> None:
    for version in VERSIONS:
        every = total(each for (other, _), each in confirmed().items() if other == version)
        assert every.parts >= 0.95 * every.visible, f"{version}: {every}"


@pytest.mark.slow
@pytest.mark.parametrize("port", RECORDED)
def test_the_stored_counts_match_the_recorded_tests(port: str) -> None:
    recorded = Recorded(recording_of(port))
    version = recorded.profile.name
    found = Counter(about(edit) for edit in drops(recorded.profile) if recorded.confirms(edit))
    stored = Counter(
        {rule: each.parts for (at, rule), each in confirmed().items() if at == version}
    )
    assert +found == +stored, STALE


@pytest.mark.slow
def test_a_plan_shows_a_dropped_effect_on_a_broker_and_no_plan_shows_a_hidden_one() -> None:
    profile = EVERY_PROFILE["2.7"]
    given = spaces("serve", profile)
    by_words = {str(edit): edit for edit in drops(profile)}
    shown = by_words["`heartbeat/other-generation` did not answer ILLEGAL_GENERATION"]
    hidden = by_words["`heartbeat/loading` did not answer NONE"]
    plan = plan_of(shown, given)
    assert plan is not None
    assert plan_of(hidden, given) is None
    differing: list[Finding] = []
    (played_test,) = played("serve", given, {shown: plan}, differing.append)
    assert (played_test.rejects, differing) == ([shown], [])
    assert len(played_test.test.test.exchanges) == len(plan.steps)
