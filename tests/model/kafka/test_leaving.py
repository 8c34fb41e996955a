"""LeaveGroup, of one member and of a batch."""

from __future__ import annotations

from groupcheck.model.vocabulary import ErrorCode, MemberIdentity
from support.kafka_tests import holds
from support.play import Play


@holds("testLeaveGroupUnknownGroup", "testStaticMembersUnknownGroupBatchLeaveGroup")
def test_a_group_that_is_not_there_knows_no_member_to_leave() -> None:
    play = Play()
    assert play.leave("somebody") == [ErrorCode.UNKNOWN_MEMBER_ID]
    left = play.leave(MemberIdentity("", "A"), MemberIdentity("", "B"))
    assert left == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    assert not play.exists


@holds("testLeaveGroupUnknownConsumerExistingGroup")
def test_unknown_member_id_cannot_leave() -> None:
    play = Play()
    member = play.first_member()
    assert play.leave("made-up") == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert play.member_ids == {member.member_id}


@holds("testValidLeaveGroup")
def test_the_last_member_leaves_an_empty_group_behind() -> None:
    play = Play()
    member = play.first_member()
    assert play.leave(member.member_id) == [ErrorCode.NONE]
    assert play.state == "Empty"
    assert play.member_ids == set()
