"""The consumer protocol on the wire, compared with another library's codec."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.implementation.assignors.protocol import (
    MalformedError,
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
)
from groupcheck.model.assignors.group import Group, Member, Partition
from groupcheck.properties.assignors.cases import groups
from groupcheck.properties.assignors.consumer_protocol import (
    MalformedAssignmentError,
    decoded_assignment,
    encoded_subscription,
)

MEMBER = Member("m0", ("t0", "t1"), None, "r0", (Partition("t0", 1), Partition("t0", 0)), 7)
WHOLE = encoded_subscription("cooperative-sticky", MEMBER)


@given(groups("cooperative-sticky"))
@settings(max_examples=200, deadline=None)
def test_subscriptions_of_kafka_python_are_read(group: Group) -> None:
    for member in group.members:
        found = decode_subscription(encoded_subscription("cooperative-sticky", member))
        assert found.topics == member.topics
        assert sorted(found.owned) == sorted(member.owned)
        assert (found.generation, found.rack) == (member.owned_in, member.rack)


@given(groups("sticky"))
@settings(max_examples=200, deadline=None)
def test_what_sticky_members_owned_is_read_from_their_user_data(group: Group) -> None:
    for member in group.members:
        data = decode_subscription(encoded_subscription("sticky", member)).user_data
        assert (data is None) == (not member.owned)
        if data is not None:
            owned, generation = decode_sticky_user_data(data)
            assert (sorted(owned), generation) == (sorted(member.owned), member.owned_in)


PARTITIONS = st.lists(st.tuples(st.text(max_size=3), st.integers(0, 9)), unique=True, max_size=6)


@given(PARTITIONS, st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_kafka_python_reads_the_assignments_of_every_version(
    partitions: list[tuple[str, int]], version: int
) -> None:
    written = encode_assignment(partitions, version)
    assert sorted(decoded_assignment(written)) == sorted(partitions)
    assert sorted(decode_assignment(written)) == sorted(partitions)


@given(st.integers(0, len(WHOLE) - 1))
@settings(max_examples=len(WHOLE), deadline=None)
def test_a_subscription_that_is_cut_short_is_refused(length: int) -> None:
    with pytest.raises(MalformedError):
        decode_subscription(WHOLE[:length])


@given(PARTITIONS, st.integers(0, 3), st.data())
@settings(max_examples=200, deadline=None)
def test_an_assignment_that_is_cut_short_is_refused(
    partitions: list[tuple[str, int]], version: int, data: st.DataObject
) -> None:
    written = encode_assignment(partitions, version)
    with pytest.raises(MalformedError, match="ConsumerProtocolAssignment"):
        decode_assignment(written[: data.draw(st.integers(0, len(written) - 1))])


@given(PARTITIONS, st.integers(4, 2**15 - 1), st.binary(max_size=9))
@settings(max_examples=200, deadline=None)
def test_an_assignment_of_a_version_to_come_is_read_as_the_newest_one(
    partitions: list[tuple[str, int]], version: int, more: bytes
) -> None:
    later = version.to_bytes(2, "big") + encode_assignment(partitions)[2:] + more
    assert decode_assignment(later) == decode_assignment(encode_assignment(partitions))


@given(st.binary(max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_an_assignment_or_refused(data: bytes) -> None:
    with suppress(MalformedError):
        decode_assignment(data)
    with suppress(MalformedAssignmentError):
        decoded_assignment(data)


def test_a_version_to_come_is_read_as_the_newest_one() -> None:
    later = (9).to_bytes(2, "big") + WHOLE[2:] + b"a field to come"
    assert decode_subscription(later) == decode_subscription(WHOLE)


def test_user_data_that_cannot_be_read_has_no_partitions() -> None:
    assert decode_sticky_user_data(b"\0\0\0\1\0") == ((), -1)
