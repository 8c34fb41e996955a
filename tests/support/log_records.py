"""Records and batches for tests of the log, from Hypothesis or in short forms."""

from __future__ import annotations

from hypothesis import strategies as st

from groupcheck.implementation.log.records import (
    Batch,
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    Marker,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitRecord,
    OffsetCommitValue,
    Record,
)

int16 = st.integers(0, (1 << 15) - 1)
int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
# No member has -1 for a rebalance timeout: it would be read as its session timeout.
timeouts = st.integers(0, (1 << 31) - 1)
strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

offset_keys = st.builds(OffsetCommitKey, strings, strings, int32)
offset_values = st.builds(OffsetCommitValue, int64, int32, strings, int64, int64)
members = st.builds(
    MemberMetadata,
    strings,
    st.none() | strings,
    strings,
    strings,
    timeouts,
    timeouts,
    st.binary(max_size=20),
    st.binary(max_size=20),
)
group_values = st.builds(
    GroupMetadataValue,
    strings,
    int32,
    st.none() | strings,
    st.none() | strings,
    int64,
    st.lists(members, max_size=3).map(tuple),
)
offset_records = st.builds(OffsetCommitRecord, offset_keys, st.none() | offset_values)
group_records = st.builds(
    GroupMetadataRecord, st.builds(GroupMetadataKey, strings), st.none() | group_values
)
records: st.SearchStrategy[Record] = offset_records | group_records


def offset(group: str, value: int | None, partition: int = 0) -> OffsetCommitRecord:
    """A committed offset, or its removal."""
    return OffsetCommitRecord(
        OffsetCommitKey(group, "topic", partition),
        None if value is None else OffsetCommitValue(value, commit_timestamp_ms=1_700_000_000_000),
    )


def commit(group: str, value: int | None, producer_id: int = -1) -> Batch:
    """A batch with one committed offset, perhaps in a transaction."""
    epoch = -1 if producer_id == -1 else 0
    return Batch((offset(group, value),), producer_id, epoch)


def end(producer_id: int, marker: Marker = Marker.COMMIT) -> Batch:
    """The end of a transaction."""
    return Batch((), producer_id, 0, marker)


def logs(max_size: int = 14) -> st.SearchStrategy[list[Batch]]:
    """Few keys, two producers, every order; all values differ."""
    names, producers = st.sampled_from("abc"), st.sampled_from((7, 8))
    numbers = st.integers(0, 1 << 40)
    return st.lists(
        st.lists(st.builds(offset, names, st.none() | numbers), min_size=1, max_size=3).map(
            lambda records: Batch(tuple(records))
        )
        | st.builds(
            lambda records, producer: Batch(tuple(records), producer, 0),
            st.lists(st.builds(offset, names, numbers), min_size=1, max_size=3),
            producers,
        )
        | st.builds(end, producers, st.sampled_from(Marker)),
        max_size=max_size,
    )
