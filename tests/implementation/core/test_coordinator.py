"""Scenarios that the model does not have: choices, costs, and details of 2.7.

Scenarios of one group are in tests/model and run on the coordinator, too (support/scenario.py).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import pytest

from groupcheck.implementation import Config, Coordinator
from groupcheck.implementation.core.config import random_member_id
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.timers import NEVER, Timer, Timers
from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID, PROTOCOLS
from groupcheck.model.vocabulary import ErrorCode, GroupState, Protocol, Request
from support.coordinators import DELAY_MS, NEW_MEMBER_MS, BuiltinBroker, Chooser, stable
from support.requests import PARTITION, SESSION_MS, commit_of, heartbeat

# Details that the model, with its one group, does not have


def test_duplicate_protocol_counts_once() -> None:
    broker = BuiltinBroker()
    call = broker.join(protocols=PROTOCOLS * 2)
    broker.advance(DELAY_MS)
    assert call.answer.protocol_name == "range"


def test_heartbeat_of_a_new_parked_member_starts_its_session_timer() -> None:
    broker = BuiltinBroker(Config(group_initial_rebalance_delay_ms=NEW_MEMBER_MS))
    parked = broker.join()
    assert broker.heartbeat("m1", 0) == ErrorCode.REBALANCE_IN_PROGRESS
    broker.advance(SESSION_MS)
    assert parked.answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("version", "fields", "error"),
    [
        (5, {"protocol_type": "consumer"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (5, {"protocol_name": "range"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (5, {"protocol_name": "range", "protocol_type": "consumer"}, ErrorCode.NONE),
        (4, {}, ErrorCode.NONE),
        (5, {"group_id": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (4, {"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        (4, {"group_id": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        (4, {"member_id": "m9", "generation_id": 9}, ErrorCode.UNKNOWN_MEMBER_ID),
        (4, {"generation_id": 9, "protocol_name": "x"}, ErrorCode.ILLEGAL_GENERATION),
        (4, {"protocol_name": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (4, {"protocol_type": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_sync_group_checks_are_in_kafkas_order(
    version: int, fields: dict[str, Any], error: ErrorCode
) -> None:
    body = kafka.SyncGroupRequest(GROUP_ID, 1, "m1")._replace(**fields)
    assert stable(1).send(body, version).answer.error_code == error


def test_heartbeat_checks_are_in_kafkas_order() -> None:
    broker = stable(1)
    heartbeats = [
        ("", 1, "m1"),
        ("other", 1, "m1"),
        (GROUP_ID, 9, "m9"),
        (GROUP_ID, 9, "m1"),
        ("", 1, ""),
    ]
    assert [
        broker.send(kafka.HeartbeatRequest(g, n, m)).answer.error_code for g, n, m in heartbeats
    ] == [
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.INVALID_GROUP_ID,
    ]


def test_heartbeat_needs_a_group_id_even_if_the_group_with_an_empty_id_exists() -> None:
    broker = BuiltinBroker()
    broker.commit(group_id="")
    assert broker.view.group_id == ""
    error = broker.send(kafka.HeartbeatRequest("", 0, "m1")).answer.error_code
    assert error == ErrorCode.INVALID_GROUP_ID


# Choices


def test_any_remaining_member_may_become_leader() -> None:
    choose = Chooser()
    broker = stable(3, choose=choose)
    broker.leave("m1")
    assert choose.asked == [("m2", "m3")]
    assert broker.view.leader == "m3"


def test_first_remaining_member_becomes_leader_by_default() -> None:
    broker = stable(3)
    broker.leave("m1")
    assert broker.view.leader == "m2"


def test_only_joined_members_may_replace_a_leader_that_has_not_joined() -> None:
    choose = Chooser()
    broker = stable(4, choose=choose)
    broker.join("m2", protocols=(Protocol("range", b"x"),))
    broker.join("m3")
    for _ in range(BuiltinBroker.rebalance_ms // 5_000):
        broker.heartbeat("m1")
        broker.heartbeat("m4")
        broker.advance(5_000)
    assert [options for options in choose.asked if "m2" in options] == [("m2", "m3")]
    assert broker.view.leader == "m3"


def test_tied_vote_is_a_choice_among_the_winners() -> None:
    choose = Chooser()
    broker = BuiltinBroker(choose=choose)
    a, b, c = (Protocol(name, b"") for name in "abc")
    broker.join(protocols=(a, b, c))
    broker.join(protocols=(b, a, c))
    broker.advance(DELAY_MS * 2)
    assert choose.asked == [("a", "b")]
    assert broker.view.protocol_name == "b"


def test_timers_of_one_group_that_are_due_together_fire_in_any_order() -> None:
    choose = Chooser()
    broker = stable(3, choose=choose)
    broker.advance(SESSION_MS)
    timers = [options for options in choose.asked if isinstance(options[0], Member)]
    assert [[timer.member_id for timer in options] for options in timers] == [
        ["m1", "m2", "m3"],
        ["m1", "m2"],
    ]
    assert broker.view.state == GroupState.EMPTY


def test_timers_of_different_groups_are_no_choice() -> None:
    choose = Chooser()
    broker = BuiltinBroker(choose=choose)
    for group_id in (GROUP_ID, "h"):
        broker.send(kafka.JoinGroupRequest(group_id, SESSION_MS, 0, protocols=PROTOCOLS), 3)
    broker.advance(DELAY_MS)
    assert choose.asked == []
    assert len(broker.answers) == 2


# Entry points


def test_member_id_starts_with_the_client_id() -> None:
    one, two = random_member_id("me"), random_member_id("me")
    assert one.startswith("me-")
    assert one != two


def test_next_deadline_is_reported_to_the_embedder() -> None:
    broker = BuiltinBroker()
    assert broker.coordinator.next_deadline_ms is None
    broker.join()
    assert broker.coordinator.next_deadline_ms == DELAY_MS
    broker.advance(DELAY_MS)
    broker.leave("m1")
    assert (broker.coordinator.next_deadline_ms, broker.coordinator.now_ms) == (None, DELAY_MS)


def test_negative_time_is_rejected() -> None:
    with pytest.raises(ValueError, match="time does not go back"):
        Coordinator().advance(-1)


# Invariants


def random_request(pick: Random, broker: BuiltinBroker) -> None:
    """A random request, usually a valid one."""
    views = broker.coordinator.views()
    known = [m.member_id for view in views for m in view.members or ()]
    pending = [member_id for view in views for member_id in view.pending_members or ()]
    member_id = pick.choice([*known, *pending, "", "stranger"])
    generation_id = pick.choice([view.generation_id or 0 for view in views] + [-1])
    a, b, c = (Protocol(name, pick.choice([b"", b"x"])) for name in "abc")
    match pick.randrange(8):
        case 0 | 1 | 2:
            protocols = pick.choice([(a, b), (b, a), (b, c), (a,)])
            timeout_ms = pick.choice([0, 5_000, 20_000])
            required = pick.choice([False, True])
            fields: dict[str, Any] = {"protocols": protocols, "rebalance_ms": timeout_ms}
            broker.join(member_id, id_required=required, **fields)
        case 3:
            broker.sync(member_id, generation_id, {"m1": b"a"})
        case 4:
            broker.heartbeat(member_id, generation_id)
        case 5:
            broker.leave(member_id, pick.choice([*known, ""]))
        case 6:
            offsets = {PARTITION: pick.randrange(3)}
            broker.send(commit_of(offsets, member_id, generation_id))
        case _:
            broker.readable(stable=True)


def check(group: Group) -> None:
    """The counts agree with the members, and exactly the members and ids that can expire have
    timers.
    """
    members = group.members.values()
    parked = [m for m in members if m.join_request_id is not None]
    assert group.awaiting_join == len(parked)
    assert group.supporters == Counter(name for m in members for name, _ in m.protocols)
    assert group.rebalance_timeouts == Counter(m.rebalance_timeout_ms for m in members)
    assert not members or len(members) in group.supporters.values()
    assert (group.leader_id in group.members) if members else (group.leader_id is None)
    assert all(member.deadline_ms != NEVER for member in members if member.expires)
    assert all(timer.deadline_ms != NEVER for timer in group.pending_members.values())
    is_preparing = group.state is GroupState.PREPARING_REBALANCE
    timer = group.join_timer
    assert (timer is not None and timer.deadline_ms != NEVER) is is_preparing
    assert is_preparing or not parked
    assert bool(members) or group.state in {GroupState.EMPTY, GroupState.PREPARING_REBALANCE}


@pytest.mark.parametrize("seed", range(20))
def test_counts_and_timers_of_a_group_agree_with_its_members(seed: int) -> None:
    pick = Random(seed)
    broker = BuiltinBroker(
        Config(group_initial_rebalance_delay_ms=pick.choice([0, 3_000])), pick.choice
    )
    generation_id = 0
    for _ in range(400):
        match pick.randrange(12):
            case 0 | 1:
                broker.advance(pick.choice([0, 1, 1_000, 3_000, 10_000]))
            case 2:
                broker.log.hold()
            case 3:
                broker.release()
            case _:
                random_request(pick, broker)
        for group in broker.coordinator._shared.groups.by_id.values():
            check(group)
            assert group.generation_id >= generation_id
            generation_id = group.generation_id
    assert generation_id > 5


# Costs


def instructions(act: Callable[[], object]) -> int:
    """The number of executed bytecode instructions."""
    executed = 0

    def trace(frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal executed
        frame.f_trace_opcodes = True
        executed += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return executed


def cost_of_a_heartbeat(size: int) -> tuple[int, int]:
    """The cost in bytecode instructions and in heap entries."""
    broker = stable(size)
    broker.advance(1)
    request = Request(0, 4, heartbeat(f"m{size // 2}"))
    receive, timers = broker.coordinator.receive, broker.coordinator._timers
    entries = len(timers)
    executed = instructions(lambda: receive(request))
    return executed, len(timers) - entries


def test_heartbeat_costs_the_same_with_ten_members_and_ten_thousand() -> None:
    small, large = cost_of_a_heartbeat(10), cost_of_a_heartbeat(10_000)
    assert small == large
    assert 0 < small[0] < 250
    assert small[1] == 0


def test_session_costs_one_heap_operation_per_timeout_with_any_number_of_heartbeats() -> None:
    broker = stable(1)
    timers = broker.coordinator._timers
    before = timers._tickets
    for _ in range(1_000):
        broker.advance(100)
        broker.heartbeat("m1")
    assert timers._tickets - before <= 1_000 * 100 // SESSION_MS + 1


@pytest.mark.parametrize(("beats", "most"), [(2, 2.0), (3, 1.5), (20, 1.06)])
def test_heap_operations_are_one_per_timeout_less_the_heartbeat_interval(
    beats: int, most: float
) -> None:
    broker = stable(200)
    timers = broker.coordinator._timers
    before = timers._tickets
    timeouts = 5
    for _ in range(timeouts * beats):
        for member_id in broker.member_ids:
            broker.heartbeat(member_id)
        broker.advance(SESSION_MS // beats)
    assert 0 < timers._tickets - before <= 200 * timeouts * most
    assert len(timers) <= 2 * 200  # with those from when they were new


def test_timer_that_is_moved_earlier_fires_earlier_and_once() -> None:
    timers, timer = Timers(), Timer()
    for delay_ms in (50, 10, 70, 20):
        timers.set(timer, delay_ms)
    assert timers.next_deadline_ms == 20
    assert timers.pop(Chooser()) is timer
    assert timers.next_deadline_ms == NEVER
