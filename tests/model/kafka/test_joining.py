"""JoinGroup: who is let in, who is refused, and what starts a rebalance."""

from __future__ import annotations

import pytest

from groupcheck.model.vocabulary import ErrorCode, Protocol
from support.kafka_tests import holds
from support.play import COOPERATIVE, DELAY_MS, SEVERAL, Play

OTHER = (Protocol("sticky", b"topics"),)
LIMITS = {"group_min_session_timeout_ms": 7_000, "group_max_session_timeout_ms": 90_000}


@holds("testJoinGroupSessionTimeoutTooSmall", "testJoinGroupSessionTimeoutTooLarge")
def test_a_session_timeout_has_to_be_within_the_limits_of_the_broker() -> None:
    play = Play(**LIMITS)
    for refused_ms in (6_999, 90_001):
        refused = play.join(session_ms=refused_ms).answer
        assert refused.error_code is ErrorCode.INVALID_SESSION_TIMEOUT
    assert not play.exists
    for allowed_ms in (7_000, 90_000):
        assert not play.join(session_ms=allowed_ms).answered


@holds("testInvalidGroupId")
def test_a_group_has_to_have_a_name_to_be_joined() -> None:
    assert Play().join(group_id="").answer.error_code is ErrorCode.INVALID_GROUP_ID


@holds("testValidJoinGroup")
def test_the_first_member_of_a_group_is_admitted_to_generation_1_and_leads() -> None:
    play = Play()
    call = play.join()
    play.wait(DELAY_MS)
    member = call.answer
    assert member.error_code is ErrorCode.NONE
    assert member.generation_id == 1
    assert member.leader == member.member_id
    assert [listed.member_id for listed in member.members] == [member.member_id]


@holds("testJoinGroupInconsistentProtocolType")
def test_a_group_of_consumers_is_not_joined_by_other_programs() -> None:
    play = Play()
    member = play.first_member(protocol_type="consumer")
    refused = play.join(protocol_type="connect").answer
    assert refused.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert play.member_ids == {member.member_id}


@holds("testJoinGroupWithEmptyGroupProtocol")
def test_the_first_member_has_to_offer_a_protocol() -> None:
    refused = Play().join(protocols=()).answer
    assert refused.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@holds("testJoinGroupInconsistentGroupProtocol")
def test_join_without_a_common_protocol_fails_and_begins_no_rebalance() -> None:
    play = Play()
    first = play.join(protocols=COOPERATIVE)
    second = play.join(protocols=OTHER)
    play.wait(DELAY_MS)
    assert second.answer.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert first.answer.error_code is ErrorCode.NONE
    assert len(first.answer.members) == 1


@holds("testJoinGroupUnknownConsumerExistingGroup")
def test_join_with_an_unknown_member_id_fails() -> None:
    play = Play()
    play.first_member()
    assert play.join("made-up").answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID


@holds("testJoinGroupSecondJoinInconsistentProtocol")
def test_an_id_stays_good_after_its_join_was_refused_for_the_protocols() -> None:
    play = Play()
    given = play.join(id_required=True).answer
    assert given.error_code is ErrorCode.MEMBER_ID_REQUIRED
    refused = play.join(given.member_id, protocols=(), id_required=True).answer
    assert refused.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    accepted = play.join(given.member_id, id_required=True)
    play.wait(DELAY_MS)
    assert accepted.answer.error_code is ErrorCode.NONE
    assert accepted.answer.member_id == given.member_id


@holds("testJoinGroupProtocolTypeIsNotProvidedWhenAnErrorOccurs")
def test_rejected_join_does_not_return_the_protocol_type() -> None:
    for play in (Play(), Play()):
        refused = play.join("made-up", protocols=SEVERAL).answer
        assert refused.error_code is ErrorCode.UNKNOWN_MEMBER_ID
        assert refused.protocol_type is None
        play.first_member()


@holds("testJoinGroupReturnsTheProtocolType")
def test_leader_and_follower_get_the_protocol_type() -> None:
    play = Play()
    calls = [play.join(protocols=SEVERAL, protocol_type="connect") for _ in range(2)]
    play.wait(2 * DELAY_MS)
    for call in calls:
        assert call.answer.error_code is ErrorCode.NONE
        assert call.answer.protocol_type == "connect"


@holds("testJoinGroupFromUnchangedFollowerDoesNotRebalance")
@pytest.mark.parametrize("stable", [False, True], ids=["completing", "stable"])
def test_a_follower_that_joins_again_unchanged_gets_the_generation_that_stands(
    stable: bool,  # noqa: FBT001 - a parameter of pytest's
) -> None:
    play = Play()
    leader, follower = play.pair()
    assert leader.generation_id == follower.generation_id == 2
    assert follower.leader == leader.leader == leader.member_id
    if stable:
        play.sync(leader.member_id, 2)
    before = play.state
    again = play.join(follower.member_id).answer
    assert again.error_code is ErrorCode.NONE
    assert again.generation_id == 2
    assert play.state is before


@holds("testJoinGroupFromUnchangedLeaderShouldRebalance", "testGenerationIdIncrementsOnRebalance")
def test_a_leader_that_joins_a_stable_group_again_starts_a_generation() -> None:
    play = Play()
    leader = play.stable_member()
    assert leader.generation_id == 1
    again = play.join(leader.member_id).answer
    assert again.error_code is ErrorCode.NONE
    assert again.generation_id == 2
    assert play.state == "CompletingRebalance"


@holds("testJoinGroupUnknownConsumerNewGroup")
@pytest.mark.parametrize("instance", [None, "A"])
def test_join_with_an_unknown_member_id_creates_no_group(instance: str | None) -> None:
    play = Play()
    refused = play.join("made-up", instance=instance).answer
    assert refused.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert not play.exists


@holds("testJoinGroupWithEmptyProtocolType")
@pytest.mark.parametrize("instance", [None, "A"])
def test_the_first_member_has_to_say_its_protocol_type(instance: str | None) -> None:
    refused = Play().join(protocol_type="", instance=instance).answer
    assert refused.error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
