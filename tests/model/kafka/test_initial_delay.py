"""The initial rebalance delay: from Empty, the group waits for more members to come."""

from __future__ import annotations

from groupcheck.model.vocabulary import ErrorCode
from support.kafka_tests import holds
from support.play import DELAY_MS, Play


@holds("shouldDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup")
def test_the_first_member_waits_for_the_initial_delay_to_end() -> None:
    play = Play()
    call = play.join()
    play.wait(DELAY_MS - 1)
    assert not call.answered
    play.wait(1)
    assert call.answer.error_code is ErrorCode.NONE


@holds("shouldResetRebalanceDelayWhenNewMemberJoinsGroupInInitialRebalance")
def test_a_member_that_comes_during_the_delay_prolongs_it_by_another_one() -> None:
    play = Play()
    calls = [play.join(rebalance_ms=3 * DELAY_MS)]
    play.wait(DELAY_MS - 1)
    calls.append(play.join(rebalance_ms=3 * DELAY_MS))
    play.wait(DELAY_MS)  # from the end of the first delay one more is waited
    assert not any(call.answered for call in calls)
    play.wait(1)
    assert [call.answer.error_code for call in calls] == [ErrorCode.NONE] * 2


@holds("shouldDelayRebalanceUptoRebalanceTimeout")
def test_members_that_keep_coming_prolong_the_delay_no_further_than_the_rebalance_timeout() -> None:
    play = Play()
    rebalance_ms = 2 * DELAY_MS
    calls = [play.join(rebalance_ms=rebalance_ms) for _ in range(2)]
    play.wait(DELAY_MS)
    calls.append(play.join(rebalance_ms=rebalance_ms))
    play.wait(DELAY_MS - 1)
    assert not any(call.answered for call in calls)
    play.wait(1)
    assert [call.answer.error_code for call in calls] == [ErrorCode.NONE] * 3
