"""Range and round robin assign what Kafka's documentation shows."""

from __future__ import annotations

import pytest

from groupcheck.model.assignors.functions import (
    Behaviour,
    Function,
    assign_range,
    assign_round_robin,
)
from groupcheck.model.assignors.group import Group, Member, Topic
from support.assignors import group, partitions

WITHOUT_RACKS = Behaviour(racks=False)

# RangeAssignor.java, RoundRobinAssignor.java and StickyAssignor.java of Kafka 2.7 and 4.1.
EXAMPLES = [
    (
        assign_range,
        group("t0:3 t1:3", C0="t0 t1", C1="t0 t1"),
        {"C0": "t0-0 t0-1 t1-0 t1-1", "C1": "t0-2 t1-2"},
    ),
    (
        assign_round_robin,
        group("t0:3 t1:3", C0="t0 t1", C1="t0 t1"),
        {"C0": "t0-0 t0-2 t1-1", "C1": "t0-1 t1-0 t1-2"},
    ),
    (
        assign_round_robin,
        group("t0:1 t1:2 t2:3", C0="t0", C1="t0 t1", C2="t0 t1 t2"),
        {"C0": "t0-0", "C1": "t1-0", "C2": "t1-1 t2-0 t2-1 t2-2"},
    ),
    (
        assign_round_robin,
        group("t0:2 t1:2 t2:2 t3:2", C0="t0 t1 t2 t3", C2="t0 t1 t2 t3"),
        {"C0": "t0-0 t1-0 t2-0 t3-0", "C2": "t0-1 t1-1 t2-1 t3-1"},
    ),
]


@pytest.mark.parametrize(("function", "given_to", "expected"), EXAMPLES)
def test_the_examples_of_kafkas_documentation_hold(
    function: Function, given_to: Group, expected: dict[str, str]
) -> None:
    found = function(given_to, WITHOUT_RACKS)
    assert {member: partitions(text) for member, text in expected.items()} == found


@pytest.mark.parametrize("function", [assign_range, assign_round_robin])
def test_static_members_keep_their_partitions_when_their_member_ids_change(
    function: Function,
) -> None:
    before, after = (
        Group(
            group("t0:3 t1:3").topics,
            (Member(first, ("t0", "t1"), "I1"), Member(second, ("t0", "t1"), "I2")),
        )
        for first, second in (("C0", "C1"), ("C3", "C2"))
    )
    assigned = function(before, WITHOUT_RACKS)
    assert function(after, WITHOUT_RACKS) == {"C3": assigned["C0"], "C2": assigned["C1"]}


def test_topics_with_as_many_partitions_stay_together_where_racks_allow_it() -> None:
    # Partition 0 of both topics is in rack a, and partition 1 in rack b.
    racks = (frozenset("a"), frozenset("b"))
    members = (Member("m0", ("t0", "t1"), rack="b"), Member("m1", ("t0", "t1"), rack="a"))
    found = assign_range(Group((Topic("t0", racks), Topic("t1", racks)), members), Behaviour())
    assert found == {"m0": partitions("t0-1 t1-1"), "m1": partitions("t0-0 t1-0")}
