"""The partition of a group, in the model and in the implementation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.implementation.core.groups import partition_for as implemented
from support.partition import SMALLEST, hash_code, partition_for

GROUP_IDS = st.text(st.characters(exclude_categories=()))  # lone surrogates too, as in Java


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("Aa", 2_112),
        ("BB", 2_112),
        ("testgroup", -1_172_783_827),
        ("polygenelubricants", SMALLEST),
        ("hello world", 1_794_106_052),
        ("Hello, World!", 1_498_789_909),
        ("foobar", -1_268_878_963),
        ("𝄞", 1_772_394),
        ("x𝄞\U0010ffffy", 458_213_239),
        ("\ud834", 55_348),
    ],
)
def test_the_hash_of_a_text_is_that_of_java(text: str, hashed: int) -> None:
    assert hash_code(text) == hashed
    assert implemented(text, 1_000) == (0 if hashed == SMALLEST else abs(hashed) % 1_000)


def test_a_hash_without_an_absolute_value_is_of_partition_0() -> None:
    assert SMALLEST == -2_147_483_648
    assert partition_for("polygenelubricants", 50) == 0
    # Without the exception it would be another one.
    assert abs(SMALLEST) % 50 == 48


def test_a_character_outside_the_basic_plane_counts_as_its_two_surrogates() -> None:
    assert partition_for("𝄞", 50) == (0xD834 * 31 + 0xDD1E) % 50 == 44
    assert partition_for("𝄞", 50) == partition_for("\ud834\udd1e", 50)


@given(GROUP_IDS, st.integers(1, 10_000))
def test_every_group_has_the_same_partition_in_model_and_implementation(
    group_id: str, partitions: int
) -> None:
    assert 0 <= partition_for(group_id, partitions) < partitions
    assert partition_for(group_id, partitions) == implemented(group_id, partitions)


@given(GROUP_IDS, GROUP_IDS)
def test_the_hash_of_two_texts_together_follows_from_those_of_both(left: str, right: str) -> None:
    units = len(right.encode("utf-16-be", "surrogatepass")) // 2
    together = hash_code(left) * 31**units + hash_code(right)
    assert (hash_code(left + right) - together) % 2**32 == 0


@pytest.mark.parametrize("partitions", [0, -1])
def test_a_topic_without_partitions_is_rejected(partitions: int) -> None:
    with pytest.raises(ValueError, match="at least one partition"):
        partition_for("testgroup", partitions)
