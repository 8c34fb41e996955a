"""Kafka's nondeterminism: each choice has a name, and the model has it exactly there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupcheck import model
from groupcheck.model import vocabulary
from groupcheck.model.classic.nondeterminism import HANDLING, Choice, Handling
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Crash, Group, HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Protocol,
)
from groupcheck.properties.compare import normal
from support.requests import PARTITION, SESSION_MS
from support.scenario import Broker

PAGE = Path(__file__).parents[3] / "docs" / "nondeterminism.md"


def test_each_source_has_one_way_of_handling() -> None:
    assert set(HANDLING) == set(Choice)
    assert set(HANDLING.values()) == set(Handling)


def test_the_page_has_every_source_in_order() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "| `" in line]
    assert rows == [
        f"| {number} | `{source.name}` | {source} | {HANDLING[source]} |"
        for number, source in enumerate(Choice, 1)
    ]


def test_each_choice_of_the_model_names_a_source_and_each_of_these_is_chosen() -> None:
    chosen: set[str] = set()
    for module in Path(model.__file__).parent.rglob("*.py"):
        chosen.update(re.findall(r"\.choose\(\s*Choice\.(\w+)", module.read_text(encoding="utf-8")))
    assert chosen == {source.name for source in Choice if HANDLING[source] is Handling.CHOICE}


@pytest.mark.parametrize(
    ("early", "error"), [(True, ErrorCode.NONE), (False, ErrorCode.UNKNOWN_MEMBER_ID)]
)
def test_deadline_a_heartbeat_is_handled_before_the_session_timer_or_after_it(
    *, early: bool, error: ErrorCode
) -> None:
    broker = Broker()
    member = broker.stable_member()
    broker.wait(SESSION_MS - 1 if early else SESSION_MS)
    assert broker.heartbeat(member.member_id, member.generation_id) is error


def test_append_window_a_join_before_the_release_makes_the_assignments_outdated() -> None:
    broker = Broker()
    member = broker.first_member()
    broker.do(HoldAppends())
    sync = broker.sync(member.member_id, 1, {member.member_id: b"all"})
    broker.join()
    assert broker.state == "PreparingRebalance"
    assert sync.answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    broker.do(ReleaseAppends())
    assert broker.state == "PreparingRebalance"


@pytest.mark.parametrize(
    ("joins_ms", "ends_ms"), [((0,), 3_000), ((0, 2_000), 6_000), ((0, 2_000, 5_000), 9_000)]
)
def test_initial_delay_each_new_member_extends_it(joins_ms: tuple[int, ...], ends_ms: int) -> None:
    broker, now_ms = Broker(), 0
    for at_ms in joins_ms:
        broker.wait(at_ms - now_ms)
        broker.join()
        now_ms = at_ms
    broker.wait(ends_ms - 1 - now_ms)
    assert broker.state == "PreparingRebalance"
    broker.wait(1)
    assert broker.state == "CompletingRebalance"


@pytest.mark.parametrize("order", [("A", "B"), ("B", "A")])
def test_over_max_size_the_last_member_to_join_is_rejected(order: tuple[str, str]) -> None:
    broker = Broker(group_max_size=1)
    first, last = (broker.join(instance=instance) for instance in order)
    assert last.answer.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert not first.answered
    assert [m.group_instance_id for m in broker.group.members] == [order[0]]


def test_failover_the_number_of_a_generation_that_was_not_recorded_is_used_again() -> None:
    broker = Broker()
    member = broker.stable_member()
    broker.join()
    broker.join(member.member_id)
    assert (broker.generation_id, broker.state) == (2, "CompletingRebalance")
    broker.do(Crash())
    assert (broker.generation_id, broker.state) == (1, "Stable")


def test_unanswered_member_removed_with_a_parked_sync_never_gets_a_response() -> None:
    broker = Broker()
    leader, follower = broker.pair()
    sync = broker.sync(follower.member_id, 2)
    broker.leave(follower.member_id)
    broker.wait(10 * SESSION_MS)
    assert not sync.answered
    assert leader.member_id not in broker.member_ids


def test_words_no_response_has_a_throttle_time_a_message_or_a_reason() -> None:
    fields = {
        field
        for answer in vars(vocabulary).values()
        if getattr(answer, "__name__", "").endswith("Response")
        for field in getattr(answer, "_fields", ())
    }
    assert "error_code" in fields
    assert not fields & {"throttle_time_ms", "error_message", "reason"}


def test_snapshot_a_group_is_described_as_it_is_between_two_steps() -> None:
    broker = Broker()
    broker.join()
    assert broker.describe().group_state == "PreparingRebalance"
    broker.wait(3_000)
    assert broker.describe().group_state == "CompletingRebalance"


def test_extra_assignments_of_unknown_members_are_ignored_and_the_last_of_two_counts() -> None:
    broker = Broker()
    member = broker.first_member()
    given = {member.member_id: b"first", "nobody": b"lost"}
    synced = broker.sync(member.member_id, 1, given | {member.member_id: b"last"})
    assert synced.answer.assignment == b"last"
    assert [m.assignment for m in broker.group.members] == [b"last"]


@pytest.mark.parametrize(("first", "stands"), [("commit", 42), ("transaction", 7)])
def test_marker_order_what_is_last_in_the_log_stands(first: str, stands: int) -> None:
    broker = Broker()

    def commit() -> None:
        assert broker.commit(offsets={PARTITION: 7}) is ErrorCode.NONE

    if first == "commit":
        commit()
    assert broker.txn_commit(42) is ErrorCode.NONE
    if first == "transaction":
        commit()
    broker.end_txn(committed=True)
    assert broker.fetch(PARTITION)[PARTITION].committed_offset == stands


def test_member_ids_and_list_order_make_no_difference_between_answers() -> None:
    broker = Broker()
    one, two = (broker.join() for _ in range(2))
    broker.wait(6_000)
    leader = next(each.answer for each in (one, two) if each.answer.members)
    ids = [m.member_id for m in leader.members]
    others = {ids[0]: "other-1", ids[1]: "other-2"}
    renamed = leader._replace(
        member_id=others[leader.member_id],
        leader=others[leader.leader],
        members=tuple(m._replace(member_id=others[m.member_id]) for m in reversed(leader.members)),
    )
    symbols = {ids[0]: "#1", ids[1]: "#2"}
    theirs = {other: symbols[own] for own, other in others.items()}
    assert normal(renamed, theirs, 3) == normal(leader, symbols, 3)
    changed = renamed._replace(leader=others[next(m for m in ids if m != leader.leader)])
    assert normal(changed, theirs, 3) != normal(leader, symbols, 3)


def test_list_order_partitions_may_come_in_any_order() -> None:
    partitions = tuple(OffsetFetchResponsePartition(index, index) for index in range(3))
    there, back = (
        OffsetFetchResponse(ErrorCode.NONE, (OffsetFetchResponseTopic("topic", each),))
        for each in (partitions, partitions[::-1])
    )
    assert normal(there, {}, 7) == normal(back, {}, 7)


def test_vote_tie_either_protocol_may_win_and_no_third() -> None:
    broker = Broker()
    broker.join(protocols=(Protocol("one", b""), Protocol("two", b""), Protocol("three", b"")))
    broker.join(protocols=(Protocol("two", b""), Protocol("one", b""), Protocol("three", b"")))
    broker.wait(6_000)
    chosen = {
        branch.coordinator.group.protocol_name
        for branch in broker.branches
        if branch.coordinator.group
    }
    assert chosen == {"one", "two"}


def test_compaction_a_group_without_offsets_is_loaded_or_gone() -> None:
    broker = Broker(PROFILES["4.1"])
    assert broker.txn_commit(42) is ErrorCode.NONE
    broker.end_txn(committed=False)
    broker.do(Crash())
    assert {branch.coordinator.group for branch in broker.branches} == {None, Group()}
