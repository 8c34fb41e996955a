"""The laws of safety: every version keeps them, and each is broken by a fault made for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from groupcheck.model.apis import leave_group
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.instances import clients
from groupcheck.model.instances.instance import spaces
from groupcheck.model.profiles import PROFILES
from groupcheck.model.rules import rebalance, session, timers
from groupcheck.model.state import Member, Offset, OffsetsAppend
from groupcheck.model.step import Profile, Step
from groupcheck.model.storing import log
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    HeartbeatResponse,
    JoinGroupResponse,
    Protocol,
    Request,
    SyncGroupResponse,
)
from groupcheck.properties.laws import liveness, safety
from groupcheck.properties.laws.law import KNOWN, Broken
from support.spaces import every_space, whole

OLD, NEW = PROFILES["0.10.2"], PROFILES["2.7"]
LAWS_PAGE = Path(__file__).parents[3] / "docs" / "laws.md"

Then = Callable[[Step, Request], None]


def explored(profile: Profile, name: str, members: int) -> StateSpace:
    return explore(spaces(profile, members)[name])


def by_law(space: StateSpace) -> dict[str, Broken]:
    return {found.law.name: found for found in safety.broken(space)}


def faulty(profile: Profile, table: str, name: str, then: Then) -> Profile:
    """The profile with the consequence of one rule replaced."""
    rules = tuple(
        rule._replace(then=then) if rule.name == name else rule for rule in getattr(profile, table)
    )
    changes: dict[str, Any] = {table: rules}
    return profile._replace(**changes)


# Known breaks of safety, and in how many steps they can be shown: of a version, and of a space.
BREAKS = {
    "0.10.0": {"answered-once": 1},
    "0.10.2": {"answered-once": 1},
    "2.7": {},
    "4.1": {"assigned-only-in-stable": 4},
}
EXPIRED_OF_OLD = {"subscribed-offsets-are-kept": 5, "rebalances-keep-offsets": 5}
MORE = {
    "0.10.0 expiry": EXPIRED_OF_OLD,
    "0.10.0 expiry-failing": EXPIRED_OF_OLD,
    "0.10.2 expiry": EXPIRED_OF_OLD,
    "0.10.2 expiry-failing": EXPIRED_OF_OLD,
    "2.7 crowded": {"one-per-instance": 6},
    "2.7 expiry": {"rebalances-keep-offsets": 4, "offsets-are-retained": 7},
    "2.7 expiry-transactions": {"rebalances-keep-offsets": 4, "offsets-are-retained": 5},
    "2.7 expiry-failing": {"rebalances-keep-offsets": 4, "offsets-are-retained": 5},
    "4.1 static": {"fenced": 3},
    "4.1 failing": {"only-empty-groups-go": 3, "removed-in-time": 5, "unanswered": 5},
    "4.1 failing-static": {"fenced": 3},
    "4.1 failing-transactions": {"only-empty-groups-go": 3, "removed-in-time": 4, "unanswered": 4},
    "4.1 failing-administration": {
        "only-empty-groups-go": 3,
        "removed-in-time": 5,
        "unanswered": 5,
        "deleted-as-answered": 3,
    },
    "4.1 expiry": {"offsets-are-retained": 7},
    "4.1 expiry-transactions": {"offsets-are-retained": 5},
    "4.1 expiry-failing": {"offsets-are-retained": 5},
}


@pytest.mark.parametrize(
    ("profile", "name"),
    [(profile, name) for profile in PROFILES for name in spaces(PROFILES[profile], 2)],
)
@pytest.mark.untraced
def test_no_law_is_broken_but_as_the_version_is_known_for(profile: str, name: str) -> None:
    space = every_space(profile)[name]
    found = safety.broken(space)
    expected = BREAKS[profile] | MORE.get(f"{profile} {name}", {})
    assert {each.law.name: len(each.hops) for each in found} == expected
    assert [each.law.name for each in (*found, *liveness.broken(space)) if not each.known] == []


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.untraced
def test_with_more_or_fewer_members_no_other_law_of_safety_is_broken(
    profile: str, members: int
) -> None:
    found = by_law(whole(spaces(PROFILES[profile], members)["membership"]))
    assert {law: len(each.hops) for law, each in found.items() if each.known} == BREAKS[profile]
    assert all(each.known for each in found.values())


def _member(step: Step, request: Request) -> Member:
    return cast("Member", step.existing.member(cast("Any", request.body).member_id))


def _of_group(**changes: Any) -> Then:
    """Answer the heartbeat, and change the group."""

    def then(step: Step, request: Request) -> None:
        step.answer(request.request_id, HeartbeatResponse(ErrorCode.NONE))
        step.group = step.existing._replace(**changes)

    return then


def _raise_generation(step: Step, request: Request) -> None:
    _of_group(generation_id=step.existing.generation_id + 1)(step, request)


def _of_members(**changes: Any) -> Then:
    """Answer the heartbeat, and change every member."""

    def then(step: Step, request: Request) -> None:
        members = tuple(m._replace(**changes) for m in step.existing.members)
        _of_group(members=members)(step, request)

    return then


def _halve_the_session(step: Step, request: Request) -> None:
    _of_group()(step, request)
    member = session.rearm_session(step, _member(step, request))
    halved = member._replace(session_left_ms=member.session_timeout_ms // 2)
    step.group = step.existing.with_member(halved)


def _remove(step: Step, request: Request) -> None:
    step.answer(request.request_id, HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION))
    rebalance.remove_member(step, _member(step, request))


def _answer_twice(step: Step, request: Request) -> None:
    _of_group()(step, request)
    _of_group()(step, request)


def _refuse_and_forget(step: Step, request: Request) -> None:
    """Refuse a SyncGroup, and with it the one of the same member that is parked."""
    step.answer(request.request_id, SyncGroupResponse(ErrorCode.ILLEGAL_GENERATION))
    step.group = step.existing.with_member(_member(step, request)._replace(awaiting_sync=None))


def _answer_never(_step: Step, _request: Request) -> None:
    pass


def _admit_as(**changes: Any) -> Then:
    """Admit a member to the generation with an answer that is changed."""

    def then(step: Step, request: Request) -> None:
        answer = rebalance.current_generation(
            step, _member(step, request), GroupState.COMPLETING_REBALANCE
        )
        step.answer(request.request_id, answer._replace(**changes))

    return then


def _list_to_all(step: Step, request: Request) -> None:
    group = step.existing
    leader = cast("Member", group.member(cast("str", group.leader)))
    listed = rebalance.current_generation(step, leader, GroupState.COMPLETING_REBALANCE).members
    _admit_as(members=listed)(step, request)


def _park_with_timer(step: Step, request: Request) -> None:
    parked = _member(step, request)._replace(awaiting_sync=request.request_id)
    step.group = step.existing.with_member(parked)


def _forget_assignments(step: Step, request: Request) -> None:
    _park_with_timer(step, request)
    log.store_assignments(step, {}, request.request_id)


def _assign_something_else(step: Step, request: Request) -> None:
    step.answer(request.request_id, SyncGroupResponse(ErrorCode.NONE, assignment=b"else"))


def _stabilise_twice(step: Step, request: Request) -> None:
    _of_group()(step, request)
    if step.existing.state is GroupState.STABLE:
        step.fire(log.STABILISE)


def _end_join_phase(step: Step, request: Request) -> None:
    rebalance.park_join(step, request, _member(step, request))
    rebalance.complete_join(step)


def _commit_answer(step: Step, request: Request, error: ErrorCode) -> None:
    step.answer(request.request_id, log.commit_response([((clients.TOPIC, 0), error)]))


def _accept_commit(step: Step, request: Request) -> None:
    _commit_answer(step, request, ErrorCode.NONE)


def _accept_simple_commit(step: Step, request: Request) -> None:
    simple = cast("Any", request.body).generation_id < 0
    _commit_answer(step, request, ErrorCode.NONE if simple else ErrorCode.UNKNOWN_MEMBER_ID)


def _store_refused_commit(step: Step, request: Request) -> None:
    _commit_answer(step, request, ErrorCode.ILLEGAL_GENERATION)
    offsets = (((clients.TOPIC, 0), Offset(5, -1, "")),)
    step.group = step.existing._replace(offsets=offsets)


def _append_old_commit(step: Step, request: Request) -> None:
    if step.holding:
        log.append(step, OffsetsAppend(request.request_id, (), ()))
    else:
        _commit_answer(step, request, ErrorCode.ILLEGAL_GENERATION)


class Fault(NamedTuple):
    """A rule with another consequence, and in how many steps that breaks the law."""

    law: str
    table: str
    rule: str
    then: Then
    steps: int
    space: str = "membership"
    members: int = 1


def _heartbeat(
    law: str,
    then: Then,
    rule: str = "heartbeat/alive",
    steps: int = 3,
    space: str = "membership",
) -> Fault:
    return Fault(law, "heartbeat", rule, then, steps, space)


def _sync(law: str, rule: str, then: Then, steps: int, *where: Any) -> Fault:
    return Fault(law, "sync_group", rule, then, steps, *where)


def _join(law: str, then: Then, steps: int, *where: Any) -> Fault:
    return Fault(law, "join_known", "join/repeated-completing", then, steps, *where)


def _commit(rule: str, then: Then, steps: int) -> Fault:
    return Fault("commits-are-current", "offset_commit", rule, then, steps, "storing")


def _accept_sync(step: Step, request: Request) -> None:
    step.answer(request.request_id, SyncGroupResponse(ErrorCode.NONE))


def _never_mind(_step: Step, _request: Request) -> None:
    pass


def _add_another(step: Step, request: Request) -> None:
    if len(step.existing.members) < 2:  # as many as the space has room for
        rebalance.add_member(step, request, f"#{request.request_id}")
    else:
        step.answer(request.request_id, JoinGroupResponse(ErrorCode.GROUP_MAX_SIZE_REACHED))


def _come(law: str, rule: str, steps: int, *where: Any) -> Fault:
    return Fault(law, "join_unknown", rule, _add_another, steps, *where)


LEADER, FOLLOWER = "sync/leader-completing", "sync/follower-completing"
FAULTS = (
    _heartbeat("lawful-transitions", _of_group(state=GroupState.STABLE)),
    _heartbeat("lawful-transitions", _stabilise_twice, steps=4),
    _heartbeat("generation", _raise_generation),
    _heartbeat("leader", _of_group(leader=None)),
    _heartbeat("leader", _of_group(leader=None), "heartbeat/preparing"),
    _heartbeat("leader", _of_group(state=GroupState.EMPTY)),
    _join("one-leader", _admit_as(leader="m9"), 3),
    _join("member-list", _admit_as(members=()), 3),
    _join("member-list", _list_to_all, 5, "membership", 2),
    _heartbeat("assigned-only-in-stable", _of_members(assignment=b"part")),
    _heartbeat("assigned-as-sent", _of_members(assignment=b"else"), steps=4),
    _sync("assigned-as-sent", LEADER, _forget_assignments, 3),
    _sync("assigned-as-sent", "sync/stable", _assign_something_else, 4),
    _sync("assigned-as-sent", FOLLOWER, _assign_something_else, 5, "membership", 2),
    _sync("assigned-as-sent", FOLLOWER, _forget_assignments, 5, "membership", 2),
    _sync("appended-as-sent", LEADER, _forget_assignments, 4, "storing"),
    _sync("appended-as-sent", FOLLOWER, _forget_assignments, 6, "storing", 2),
    _sync("waiting-does-not-expire", FOLLOWER, _park_with_timer, 5, "membership", 2),
    _heartbeat("removed-in-time", _remove, "heartbeat/other-generation"),
    Fault(
        "removed-in-time",
        "join_known",
        "join/rejoin-preparing",
        _end_join_phase,
        5,
        "membership",
        2,
    ),
    _heartbeat("sessions-run-with-time", _halve_the_session),
    _heartbeat("heartbeats-count", _of_group(), steps=4),
    _commit("commit/other-generation", _accept_commit, 3),
    _commit("commit/completing", _accept_commit, 3),
    _commit("commit/other-generation", _store_refused_commit, 3),
    _commit("commit/other-generation", _append_old_commit, 4),
    _commit("commit/unknown-member", _accept_simple_commit, 2),
    _heartbeat("answered-once", _answer_twice),
    _heartbeat("unanswered", _answer_never),
    _heartbeat("unanswered", _of_members(awaiting_join=None), "heartbeat/preparing"),
    _heartbeat("unanswered", _of_members(awaiting_sync=None), steps=5, space="storing"),
    _sync("unanswered", "sync/other-generation", _refuse_and_forget, 6, "membership", 2),
    _sync("fenced", "sync/fenced", _accept_sync, 2, "static"),
    Fault("fenced", "heartbeat", "heartbeat/fenced", _never_mind, 2, "static"),
    Fault(
        "one-per-instance", "join_unknown", "join/static-preparing", _add_another, 2, "static", 2
    ),
)


@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda fault: f"{fault.law}-{fault.rule}-{fault.then.__name__}"
)
def test_a_rule_with_another_consequence_breaks_the_law_in_as_few_steps_as_can_be(
    fault: Fault,
) -> None:
    profile = faulty(NEW, fault.table, fault.rule, fault.then)
    space = explored(profile, fault.space, fault.members)
    found = by_law(space)[fault.law]
    assert len(found.hops) == fault.steps
    assert found.known is None
    last = found.hops[-1]
    assert fault.rule in space.edges[last.node][last.edge].fired


def test_a_group_that_admits_more_members_than_it_may_have_breaks_the_law_of_its_size() -> None:
    profile = faulty(NEW, "join_unknown", "join/group-full", _add_another)
    found = by_law(explored(profile, "crowded", 1))["within-size"]
    assert len(found.hops) == 4
    assert found.known is None


BOTH = (Protocol("range", b"one"), Protocol("roundrobin", b"one"))


@pytest.mark.parametrize("members", [1, 2])
def test_members_that_offer_two_protocols_in_either_order_get_one_that_wins(
    members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "PROTOCOLS", BOTH)
    monkeypatch.setattr(clients, "OTHER_PROTOCOLS", BOTH[::-1])
    space = explored(NEW, "metadata", members)
    names = {node.group.protocol_name for node in space.nodes if node.group}
    assert names == {None, "range", "roundrobin"}
    assert not by_law(space)


def test_a_protocol_that_loses_the_vote_breaks_the_law_of_the_vote_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "PROTOCOLS", BOTH)
    monkeypatch.setattr(rebalance, "vote_winners", lambda _members: ["roundrobin"])
    found = by_law(explored(NEW, "membership", 1))
    assert {law: len(each.hops) for law, each in found.items()} == {"protocol-voted": 2}


def test_a_protocol_that_a_member_does_not_support_breaks_the_law_of_support(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Member, "metadata", lambda _member, _name: b"")
    monkeypatch.setattr(rebalance, "vote_winners", lambda _members: ["roundrobin"])
    found = by_law(explored(NEW, "membership", 1))
    assert len(found["protocol-supported"].hops) == 2


def test_a_join_of_a_removed_member_stays_unanswered_only_where_the_version_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = NEW._replace(traits=NEW.traits._replace(removed_are_answered=False))
    assert not by_law(explored(silent, "membership", 2))

    def remove(step: Step, member: Member) -> None:
        rebalance.drop_members(step, [member.member_id])

    monkeypatch.setattr(leave_group, "remove_member", remove)
    found = by_law(explored(NEW, "membership", 1))["unanswered"]
    assert len(found.hops) == 3


def test_a_member_that_is_dropped_although_it_joined_in_time_breaks_the_law_of_removal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drop_all(step: Step) -> None:
        rebalance.drop_members(step, [m.member_id for m in step.existing.members])
        rebalance.complete_join(step)

    monkeypatch.setattr(timers, "end_join_phase", drop_all)
    assert len(by_law(explored(NEW, "membership", 1))["removed-in-time"].hops) == 2


def test_a_leader_whose_join_is_still_parked_when_the_phase_has_ended_breaks_the_law_of_leaders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rebalance, "admit_members", lambda _step: None)
    assert len(by_law(explored(NEW, "membership", 1))["leader"].hops) == 2


def test_a_break_that_the_version_is_not_known_for_is_told_before_one_that_it_is() -> None:
    profile = faulty(OLD, "heartbeat", "heartbeat/alive", _answer_twice)
    found = by_law(explored(profile, "membership", 1))["answered-once"]
    assert found.known is None
    assert len(found.hops) == 3


def _rows(laws: tuple[Any, ...]) -> list[str]:
    return [f"| `{law.name}` | {law.says} | {law.source} |" for law in laws]


def test_the_page_of_laws_has_every_law_and_every_known_break_in_order() -> None:
    rows = [
        *_rows(safety.LAWS),
        *_rows(liveness.LAWS),
        *(
            f"| {each.profile} | {', '.join(f'`{law}`' for law in each.laws)} "
            f"| {each.says} | {each.source} |"
            for each in KNOWN
        ),
    ]
    page = LAWS_PAGE.read_text(encoding="utf-8").splitlines()
    heads = ("| law |", "| profile |", "| ---")
    assert [line for line in page if line.startswith("|") and not line.startswith(heads)] == rows


def test_no_two_laws_have_the_same_name_and_every_known_break_is_of_a_law() -> None:
    names = [law.name for law in (*safety.LAWS, *liveness.LAWS)]
    assert len(set(names)) == len(names)
    assert {law for each in KNOWN for law in each.laws} <= set(names)


def test_4_1_is_not_excused_for_assignments_that_were_never_made_in_stable() -> None:
    early = faulty(PROFILES["4.1"], "heartbeat", "heartbeat/alive", _of_members(assignment=b"part"))
    found = by_law(explored(early, "membership", 1))["assigned-only-in-stable"]
    assert found.known is None


def test_a_leader_that_is_to_skip_its_assignment_and_is_told_nobody_breaks_the_law_of_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "listed_members", lambda _group: ())
    found = by_law(explored(PROFILES["4.1"], "static", 1))["member-list"]
    assert len(found.hops) == 4
    assert found.known is None


def test_a_leader_that_is_to_skip_its_assignment_before_there_is_any_breaks_the_law_of_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told(*given: Any) -> JoinGroupResponse:
        answer = current(*given)
        return answer._replace(skip_assignment=answer.leader == answer.member_id)

    current = rebalance.current_generation
    monkeypatch.setattr(rebalance, "current_generation", told)
    found = by_law(explored(PROFILES["4.1"], "static", 1))["member-list"]
    assert len(found.hops) == 2
    assert found.known is None


def test_4_1_is_not_excused_for_a_fenced_member_that_leaves() -> None:
    fenced = PROFILES["4.1"]
    tables = tuple(rule for rule in fenced.heartbeat if rule.name != "heartbeat/fenced")
    found = by_law(explored(fenced._replace(heartbeat=tables), "static", 2))["fenced"]
    assert found.known is None


def test_to_remove_who_has_synced_when_the_time_to_sync_ends_breaks_the_law_of_removals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def remove_all(step: Step) -> None:
        rebalance.drop_members(step, [m.member_id for m in step.existing.members])
        rebalance.maybe_prepare_rebalance(step)

    monkeypatch.setattr(timers, "expire_syncs", remove_all)
    found = by_law(explored(PROFILES["4.1"], "membership", 2))["removed-in-time"]
    assert found.known is None
