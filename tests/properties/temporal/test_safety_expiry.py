"""Safety of cleanups: a fault made for each property violates it."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pytest

from groupcheck.model.engine.edits import DropRule, Edit, FromVersion, ReplaceEffects
from groupcheck.model.engine.exploration import explore
from groupcheck.model.engine.rules import Effect, decide
from groupcheck.model.instances.instance import instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.rules import cleanup
from groupcheck.model.rules.transactions import forget
from groupcheck.model.step import Profile, Step
from groupcheck.properties.temporal import safety
from groupcheck.properties.temporal.safety import expiry as safety_expiry

NEW = PROFILES["2.7"]
NEWEST = PROFILES["4.1"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("0.10.0", {"subscribed-offsets-not-expired", "no-expiry-in-rebalance"}),
        ("0.10.2", {"subscribed-offsets-not-expired", "no-expiry-in-rebalance"}),
        ("2.7", {"no-expiry-in-rebalance", "offset-retention"}),
        ("4.1", {"offset-retention"}),
    ],
)
def test_each_version_violates_these_properties_of_cleanups(name: str, expected: set[str]) -> None:
    properties = {prop.name for prop in safety_expiry.ACTION_PROPERTIES}
    found = {
        each.property.name
        for each in safety.violations(explore(instances(PROFILES[name], 2)["expiry"]))
    }
    assert found & properties == expected


@partial(Effect, "remove every offset")
def _remove_at_once(step: Step, _subject: object) -> None:
    cleanup.remove_expired(step, lambda _step, _partition, _offset: True)


@partial(Effect, "remove the group, whether or not it awaits offsets")
def _remove_group(step: Step, _subject: object) -> None:
    decide(step, cleanup.GROUP_GONE, None)


REMOVE_EXPIRED = NEW.rules["cleanup/simple"].effects


@partial(Effect, "remove offsets whose time is over, and those pending for their partitions")
def _remove_with_pending(step: Step, subject: object) -> None:
    before = dict(step.existing.offsets)
    for effect in REMOVE_EXPIRED:
        effect.apply(step, subject)
    if step.group is not None:
        step.group = forget(step.group, before.keys() - dict(step.group.offsets).keys())


class Fault(NamedTuple):
    """A version with edits, and in how many steps they violate the property in an instance."""

    property: str
    profile: Profile
    edits: tuple[Edit, ...]
    steps: int
    space: str = "expiry"


FAULTS = (
    Fault("offset-retention", NEW, (ReplaceEffects("cleanup/simple", (_remove_at_once,)),), 2),
    Fault(
        "subscribed-offsets-not-expired",
        NEWEST,
        (
            ReplaceEffects(
                "cleanup/consumers", PROFILES["0.10.0"].rules["cleanup/each-by-itself"].effects
            ),
        ),
        6,
    ),
    Fault("no-expiry-in-rebalance", NEWEST, (FromVersion("cleanup/consumers", NEW.version),), 4),
    Fault(
        "expired-offsets-removed",
        NEWEST,
        (DropRule("cleanup/empty"), DropRule("cleanup/consumers"), DropRule("cleanup/simple")),
        3,
    ),
    Fault(
        "only-unused-groups-expire",
        NEW,
        (ReplaceEffects("cleanup/simple", (*REMOVE_EXPIRED, _remove_group)),),
        2,
        "expiry-transactions",
    ),
    Fault("unused-groups-expire", NEW, (DropRule("cleanup/group-gone"),), 2, "expiry-transactions"),
    Fault(
        "cleanup-removes-only-offsets",
        NEW,
        (ReplaceEffects("cleanup/simple", (_remove_with_pending,)),),
        4,
        "expiry-transactions",
    ),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.property)
def test_a_fault_violates_its_property_in_the_fewest_steps(fault: Fault) -> None:
    space = explore(instances(fault.profile.edited(*fault.edits), 2)[fault.space])
    found = {each.property.name: each for each in safety.violations(space)}
    assert (len(found[fault.property].path), found[fault.property].known) == (fault.steps, None)


def test_every_property_has_a_fault_that_violates_it() -> None:
    assert {fault.property for fault in FAULTS} == {
        prop.name for prop in safety_expiry.ACTION_PROPERTIES
    }
