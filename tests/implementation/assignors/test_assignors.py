"""The assignors of this repository keep every promise."""

from __future__ import annotations

import pytest

from groupcheck.implementation.assignors import sticky
from groupcheck.implementation.assignors.leader import ASSIGNORS as ASSIGNORS_OF_CLIENTS
from groupcheck.implementation.assignors.leader import Joined, lead
from groupcheck.implementation.assignors.member import Member
from groupcheck.implementation.assignors.protocol import MalformedError
from groupcheck.model.assignors.promises import ASSIGNORS
from groupcheck.properties.assignors.builtin import BuiltinAssignors
from groupcheck.properties.assignors.verify import Settings, verify


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_no_promise_is_broken(assignor: str) -> None:
    result = verify(BuiltinAssignors(), assignor, Settings("4.1", 150))
    assert (result.tried, result.findings) == (150, [])


@pytest.mark.slow
@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_no_promise_is_broken_in_many_groups(assignor: str) -> None:
    result = verify(BuiltinAssignors(), assignor, Settings("4.1", 3_000, seed=1))
    assert (result.tried, result.findings) == (3_000, [])


def test_metadata_that_is_no_subscription_is_refused() -> None:
    with pytest.raises(MalformedError, match="ConsumerProtocolSubscription"):
        lead("range", {}, [Joined("m0", None, b"\0")])


def test_what_members_own_of_unknown_topics_changes_nothing() -> None:
    topics = {"t0": [frozenset[str]()] * 3}
    member = Member("m0", ("t0", "gone"), owned=(("t0", 0), ("gone", 0), ("t0", 9)), generation=1)
    other = Member("m1", ("gone",), owned=(("gone", 1),), generation=1)
    for assign in ASSIGNORS_OF_CLIENTS.values():
        assert {m: sorted(each) for m, each in assign(topics, [member, other]).items()} == {
            "m0": [("t0", 0), ("t0", 1), ("t0", 2)],
            "m1": [],
        }


@pytest.mark.slow
@pytest.mark.parametrize("racks", [False, True])
def test_a_group_with_a_hundred_thousand_partitions_that_doubles_is_balanced_again(
    racks: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    replicas = [frozenset({f"r{number % 3}"} if racks else ()) for number in range(1_000)]
    topics = {f"t{number:02}": replicas for number in range(100)}
    names = list(topics)
    members = [
        Member(f"m{n:03}", names[n % 2 :: 2] if n % 10 else names, None, f"r{n % 3}")
        for n in range(1_000)
    ]
    before = sticky.assign(topics, members[:500])
    owning = [each._replace(owned=before.get(each.id, ()), generation=1) for each in members]
    after = sticky.assign(topics, owning)
    for assigned, size in ((before, 200), (after, 100)):
        sizes = [len(partitions) for partitions in assigned.values()]
        assert (sum(sizes), min(sizes), max(sizes)) == (100_000, size, size)
    moved = sum(len(set(after[member]) - set(before[member])) for member in before)
    assert racks or moved == 0
