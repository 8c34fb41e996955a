"""The assignors of this repository keep every promise."""

from __future__ import annotations

import pytest

from groupcheck.implementation.assignors import sticky
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


@pytest.mark.slow
def test_a_hundred_thousand_partitions_of_different_subscriptions_take_seconds() -> None:
    topics = {f"t{number:02}": [frozenset[str]()] * 1_000 for number in range(100)}
    names = list(topics)
    members = [Member(f"m{n:03}", names[n % 2 :: 2] if n % 10 else names) for n in range(1_000)]
    sizes = [len(partitions) for partitions in sticky.assign(topics, members).values()]
    assert (sum(sizes), min(sizes), max(sizes)) == (100_000, 100, 100)
