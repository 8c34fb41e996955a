"""Records of the model in the offsets topic are accepted; each wrong record is a finding."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.cli import main
from groupcheck.implementation.log.records import (
    Batch,
    GroupMetadataKey,
    GroupMetadataRecord,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitRecord,
)
from support.economy import slow_if
from support.made_segments import check_source, partition, write
from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

from groupcheck.pipeline.sources import files  # noqa: E402

REAL = Path(__file__).parent / "offsets_topic"
SEGMENT = f"{0:020}.log"
PROFILES = ("0.10.0", "0.10.2", "2.7", "4.1")
LARGE = ("2.7", "4.1")  # deriving their automata takes tens of seconds
GROUPS, STEPS = 30, 100


class Made(NamedTuple):
    """A partition written by groups that the model allows."""

    profile: str
    batches: list[Batch]


@pytest.fixture(scope="module", params=slow_if(LARGE.__contains__, PROFILES))
def made(request: pytest.FixtureRequest) -> Made:
    return Made(request.param, partition(request.param, GROUPS, STEPS))


def test_records_of_the_model_are_accepted(made: Made, tmp_path: Path) -> None:
    """The groups have two members and delayed appends; the checking instance has neither."""
    write(tmp_path / SEGMENT, made.profile, made.batches)
    checked = check_source(tmp_path)
    assert checked.quarantined == []
    verdicts = checked.tables["verdict"]
    assert len(verdicts) > GROUPS // 2
    assert {each["profile"] for each in verdicts} == {made.profile}
    assert "finding" not in checked.tables


def test_a_part_of_a_partition_is_accepted(made: Made, tmp_path: Path) -> None:
    """The part may begin at any record, and any records may be missing."""
    third = len(made.batches) // 3
    offsets = write(tmp_path / f"{1_000:020}.log", made.profile, made.batches[third:-third], 1_000)
    write(
        tmp_path / f"{offsets[-1] + 5:020}.log", made.profile, made.batches[-20:], offsets[-1] + 5
    )
    assert "finding" not in check_source(tmp_path).tables


def earlier(last: GroupMetadataValue) -> GroupMetadataValue | None:
    """The generation goes back."""
    return last._replace(generation=last.generation - 1) if last.generation > 1 else None


def of_others(last: GroupMetadataValue) -> GroupMetadataValue | None:
    """A generation has other members than it had."""
    if not last.members or any(each.group_instance_id for each in last.members):
        return None
    other = last.members[0]._replace(member_id="another")
    return last._replace(members=(other, *last.members[1:]))


def left(last: GroupMetadataValue) -> GroupMetadataValue | None:
    """The members are removed, but the generation is the same."""
    return last._replace(members=(), protocol=None, leader=None) if last.members else None


def joined(last: GroupMetadataValue) -> GroupMetadataValue | None:
    """A member is in a generation that had no members."""
    member = MemberMetadata("late", None, "c", "/h", 300, 100, b"s", b"")
    empty = last.generation > 0 and not last.members
    return last._replace(members=(member,), protocol="range", leader="late") if empty else None


VIOLATIONS: tuple[Callable[[GroupMetadataValue], GroupMetadataValue | None], ...] = (
    earlier,
    of_others,
    left,
    joined,
)


def inserted(made: Made, violate: Callable[[GroupMetadataValue], Any]) -> list[tuple[int, Batch]]:
    """Positions for a record that violates the model, each after a record that it contradicts."""
    found = []
    for number, batch in enumerate(made.batches):
        for record in batch.records[-1:]:
            if isinstance(record, GroupMetadataRecord) and record.value is not None:
                value = violate(record.value)
                if value is not None:
                    changed = GroupMetadataRecord(GroupMetadataKey(record.key.group), value)
                    found.append((number + 1, Batch((changed,))))
    return found


@pytest.mark.parametrize("violate", VIOLATIONS)
def test_a_wrong_record_is_a_finding_and_no_other(
    violate: Callable[[GroupMetadataValue], Any], made: Made, tmp_path: Path
) -> None:
    places = inserted(made, violate)
    assert places or (made.profile == "0.10.0" and violate is joined)  # it stores no empty groups
    for place, batch in places[:: max(1, len(places) // 4)]:
        _assert_found(made, place, batch, tmp_path)


def test_a_removal_of_an_offset_that_was_never_committed_is_found(
    made: Made, tmp_path: Path
) -> None:
    record = OffsetCommitRecord(OffsetCommitKey("group-1", "never", 3), None)
    place = next(i for i, each in enumerate(made.batches) if _group_of(each) == "group-1") + 1
    _assert_found(made, place, Batch((record,)), tmp_path)


def test_a_removal_of_a_group_with_members_is_found(made: Made, tmp_path: Path) -> None:
    place, batch = inserted(made, lambda last: last if last.members else None)[0]
    removal = GroupMetadataRecord(GroupMetadataKey(_group_of(batch)), None)
    if made.profile == "0.10.0":  # the group is removed with its last member
        return
    _assert_found(made, place, Batch((removal,)), tmp_path)


def _group_of(batch: Batch) -> str:
    return batch.records[0].key.group if batch.records else ""


def _assert_found(made: Made, place: int, batch: Batch, folder: Path) -> None:
    batches = [*made.batches[:place], batch, *made.batches[place:]]
    offsets = write(folder / SEGMENT, made.profile, batches)
    (finding,) = check_source(folder).tables["finding"]
    assert finding["group_id"] == _group_of(batch)
    assert finding["line"] == offsets[place]
    assert finding["allowed"]
    assert finding["because"]


@pytest.mark.parametrize(
    "folder",
    slow_if(lambda name: name.split("-")[1] in LARGE, sorted(e.name for e in REAL.iterdir())),
)
def test_segments_of_real_brokers_are_accepted(folder: str) -> None:
    """A broker of each version was driven by consumers and producers (docs/pipeline.md)."""
    profile = folder.split("-")[1]
    partitions = [each for each in (REAL / folder).iterdir() if each.is_dir()]
    for each in partitions:
        checked = check_source(each)
        assert checked.quarantined == []
        for row in checked.tables["verdict"]:
            assert (row["verdict"], row["profile"]) == ("accepted", profile), row
    assert partitions


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", sorted(REAL.glob("*/*.txt")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_the_text_of_kafkas_formatters_is_accepted(text: Path) -> None:
    checked = check_source(text)
    assert checked.quarantined == []
    verdicts = checked.verdicts()
    assert {verdict for verdict, _ in verdicts.values()} == {"accepted"}
    assert {"other", "in-transactions"} <= verdicts.keys()


@pytest.mark.slow
def test_a_wrong_record_in_a_formatters_text_is_a_finding(tmp_path: Path) -> None:
    text = (REAL / "kafka-2.7" / "GroupMetadataMessageFormatter.txt").read_text()
    lines = [line for line in text.splitlines() if line.startswith("other::")]
    changed = tmp_path / "groups.txt"
    changed.write_text("\n".join([*lines, lines[0], "no record"]) + "\n")
    checked = check_source(changed)
    finding = checked.by_group("finding")["other"]
    assert finding["line"] == len(lines) + 1
    assert "an earlier generation" in finding["kind"]
    assert [row["line"] for row in checked.quarantined] == [len(lines) + 2]


def test_a_torn_tail_is_one_row_of_quarantine(tmp_path: Path) -> None:
    data = (REAL / "kafka-0.10.2" / "__consumer_offsets-1" / SEGMENT).read_bytes()
    for size in range(len(data) - 300, len(data)):
        (tmp_path / SEGMENT).write_bytes(data[:size])
        checked = check_source(tmp_path)
        assert len(checked.quarantined) <= 1
        assert {verdict for verdict, _ in checked.verdicts().values()} == {"accepted"}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_batch_is_quarantined_and_leaves_a_gap(data: st.DataObject) -> None:
    """Whichever byte is changed: the kept records are unchanged, and the others follow a gap."""
    import tempfile  # noqa: PLC0415 - Hypothesis wants no fixtures of a function

    whole = bytearray((REAL / "kafka-0.10.2" / "__consumer_offsets-1" / SEGMENT).read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / SEGMENT
        path.write_bytes(whole)
        assert "finding" not in check_source(path).tables


def test_counts_add_up(tmp_path: Path) -> None:
    from groupcheck.pipeline.readers import rows_of  # noqa: PLC0415 - for this test alone

    data = bytearray((REAL / "kafka-2.7" / "__consumer_offsets-1" / SEGMENT).read_bytes())
    data[200] ^= 1
    (tmp_path / SEGMENT).write_bytes(data[:-10])
    rows = list(rows_of(f"file://{tmp_path}"))
    counts = next(row for name, row in rows if name == "file")
    quarantined = sum(name == "quarantined" for name, _ in rows)
    records = sum(name == "event" and row.kind == "record" for name, row in rows)
    assert quarantined == 2
    assert counts["read"] == counts["kept"] + counts["quarantined"]
    assert (counts["kept"], counts["quarantined"]) == (records, 2)


def test_segments_of_other_topics_are_ignored(tmp_path: Path) -> None:
    for name in ("__consumer_offsets-0", "topic-0"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / SEGMENT).write_bytes(b"")
    assert files([str(tmp_path)]) == [f"file://{tmp_path}/__consumer_offsets-0"]


def test_segments_that_are_named_one_by_one_are_one_history(made: Made, tmp_path: Path) -> None:
    half = len(made.batches) // 2
    offsets = write(tmp_path / SEGMENT, made.profile, made.batches[:half])
    second = tmp_path / f"{offsets[-1]:020}.log"
    write(second, made.profile, made.batches[half:], offsets[-1])
    named = files([str(second), str(tmp_path / SEGMENT)])
    assert len(named) == 1
    together = check_source(Path(named[0].removeprefix("file://")))
    events = [
        {group: row["events"] for group, row in each.by_group("verdict").items()}
        for each in (together, check_source(tmp_path))
    ]
    assert events[0] == events[1]
    assert "finding" not in together.tables


def test_the_commands_find_a_wrong_record_in_a_folder_of_a_broker(
    spark: object,  # one session for all tests
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert spark
    data, batches = tmp_path / "data", partition("0.10.2", 12, 80)
    accepted, rejected = data / "__consumer_offsets-0", data / "__consumer_offsets-1"
    for folder in (accepted, rejected):
        folder.mkdir(parents=True)
    half = len(batches) // 2
    offsets = write(accepted / SEGMENT, "0.10.2", batches[:half])
    write(accepted / f"{offsets[-1]:020}.log", "0.10.2", batches[half:], offsets[-1])
    place, batch = inserted(Made("0.10.2", batches), earlier)[0]
    offsets = write(rejected / SEGMENT, "0.10.2", [*batches[:place], batch, *batches[place:]])
    events = str(tmp_path / "events")
    assert main(["ingest", str(data), "--out", events]) == 0
    result = capsys.readouterr().out
    assert " 3 files" in result
    assert " 0 quarantined" in result
    assert main(["check", events, "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["check"]["rejected"] == 1
    finding = printed["findings"][0]
    assert (finding["group_id"], finding["line"]) == (_group_of(batch), offsets[place])
