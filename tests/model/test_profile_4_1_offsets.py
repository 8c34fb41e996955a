"""What differs between 2.7 and 4.1 in transactions and administration, each shown by a scenario."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.inputs import GROUP_ID, commit
from groupcheck.model.instances.inputs import txn_commit as request_of
from groupcheck.model.profiles import PROFILES
from groupcheck.model.vocabulary import (
    ErrorCode,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from support.differences import differ
from support.offsets import (
    end_txn,
    errors,
    listed,
    readable,
    sent,
    txn_commit,
)
from support.play import PARTITION, Call, Play, World

OTHER = ("payments", 3)
TOO_LONG = TxnOffsetCommitRequestPartition(OTHER[1], 1, committed_metadata="x" * 5_000)
SHORT = TxnOffsetCommitRequestPartition(PARTITION[1], 7)
NONE, ILLEGAL, UNKNOWN = (
    ErrorCode.NONE,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
)


@pytest.fixture
def old() -> Play:
    return Play(PROFILES["2.7"])


@pytest.fixture
def new() -> Play:
    return Play(PROFILES["4.1"])


@pytest.fixture
def both(old: Play, new: Play) -> tuple[Play, Play]:
    return old, new


def seen(play: Play) -> set[str]:
    """Under which states the group may be described."""
    asked: Call[ListGroupsResponse] = play.send(5, ListGroupsRequest())

    def shown(world: World) -> str:
        answer = world.answers[asked.request_id]
        assert isinstance(answer, ListGroupsResponse)
        return answer.groups[0].group_state if answer.groups else "none"

    return {shown(world) for world in play.worlds}


def of_types(play: Play, *types: str, version: int = 5) -> tuple[ListedGroup, ...]:
    """ListGroups of the groups of these types."""
    call: Call[ListGroupsResponse] = play.send(version, ListGroupsRequest(types_filter=types))
    return call.answer.groups


@differ("transactional commit of a known member without generation")
def test_a_member_that_names_no_generation_commits_in_a_transaction_of_the_older_alone(
    both: tuple[Play, Play],
) -> None:
    for play, expected in zip(both, (NONE, ILLEGAL), strict=True):
        member = play.stable_member()
        assert txn_commit(play, member_id=member.member_id) is expected
        assert txn_commit(play, member_id=member.member_id, generation_id=1) is NONE


def test_a_refused_partition_is_not_pending_in_the_newer_and_its_marker_comes_to_its_end(
    both: tuple[Play, Play],
) -> None:
    for play, other, found in zip(
        both, (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1), ({-1, 7}, {7}), strict=True
    ):
        answer = sent(play, {PARTITION: SHORT, OTHER: TOO_LONG}).answer
        assert errors(answer) == {PARTITION: NONE, OTHER: ErrorCode.OFFSET_METADATA_TOO_LARGE}
        assert readable(play, OTHER, stable=True) == other
        end_txn(play, committed=True)
        offsets = [dict(w.coordinator.group.offsets) for w in play.worlds if w.coordinator.group]
        assert {o[PARTITION].committed_offset if o else -1 for o in offsets} == found


def test_a_partition_named_twice_is_committed_as_often_in_a_transaction_of_the_newer_alone(
    both: tuple[Play, Play],
) -> None:
    too_long = TOO_LONG._replace(partition_index=PARTITION[1])
    twice = (TxnOffsetCommitRequestTopic(PARTITION[0], (SHORT, too_long)),)
    large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    for play, expected, found in zip(both, ([large], [NONE, large]), (-1, 7), strict=True):
        request = request_of(-1, "")._replace(group_id=GROUP_ID, topics=twice)
        call: Call[TxnOffsetCommitResponse] = play.send(3, request)
        assert [p.error_code for t in call.answer.topics for p in t.partitions] == expected
        end_txn(play, committed=True)
        assert readable(play) == found


@differ("list")
@pytest.mark.parametrize(
    ("state", "found"),
    [("Empty", (1, 1)), ("empty", (0, 1)), (" EMPTY\t", (0, 1)), ("Em pty", (0, 0))],
)
def test_states_are_asked_for_letter_by_letter_in_the_older_alone(
    both: tuple[Play, Play], state: str, found: tuple[int, int]
) -> None:
    for play, number in zip(both, found, strict=True):
        play.commit()
        assert len(listed(play, state)) == number


@pytest.mark.parametrize(
    ("types", "found"),
    [((), 1), (("classic",), 1), (("consumer", "CLASSIC"), 1), (("consumer",), 0), (("?",), 0)],
)
def test_the_newer_lists_groups_by_type(new: Play, types: tuple[str, ...], found: int) -> None:
    new.commit()
    assert of_types(new, *types) == (ListedGroup(GROUP_ID, "", "Empty", "classic"),) * found


def test_a_deletion_is_answered_topic_by_topic_as_it_was_asked_by_the_newer_alone(
    both: tuple[Play, Play],
) -> None:
    asked = (("topic", (1, 0, 1)), ("none", ()), ("topic", (0,)))
    topics = tuple(
        OffsetDeleteRequestTopic(name, tuple(map(OffsetDeleteRequestPartition, indexes)))
        for name, indexes in asked
    )
    once, as_asked = [("topic", [0, 1])], [("topic", [1, 0, 1]), ("topic", [0])]
    for play, expected in zip(both, (once, as_asked), strict=True):
        play.send(8, commit(-1, ""))
        call: Call[OffsetDeleteResponse] = play.send(0, OffsetDeleteRequest(GROUP_ID, topics))
        returned = [(t.name, [p.partition_index for p in t.partitions]) for t in call.answer.topics]
        assert returned == expected
