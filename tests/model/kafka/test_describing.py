"""DescribeGroups."""

from __future__ import annotations

from groupcheck.model.instances.environment import GROUP_ID
from groupcheck.model.vocabulary import DescribedGroup, ErrorCode
from support.kafka_tests import holds
from support.play import COOPERATIVE, Play


@holds("testDescribeGroupInactiveGroup")
def test_a_group_that_is_not_there_is_shown_as_dead_and_without_an_error() -> None:
    assert Play().describe() == DescribedGroup(ErrorCode.NONE, GROUP_ID, "Dead")


@holds("testDescribeGroupStableForDynamicMember")
def test_a_stable_group_is_shown_with_its_protocol_and_members() -> None:
    play = Play()
    member = play.stable_member()
    shown = play.describe()
    assert (shown.error_code, shown.group_state) == (ErrorCode.NONE, "Stable")
    assert (shown.protocol_type, shown.protocol_data) == ("consumer", COOPERATIVE[0].name)
    (shown_member,) = shown.members
    assert shown_member.member_id == member.member_id
    assert shown_member.member_metadata == COOPERATIVE[0].metadata
    assert shown_member.member_assignment == b"all"


@holds("testDescribeGroupRebalancing")
def test_of_a_group_that_waits_for_its_assignments_only_type_and_members_are_shown() -> None:
    play = Play()
    member = play.first_member()
    shown = play.describe()
    assert (shown.error_code, shown.group_state) == (ErrorCode.NONE, "CompletingRebalance")
    assert (shown.protocol_type, shown.protocol_data) == ("consumer", "")
    (shown_member,) = shown.members
    assert shown_member.member_id == member.member_id
    assert (shown_member.member_metadata, shown_member.member_assignment) == (b"", b"")
