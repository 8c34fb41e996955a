"""The fields of answers and of the inner state that are compared, and those that are not."""

from __future__ import annotations

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.state import Group, Member
from groupcheck.model.vocabulary import ErrorCode, GroupState, GroupView, MemberView, Protocol
from groupcheck.properties.compare import differing_field, normal

NAMES = {"real-1": "#1"}
KNOWN = kafka.DescribedGroupMember("real-1", None, "client", "/host")
UNREVEALED = KNOWN._replace(member_id="made-up")


def _described(*members: kafka.DescribedGroupMember) -> object:
    group = kafka.DescribedGroup(ErrorCode.NONE, "g", "PreparingRebalance", "consumer", "", members)
    return normal(kafka.DescribeGroupsResponse((group,)), NAMES, 5)


def test_unrevealed_id_matches_any_id_in_any_order() -> None:
    other = UNREVEALED._replace(member_id="other")
    assert _described(KNOWN, UNREVEALED) == _described(other, KNOWN)
    third = UNREVEALED._replace(member_id="third")
    assert _described(UNREVEALED, other) == _described(third, other)


@pytest.mark.parametrize(
    "members",
    [
        (KNOWN,),
        (KNOWN, UNREVEALED, UNREVEALED._replace(member_id="other")),
        (KNOWN, UNREVEALED._replace(client_id="another")),
        (KNOWN, UNREVEALED._replace(client_host="/another")),
        (KNOWN, UNREVEALED._replace(member_metadata=b"shown")),
        (KNOWN, UNREVEALED._replace(group_instance_id="static")),
        (KNOWN, KNOWN),
        (UNREVEALED, UNREVEALED._replace(member_id="other")),
    ],
)
def test_comparison_of_an_unrevealed_member_leaves_out_only_its_id(
    members: tuple[kafka.DescribedGroupMember, ...],
) -> None:
    assert _described(*members) != _described(KNOWN, UNREVEALED)


def test_member_listed_twice_does_not_match_two_members() -> None:
    other = UNREVEALED._replace(member_id="other")
    assert _described(UNREVEALED, UNREVEALED) != _described(UNREVEALED, other)


def _group(*symbols: str) -> Group:
    members = tuple(
        Member(
            symbol,
            "client",
            "/host",
            10_000,
            20_000,
            (Protocol("range", b""),),
            is_new=False,
            revealed=True,
            session_left_ms=10_000,
            awaiting_join=None,
        )
        for symbol in symbols
    )
    return Group(state=GroupState.COMPLETING_REBALANCE, leader=symbols[0], members=members)


@pytest.mark.parametrize(
    ("views", "field"),
    [
        ([MemberView("real-1"), MemberView("real-2")], None),
        ([MemberView("real-1"), MemberView("real-1")], "members"),
        ([MemberView("real-1"), MemberView("real-3")], "members"),
        ([MemberView("real-1"), MemberView("real-2", "static")], "members"),
        ([MemberView("real-1"), MemberView("real-2", "")], None),
        ([MemberView("real-1")], "members"),
    ],
)
def test_members_of_the_inner_state_are_compared_one_by_one(
    views: list[MemberView], field: str | None
) -> None:
    names = {"real-1": "#1", "real-2": "#2"}
    view = GroupView("g", members=tuple(views))
    assert differing_field(_group("#1", "#2"), view, names) == field


@pytest.mark.parametrize("name", ["", None, "consumer"])
def test_an_empty_name_in_the_inner_state_is_also_null(name: str | None) -> None:
    group = Group(GroupState.EMPTY, protocol_type=name)
    view = GroupView("g", protocol_type=name or "")
    assert differing_field(group, view, {}) is None
    assert differing_field(group, view._replace(protocol_type="connect"), {}) == "protocolType"


@pytest.mark.parametrize("nullable", [None, "given"])
def test_records_with_and_without_a_nullable_field_can_be_sorted(nullable: str | None) -> None:
    listed = [kafka.JoinGroupResponseMember("a", instance, b"") for instance in (nullable, "i")]
    fetched = [
        kafka.OffsetFetchResponsePartition(0, metadata=metadata) for metadata in (nullable, "m")
    ]

    def bodies(turn: int) -> tuple[object, object]:
        topic = kafka.OffsetFetchResponseTopic("t", tuple(fetched[::turn]))
        return (
            normal(kafka.JoinGroupResponse(ErrorCode.NONE, members=tuple(listed[::turn])), {}, 7),
            normal(kafka.OffsetFetchResponse(topics=(topic,)), {}, 7),
        )

    assert bodies(1) == bodies(-1)
