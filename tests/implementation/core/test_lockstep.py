"""The built-in coordinator agrees with the model in each step, responses and inner state."""

from __future__ import annotations

import pytest

from groupcheck.implementation.core.profiles import PROFILES as BUILT_IN
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.reports.finding_text import text_of
from support.economy import exhaustive_if, few_or_many
from support.spaces import explored_once
from support.walks import Walked, everything, fuzzed, toured

# These are large with one member, too: bench/lockstep.py has them.
LARGE = {
    "failing-administration",
    "failing-transactions",
    "failover-transactions",
    "expiry-failing",
    "expiry-transactions",
}
SLOW = {
    "administration-storing",
    "deleting-transactions",
    "failing",
    "failing-static",
    "failover",
    "failover-administration",
    "failover-crowded",
    "failover-static",
    "static-storing",
    "storing",
    "transactions",
}
SMALL = exhaustive_if(
    lambda key: key[1] in SLOW,
    [
        (profile, name)
        for profile in BUILT_IN
        for name in instances(PROFILES[profile], 1)
        if name not in LARGE
    ],
)


def _agree(walked: Walked) -> None:
    if walked.finding is not None:
        pytest.fail(text_of(walked.finding))


@pytest.mark.parametrize("key", SMALL, ids=" ".join)
@pytest.mark.untraced
def test_every_transition_of_the_instances_with_one_member_agrees(key: tuple[str, str]) -> None:
    profile, name = key
    space = explored_once(instances(PROFILES[profile], 1)[name])
    walked = toured(space)
    _agree(walked)
    assert walked.steps >= len(space.nodes)


@pytest.mark.parametrize("steps", few_or_many(800, 3_000))
@pytest.mark.parametrize("profile", BUILT_IN)
@pytest.mark.parametrize("members", [2, 3])
def test_random_steps_with_every_feature_agree(profile: str, members: int, steps: int) -> None:
    for seed, instance in enumerate(everything(PROFILES[profile], members)):
        _agree(fuzzed(instance, seed, steps))
