"""What differs between 2.7 and 4.1 in transactions and administration, each shown by a scenario."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.environment import GROUP_ID, NOBODY, commit
from groupcheck.model.instances.environment import txn_commit as request_of
from groupcheck.model.instances.instance import spaces
from groupcheck.model.profiles import PROFILES
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
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
    delete_group,
    delete_offsets,
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


def test_a_generation_without_a_member_is_enough_for_the_older_alone(
    both: tuple[Play, Play],
) -> None:
    for play, expected in zip(both, (NONE, UNKNOWN), strict=True):
        play.stable_member()
        assert txn_commit(play, generation_id=1) is expected


def test_an_instance_alone_is_not_looked_at_by_the_older_and_is_no_member_to_the_newer(
    both: tuple[Play, Play],
) -> None:
    for play, expected in zip(both, (NONE, UNKNOWN), strict=True):
        play.stable_member()
        assert txn_commit(play, instance="nobody's") is expected


def test_unknown_member_id_is_checked_before_the_generation_in_both(
    both: tuple[Play, Play],
) -> None:
    for play in both:
        play.stable_member()
        assert txn_commit(play, member_id=NOBODY, generation_id=9) is UNKNOWN


def test_without_a_generation_a_group_without_members_takes_it_from_anybody_in_the_newer(
    both: tuple[Play, Play],
) -> None:
    for play, expected in zip(both, (UNKNOWN, NONE), strict=True):
        assert txn_commit(play, member_id=NOBODY) is expected  # there is no group yet
        assert play.state == "Empty"
        assert txn_commit(play, member_id=NOBODY, instance="nobody's") is expected
        play.stable_member()
        assert txn_commit(play, member_id=NOBODY) is UNKNOWN


def test_a_generation_of_a_group_that_is_not_there_brings_it_into_being_in_the_older_alone(
    both: tuple[Play, Play],
) -> None:
    for play, is_there, first in zip(both, (True, False), (NONE, ILLEGAL), strict=True):
        assert txn_commit(play, generation_id=3) is ILLEGAL
        assert play.exists is is_there
        # The generation that a group begins with.
        assert txn_commit(play, generation_id=0) is first


def test_who_names_nothing_commits_in_every_state_of_both(both: tuple[Play, Play]) -> None:
    for play in both:
        member = play.first_member()
        assert play.state == "CompletingRebalance"
        assert txn_commit(play) is NONE
        play.sync(member.member_id, 1, {})
        assert play.state == "Stable"
        assert txn_commit(play) is NONE
        play.join()
        assert play.state == "PreparingRebalance"
        assert txn_commit(play) is NONE


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


def test_a_partition_is_unstable_until_each_of_its_open_transactions_has_ended(
    both: tuple[Play, Play],
) -> None:
    for play in both:
        play.commit(offsets={PARTITION: 1, OTHER: 2})
        txn_commit(play, 7, producer=1)
        txn_commit(play, 8, producer=2)
        end_txn(play, committed=False, producer=1)
        assert readable(play, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert readable(play, OTHER, stable=True) == 2
        end_txn(play, committed=True, producer=2)
        assert readable(play, stable=True) == 8


def test_the_newest_commit_in_the_log_stands_in_the_newer_too(new: Play) -> None:
    txn_commit(new, 7)
    new.commit(offsets={PARTITION: 9})
    end_txn(new, committed=True)
    assert readable(new) == 9


def test_a_group_that_came_with_a_refused_transaction_may_not_be_listed_by_the_newer(
    both: tuple[Play, Play],
) -> None:
    for play, states in zip(both, ({"Empty"}, {"none", "Empty"}), strict=True):
        sent(play, {OTHER: TOO_LONG})
        assert seen(play) == states
        # Who has seen it sees it again.
        play.suppose(lambda group: not group.unwritten)
        assert seen(play) == {"Empty"}


def test_a_marker_shows_the_group_to_whose_partition_it_is_written(new: Play) -> None:
    sent(new, {OTHER: TOO_LONG})
    end_txn(new, committed=False)
    assert seen(new) == {"Empty"}


def test_a_state_that_is_not_asked_for_is_not_listed_whether_the_group_shows_or_not(
    new: Play,
) -> None:
    sent(new, {OTHER: TOO_LONG})
    assert listed(new, "Stable") == ()
    assert new.group.unwritten


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


def test_types_are_from_version_5_of_list_groups_on(both: tuple[Play, Play]) -> None:
    old, new = both
    assert old.profile.max_versions["ListGroups"] == 4
    for play, version in (old, 5), (new, 4):
        play.commit()
        assert of_types(play, "consumer", version=version) == (ListedGroup(GROUP_ID, "", "Empty"),)


def test_the_last_offset_that_is_deleted_takes_an_empty_group_with_it_in_the_older_alone(
    both: tuple[Play, Play],
) -> None:
    for play, stays in zip(both, (False, True), strict=True):
        play.commit()
        assert errors(delete_offsets(play, PARTITION)) == {PARTITION: NONE}
        assert play.exists is stays
    assert errors(delete_offsets(new := both[1], PARTITION)) == {PARTITION: NONE}
    assert new.group.state is GroupState.EMPTY


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


def test_offsets_of_an_open_transaction_are_deleted_and_its_marker_brings_none_back(
    both: tuple[Play, Play],
) -> None:
    for play in both:
        play.commit(offsets={OTHER: 1})
        txn_commit(play, 7)
        assert errors(delete_offsets(play, PARTITION)) == {PARTITION: NONE}
        assert readable(play, stable=True) == -1
        end_txn(play, committed=True)
        assert readable(play) == -1


def test_a_group_is_deleted_with_its_open_transactions_by_both(both: tuple[Play, Play]) -> None:
    for play in both:
        txn_commit(play, 7)
        assert delete_group(play) is NONE
        assert not play.exists
        play.commit(offsets={PARTITION: 1})
        assert readable(play, stable=True) == 1
        end_txn(play, committed=True)
        assert readable(play) == 1


def test_a_group_with_members_is_not_deleted_and_one_that_is_not_there_is_not_found(
    new: Play,
) -> None:
    assert delete_group(new) is ErrorCode.GROUP_ID_NOT_FOUND
    new.first_member()
    assert delete_group(new) is ErrorCode.NON_EMPTY_GROUP


def test_a_group_that_does_not_show_can_be_deleted(new: Play) -> None:
    sent(new, {OTHER: TOO_LONG})
    assert delete_group(new) is NONE
    assert not new.exists


def test_the_newer_has_spaces_of_transactions_and_administration() -> None:
    assert {"transactions", "administration"} <= spaces(PROFILES["4.1"], 2).keys()
