"""Features that a port lacks are not requested, and all others are tried as before."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.instances.small import small_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import API_OF, LeaveGroupRequest, Request
from groupcheck.properties.explored import Explored, explored
from groupcheck.properties.input_kinds import FAULT_FEATURES, features_of
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault, Observation
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.unsupported import SKIPPABLE, matching, needs, skip
from groupcheck.properties.verify import Verification
from support.spaces import together

SETTINGS = Settings(members=1, examples=3, walks=20)
PROFILE = PROFILES["2.7"]
SPACES = ("crowded", "administration", "loners")


@pytest.fixture(scope="module")
def few() -> Explored:
    every = virtual_time_instances(PROFILE, 1) | small_instances(PROFILE, 1)
    return explored({name: every[name] for name in (*SPACES, "storing")})


class NotingPort(BuiltinPort):
    """The built-in port; records its inputs by feature and by name."""

    def __init__(self, asked: set[Feature], names: set[str]) -> None:
        super().__init__(1)
        self.asked = asked
        self.names = names

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        self.asked |= features_of(request)
        self.names.add(request.api)
        return super().request(request, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        self.asked.add(FAULT_FEATURES[fault.name])
        self.names.add(fault.name)
        return super().fault(fault, expected)


@pytest.mark.parametrize(
    "feature", [Feature.STATIC_MEMBERS, Feature.MAX_SIZE, Feature.HELD_APPENDS, Feature.CRASHES]
)
def test_port_covers_exactly_the_rules_that_its_supported_features_can_reach(
    feature: Feature, few: Explored
) -> None:
    asked: set[Feature] = set()
    source = PortSource("port", lambda: NotingPort(asked, set()))
    verification = Verification(skip(source, {feature}), SETTINGS, given=few)
    assert verification.run().findings == []
    assert asked == {*SKIPPABLE} - {feature}
    shown = {
        rule
        for coverage in verification.coverages.values()
        for node, place in coverage.shown
        for rule in coverage.space.edges[node][place].applied
    }
    assert shown == {
        rule for rule, each in needs(few.spaces.values()).items() if feature not in each
    }


def test_a_port_receives_everything_but_what_is_skipped_by_name(few: Explored) -> None:
    names: set[str] = set()
    skipped = matching(["Offset*", "crash"])
    assert skipped == {"OffsetCommit", "OffsetFetch", "OffsetDelete", "crash"}
    source = PortSource("port", lambda: NotingPort(set(), names))
    assert Verification(skip(source, skipped), SETTINGS, given=few).run().findings == []
    assert names == {*API_OF.values(), *FAULT_FEATURES} - skipped


def test_port_with_all_features_is_unchanged() -> None:
    source = PortSource("port", BuiltinPort)
    assert skip(source, ()) is source


class SingleLeaves(BuiltinPort):
    """Does not support a LeaveGroup of several members."""

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        body = request.body
        if isinstance(body, LeaveGroupRequest) and len(body.members) > 1:
            return Observation(unsupported="LeaveGroup of several members")
        return super().request(request, expected)


def test_a_port_that_cannot_remove_several_members_at_once_is_still_asked_to_remove_one() -> None:
    given = together({"metadata": virtual_time_instances(PROFILE, 2)["metadata"]})
    source = PortSource("port", lambda: SingleLeaves(1))
    verification = Verification(source, Settings(examples=0, walks=0), given=given)
    assert verification.run().findings == []
    (coverage,) = verification.coverages.values()
    assert coverage.unsupported == ["LeaveGroup of several members"]
    edges = coverage.space.edges
    leaves = [
        len(edge.given.body.members)
        for transition in coverage.left_out
        if isinstance((edge := edges[transition.node][transition.edge]).given, Request)
        and isinstance(edge.given.body, LeaveGroupRequest)
    ]
    assert len(leaves) == len(coverage.left_out) > 0
    assert min(leaves) > 1
    assert coverage.counts().untried == 0
