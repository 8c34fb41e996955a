"""Each promise is broken by an assignment that was made wrong in one way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from groupcheck.model.assignors.group import Assignment, Group
from groupcheck.model.assignors.promises import (
    ANSWERS,
    ASSIGNORS,
    PROMISES,
    SEVERITIES,
    Round,
)
from groupcheck.model.assignors.promises import (
    RACKS as RACKS_ADVICE,
)
from groupcheck.model.assignors.rebalances import broken_in
from support.assignors import group, in_racks, partitions

ONE = group("t0:2", m0="t0", m1="t0")
OWNED = group("t0:2", m0="t0 < t0-0 t0-1", m1="t0")
DIFFERENT = group("t0:1 t1:1", m0="t0", m1="t0 t1")
CHAIN = group("t0:2 t1:1", m0="t0", m1="t0 t1", m2="t1")
STALE = group("t0:2", m0="t0 < t0-1", m1="t0 < t0-0")
RACKS = in_racks(ONE, {"t0-0": "r0", "t0-1": "r1"}, m0="r0", m1="r1")
RACKS_OWNED = in_racks(
    group("t0:2", m0="t0 < t0-1", m1="t0 < t0-0"), {"t0-0": "r0", "t0-1": "r1"}, m0="r0", m1="r1"
)

# An assignor, a group, the assignments of one rebalance after another, and the promise broken.
SPOILED = [
    ("range", ONE, [{"m0": "t0-0 t0-1", "m1": "t0-1"}], "one-owner"),
    ("cooperative-sticky", OWNED, [{"m0": "t0-0", "m1": "t0-1"}], "revoked-first"),
    ("roundrobin", ONE, [{"m0": "t0-0", "m1": ""}], "complete"),
    ("cooperative-sticky", OWNED, [{"m0": "t0-0", "m1": ""}] * 2, "complete"),
    ("sticky", OWNED, [{"m0": "t0-0", "m1": ""}], "complete"),
    # What each of them has to revoke in one rebalance, it gets in the next one.
    (
        "cooperative-sticky",
        OWNED,
        [{"m0": "t0-0", "m1": ""}, {"m0": "t0-1", "m1": ""}] * 2,
        "settles",
    ),
    ("range", ONE, [{"m0": "t0-0 t0-1"}], "each-member"),
    ("range", ONE, [{"m0": "t0-0", "m1": "t0-1", "m2": ""}], "each-member"),
    ("range", ONE, [{"m0": "t0-0", "m1": "t0-1 t0-2"}], "exists"),
    ("range", DIFFERENT, [{"m0": "t1-0", "m1": "t0-0"}], "subscribed"),
    ("range", ONE, [{"m0": "t0-0", "m1": "t0-1 t0-1"}], "listed-once"),
    ("range", ONE, [{"m0": "t0-1", "m1": "t0-0"}], "as-kafka"),
    ("broker:range", ONE, [{"m0": "t0-1", "m1": "t0-0"}], "as-kafka"),
    ("sticky", ONE, [{"m0": "t0-0 t0-1", "m1": ""}], "balanced"),
    ("broker:uniform", CHAIN, [{"m0": "t0-0 t0-1", "m1": "t1-0", "m2": ""}] * 2, "most-balanced"),
    ("sticky", STALE, [{"m0": "t0-0", "m1": "t0-1"}], "fewest-moves"),
    # Nothing has changed before the second rebalance.
    (
        "sticky",
        ONE,
        [{"m0": "t0-0", "m1": "t0-1"}, {"m0": "t0-1", "m1": "t0-0"}],
        "fewest-moves",
    ),
    # m0 has to revoke one partition, and not both.
    (
        "cooperative-sticky",
        OWNED,
        [{"m0": "", "m1": ""}, {"m0": "t0-0", "m1": "t0-1"}, {"m0": "t0-0", "m1": "t0-1"}],
        "fewest-moves",
    ),
    (
        "cooperative-sticky",
        OWNED,
        [{"m0": "t0-0", "m1": ""}, {"m0": "t0-0", "m1": "t0-1"}, {"m0": "t0-0", "m1": "t0-1"}],
        None,
    ),
    ("sticky", OWNED, [{"m0": "t0-0", "m1": "t0-1"}] * 2, None),
    # Each member has the partition in the rack of the other one, and neither owned it.
    ("sticky", RACKS, [{"m0": "t0-1", "m1": "t0-0"}] * 2, "racks"),
    ("sticky", RACKS, [{"m0": "t0-0", "m1": "t0-1"}] * 2, None),
    # Owners come before racks here, and may do so.
    ("sticky", RACKS_OWNED, [{"m0": "t0-1", "m1": "t0-0"}] * 2, None),
    # A broken promise in a later rebalance counts more than advice.
    (
        "sticky",
        RACKS,
        [{"m0": "t0-1", "m1": "t0-0"}, {"m0": "t0-1", "m1": ""}],
        "complete",
    ),
]


def _promised(assignor: str, given: Group, texts: list[dict[str, str]]) -> str | None:
    rounds: list[Round] = []
    answers: Iterator[Assignment] = (
        {member: partitions(text) for member, text in each.items()} for each in texts
    )
    assign: Callable[[Group], Assignment] = lambda _: next(answers)  # noqa: E731 - for its type
    found = broken_in(assignor, "4.1", given, assign, rounds)
    assert len(rounds) <= len(texts)
    return found and found.promise.id


@pytest.mark.parametrize(("assignor", "given", "texts", "promise"), SPOILED)
def test_a_wrong_assignment_breaks_its_promise_and_a_right_one_none(
    assignor: str, given: Group, texts: list[dict[str, str]], promise: str | None
) -> None:
    assert _promised(assignor, given, texts) == promise


def test_every_promise_is_broken_by_one_of_these() -> None:
    spoiled = {promise for *_, promise in SPOILED if promise}
    assert spoiled == {promise.id for promise in PROMISES if promise != ANSWERS}


def test_every_promise_has_a_severity_a_source_in_each_version_and_known_assignors() -> None:
    for promise in PROMISES:
        assert promise.severity in SEVERITIES
        assert promise.sources.keys() >= ({"4.1"} if promise == RACKS_ADVICE else {"2.7", "4.1"})
        assert set(promise.assignors) <= set(ASSIGNORS)
        words = {key.partition(" ")[2] for key in promise.sources}
        assert words - {""} <= set(promise.assignors)


def test_a_member_of_an_old_client_has_to_revoke_what_no_other_one_owns() -> None:
    # m0 reports no generation, and m1 does.
    old, new = OWNED.members
    mixed = OWNED._replace(members=(old, new._replace(generation=3)))
    assert _promised("cooperative-sticky", mixed, [{"m0": "t0-0", "m1": "t0-1"}]) == "revoked-first"


def test_a_member_that_missed_a_rebalance_does_not_hold_up_its_partitions() -> None:
    stale = STALE._replace(
        members=tuple(
            member._replace(generation=generation)
            for member, generation in zip(STALE.members, (2, 1), strict=True)
        )
    )
    # m0 gets t0-0, which m1 owned in generation 1.
    swapped = [{"m0": "t0-0 t0-1", "m1": ""}]
    assert _promised("cooperative-sticky", stale, swapped) == "balanced"
