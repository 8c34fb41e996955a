"""A broker that loads a group with more members than its group.max.size allows."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.inputs import INSTANCE
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Configure, Crash, Load, Loading, Shutdown, Unload
from groupcheck.model.classic.step import Profile
from groupcheck.model.vocabulary import ErrorCode, Request
from support.marked_tests import differ
from support.requests import join, leave, sync
from support.scenario import DELAY, Broker, group_of

NONE, FULL = ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED
SIZED = pytest.mark.parametrize("profile", [PROFILES["2.7"], PROFILES["4.1"]], ids=lambda p: p.name)
MOVED = (Unload(), Configure(1), Load())


def pair(profile: Profile) -> Broker:
    """A stable group of #1 and #2, the second without an assignment."""
    broker = Broker(profile)
    broker.do(join(), join(), DELAY, DELAY)
    assert broker.do(sync("#1")).error_code is NONE
    return broker


@SIZED
@pytest.mark.parametrize(
    "moves",
    [
        MOVED,
        (Loading(), Configure(1), Load()),
        (Unload(), Configure(1), Loading(), Load()),
        (Unload(), Configure(1), Configure(2), Configure(1), Load()),
    ],
    ids=str,
)
def test_a_loaded_group_with_too_many_members_for_the_broker_rebalances(
    profile: Profile, moves: tuple[Unload | Loading | Configure | Load, ...]
) -> None:
    broker = pair(profile)
    broker.do(*moves[:-1])
    (outcome,) = broker.outcomes(moves[-1])
    assert outcome.applied[-2:] == ("failover/too-large", "rebalance/prepare-from-stable")
    assert broker.state == "PreparingRebalance"
    assert len(broker.group.members) == 2
    broker.do(join("#1"))
    assert broker.requests not in broker.answers  # it is parked
    assert broker.do(join("#2")).error_code is FULL
    assert [m.member_id for m in broker.group.members] == ["#1"]


@SIZED
@pytest.mark.parametrize(
    "moves",
    [
        (Unload(), Configure(2), Load()),
        (Unload(), Configure(1), Configure(2), Load()),
        (Configure(1), Unload(), Load()),
        (Configure(1), Crash()),
        (Shutdown(), Configure(1), Crash()),
    ],
    ids=str,
)
def test_a_loaded_group_that_is_not_too_large_stays_stable(
    profile: Profile, moves: tuple[Unload | Configure | Load | Shutdown | Crash, ...]
) -> None:
    broker = pair(profile)
    broker.do(*moves)
    assert broker.state == "Stable"


@SIZED
def test_the_size_of_a_broker_outlasts_a_crash_and_applies_to_new_members(profile: Profile) -> None:
    broker = Broker(profile)
    broker.do(Unload(), Configure(1), Load(), Crash(), join())
    assert broker.do(join()).error_code is FULL


@SIZED
def test_a_group_with_the_default_size_is_loaded_as_it_was(profile: Profile) -> None:
    broker = Broker(profile)
    broker.do(Unload(), Configure(profile.config.group_max_size))
    assert broker.coordinator.max_size is None


@differ("maximum size")
@pytest.mark.parametrize(
    ("version", "state"), [("2.7", "CompletingRebalance"), ("4.1", "PreparingRebalance")]
)
def test_the_rejection_of_the_last_member_ends_the_join_phase_only_in_2_7(
    version: str, state: str
) -> None:
    broker = pair(PROFILES[version])
    broker.do(*MOVED, join("#1"), join("#2"))
    assert broker.state == state


@pytest.mark.parametrize("version", ["0.10.0", "0.10.2"])
def test_versions_without_a_maximum_size_have_no_such_rule(version: str) -> None:
    rules = PROFILES[version].rules
    assert not {"failover/too-large", "failover/configured"} & rules.keys()


def test_either_of_two_members_with_one_instance_id_has_it_after_a_load() -> None:
    broker = Broker(PROFILES["2.7"])
    static = Request(0, 5, join(instance=INSTANCE))
    broker.do(Unload(), Configure(2), Load(), static, join())
    assert broker.do(static).error_code is FULL  # and its group.instance.id is free again
    broker.do(leave("#2"), static, DELAY, DELAY)
    assert broker.do(sync("#1")).error_code is NONE
    named = {group_of(outcome).static(INSTANCE) for outcome in broker.outcomes(Crash())}
    assert named == {"#1", "#5"}
