"""The partition of a group, compared with numbers computed by Java."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupcheck.implementation.core.groups import partition_for


def test_partition_of_a_known_group_is_kafkas() -> None:
    assert partition_for("testgroup", 50) == 27


def test_hash_without_an_absolute_value_is_partition_0() -> None:
    # "polygenelubricants" has the hash Integer.MIN_VALUE in Java.
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("polygenelubricants", 7) == 0


def test_negative_hash_is_used_without_its_sign() -> None:
    # "hello world".hashCode() is 1794106052, "Hello, World!".hashCode() is 1498789909, and
    # "foobar".hashCode() is -1268878963 in Java.
    assert partition_for("hello world", 1000) == 52
    assert partition_for("Hello, World!", 1000) == 909
    assert partition_for("foobar", 1000) == 963


def test_character_outside_the_basic_plane_counts_as_two_utf_16_units() -> None:
    # U+1F600 is D83D DE00: 0xD83D * 31 + 0xDE00 = 1,772,899.
    assert partition_for("\U0001f600", 1_000_000) == 772_899


def test_empty_group_id_is_in_partition_0() -> None:
    assert partition_for("", 50) == 0


@given(st.text(), st.integers(1, 1_000))
def test_every_group_id_has_a_partition(group_id: str, partitions: int) -> None:
    assert 0 <= partition_for(group_id, partitions) < partitions
