"""The laws of cleanups: each is broken by a model with a fault of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from groupcheck.model.engine.exploration import explore
from groupcheck.model.instances.instance import spaces
from groupcheck.model.profiles import PROFILES
from groupcheck.model.rules import cleanup
from groupcheck.model.rules.transactions import forget
from groupcheck.model.state import Offset, TopicPartition
from groupcheck.model.step import Profile, Retention, Step
from groupcheck.properties.laws import safety
from groupcheck.properties.laws.safety import expiry as safety_expiry

NEW = PROFILES["2.7"]
NEWEST = PROFILES["4.1"]


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("0.10.0", {"subscribed-offsets-are-kept", "rebalances-keep-offsets"}),
        ("0.10.2", {"subscribed-offsets-are-kept", "rebalances-keep-offsets"}),
        ("2.7", {"rebalances-keep-offsets", "offsets-are-retained"}),
        ("4.1", {"offsets-are-retained"}),
    ],
)
def test_each_version_breaks_these_laws_of_cleanups(name: str, broken: set[str]) -> None:
    laws = {law.name for law in safety_expiry.OF_STEPS}
    found = {each.law.name for each in safety.broken(explore(spaces(PROFILES[name], 2)["expiry"]))}
    assert found & laws == broken


def _at_once(_step: Step, _partition: TopicPartition, _offset: Offset) -> bool:
    return True


def _changed(profile: Profile, rule: str, change: Callable[[Retention], Retention]) -> Profile:
    return profile._replace(
        cleanup=tuple(change(r) if r.rule.name == rule else r for r in profile.cleanup)
    )


class Fault(NamedTuple):
    """A profile with a fault, and in how many steps that breaks the law."""

    law: str
    profile: Profile
    steps: int


FAULTS = (
    Fault(
        "offsets-are-retained",
        _changed(NEW, "cleanup/simple", lambda r: r._replace(expired=_at_once)),
        2,
    ),
    Fault(
        "subscribed-offsets-are-kept",
        _changed(
            NEWEST,
            "cleanup/consumers",
            lambda r: r._replace(expired=cleanup.EACH_WHATEVER_COMES.expired),
        ),
        6,
    ),
    Fault("rebalances-keep-offsets", NEWEST._replace(cleanup=NEW.cleanup), 4),
    Fault(
        "expired-offsets-go",
        NEWEST._replace(cleanup=(cleanup.NOTHING, cleanup.IN_USE)),
        3,
    ),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.law)
def test_a_fault_breaks_its_law_in_as_few_steps_as_can_be(fault: Fault) -> None:
    found = {e.law.name: e for e in safety.broken(explore(spaces(fault.profile, 2)["expiry"]))}
    assert (len(found[fault.law].hops), found[fault.law].known) == (fault.steps, None)


@pytest.mark.parametrize(
    ("law", "name", "part", "steps"),
    [
        ("only-spent-groups-expire", "has_offsets", lambda _group: False, 2),
        ("spent-groups-end", "has_offsets", lambda _group: True, 2),
        ("cleanups-spare-the-rest", "mark_newest", forget, 4),
    ],
)
def test_a_cleanup_that_goes_wrong_breaks_its_law(
    law: str,
    name: str,
    part: Callable[..., object],
    steps: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cleanup, name, part)
    found = {e.law.name: e for e in safety.broken(explore(spaces(NEW, 2)["expiry-transactions"]))}
    assert (len(found[law].hops), found[law].known) == (steps, None)


def test_every_law_has_a_fault_that_breaks_it() -> None:
    wrong = {"only-spent-groups-expire", "spent-groups-end", "cleanups-spare-the-rest"}
    assert {f.law for f in FAULTS} | wrong == {law.name for law in safety_expiry.OF_STEPS}
