"""Bytes of the consumer protocol are shown as what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.implementation.assignors.protocol import encode_assignment
from groupcheck.model import vocabulary as kafka
from groupcheck.model.assignors.group import Member, Partition
from groupcheck.properties.assignors.consumer_protocol import encoded_subscription
from groupcheck.reports.consumer_bytes import assignment_text, metadata_text
from groupcheck.reports.messages import answer_text, step_text

OWNED = (Partition("t0", 0), Partition("t0", 2))
SUBSCRIPTIONS = [
    (Member("m", ("t0", "t1")), "range", "(subscription v1 to t0 t1)"),
    (Member("m", ()), "range", "(subscription v1 to nothing)"),
    (
        Member("m", ("t0",), None, "r1", OWNED, 4),
        "cooperative-sticky",
        "(subscription v3 to t0, owns t0-0 t0-2, in generation 4, in rack r1)",
    ),
    (
        Member("m", ("t0",), owned=OWNED),
        "sticky",
        "(subscription v1 to t0, with 20 bytes of user data)",
    ),
    (Member("m", ("a topic",)), "range", "(subscription v1 to 'a topic')"),
]


@pytest.mark.parametrize(("member", "assignor", "shown"), SUBSCRIPTIONS)
def test_a_subscription_is_shown_by_its_fields(member: Member, assignor: str, shown: str) -> None:
    assert metadata_text(encoded_subscription(assignor, member)) == shown


def test_an_assignment_is_shown_by_its_partitions_and_a_long_one_is_cut() -> None:
    assert assignment_text(encode_assignment([("t0", 1), ("t1", 0)], 0)) == "(t0-1 t1-0)"
    assert assignment_text(encode_assignment([])) == "(nothing)"
    many = encode_assignment([("t0", number) for number in range(1_000)])
    assert assignment_text(many).endswith(" t0-19 and 980 more)")


@given(st.binary(max_size=40))
def test_other_bytes_are_shown_as_they_are(data: bytes) -> None:
    for text in (metadata_text(data), assignment_text(data)):
        assert text == repr(data) or text.startswith("(")
    assert metadata_text(b"one" + data) == repr(b"one" + data)


def test_bytes_after_a_subscription_are_not_hidden() -> None:
    data = encoded_subscription("range", Member("m", ("t0",))) + b"more"
    assert metadata_text(data) == repr(data)


def test_requests_and_responses_show_subscriptions_and_assignments() -> None:
    metadata = encoded_subscription("range", Member("m", ("t0",)))
    assigned = encode_assignment([("t0", 0)])
    join = kafka.JoinGroupRequest("g", 6_000, protocols=(kafka.Protocol("range", metadata),))
    sync = kafka.SyncGroupRequest("g", 1, "m", assignments=(kafka.Assignment("m", assigned),))
    texts = [step_text(kafka.Request(1, 5, body), {}) for body in (join, sync)]
    texts.append(
        answer_text(kafka.SyncGroupResponse(kafka.ErrorCode.NONE, assignment=assigned), {})
    )
    assert "offering range (subscription v1 to t0)" in texts[0]
    assert "with assignments for 'm' (t0-0)" in texts[1]
    assert texts[2].endswith(", assignment (t0-0)")
