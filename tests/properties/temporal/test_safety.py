"""Safety: every version has the properties, and a fault made for each property violates it."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances import inputs
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules import rebalance, static_members
from groupcheck.model.classic.rules.members import (
    PARK_JOIN,
    current_generation,
    drop_members,
    listed_members,
)
from groupcheck.model.classic.rules.membership import ADD_MEMBER, ANSWER_REMOVED
from groupcheck.model.classic.rules.session import restart_session
from groupcheck.model.classic.rules.subscription import subscription
from groupcheck.model.classic.rules.timeouts import EXPIRE_MEMBER
from groupcheck.model.classic.state import JoinTimer, Member, Offset, OffsetsAppend, Pending
from groupcheck.model.classic.step import Profile, Step
from groupcheck.model.classic.storing import log
from groupcheck.model.classic.storing.completions import commit_response
from groupcheck.model.engine.edits import (
    ChangeAnswer,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    ReplaceEffects,
)
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.rules import Effect
from groupcheck.model.vocabulary import ErrorCode, GroupState, MemberIdentity, Protocol, Request
from groupcheck.properties.temporal import liveness, safety
from groupcheck.properties.temporal.known_violations import KNOWN_VIOLATIONS
from groupcheck.properties.temporal.property import Violation
from support.economy import exhaustive_if
from support.edits import replace_effect
from support.spaces import explored_once, whole, within
from support.tlc_record import recorded

OLD, NEW, NEWEST = PROFILES["0.10.2"], PROFILES["2.7"], PROFILES["4.1"]
ANSWER_JOINS = "answer every parked JoinGroup and restart every session timer"


def explored(profile: Profile, name: str, members: int) -> StateSpace:
    return explored_once(instances(profile, members)[name])


def by_name(space: StateSpace) -> dict[str, Violation]:
    return {found.property.name: found for found in safety.violations(space)}


def unexpected(space: StateSpace) -> dict[str, Violation]:
    return {name: found for name, found in by_name(space).items() if not found.known}


def faulty(profile: Profile, rule: str, effect: Effect) -> Profile:
    """The profile in which the rule has one effect, this one."""
    return profile.edited(ReplaceEffects(rule, (effect,)))


# Expected violations and the number of steps that show each: of a version, and of an instance.
STUCK = {"answered-once": 1, "errors-leave-no-trace": 1, "join-phase-ends-at-once": 1}
EMPTY = {"errors-leave-no-trace": 1, "no-rebalance-without-members": 3}
BREAKS = {
    "0.10.0": STUCK,
    "0.10.2": STUCK,
    "2.7": EMPTY,
    "4.1": {**EMPTY, "assigned-only-in-stable": 4},
}
ORPHAN = {"no-orphaned-timers": 7, "rebalance-cause": 8}
LEAVES = {"rebalance-cause": 4}  # a pending member leaves
STATIC = {"no-rebalance-without-members": 2}
RETURNS = {**STATIC, "new-protocols-rebalance": 5}
REVERTED = {
    "only-empty-groups-removed": 3,
    "heartbeats-and-commits-keep-members": 4,
    "no-early-removal": 5,
    "unanswered-requests": 5,
}
EXPIRED_OF_OLD = {"subscribed-offsets-not-expired": 5, "no-expiry-in-rebalance": 5}
# Here the retention is a tick, and is over at the commit of an offset that is a tick old.
EXPIRED_AT_ONCE = dict.fromkeys(EXPIRED_OF_OLD, 4)
PENDING = {"pending-commit-ends": 1}
MORE = {
    "0.10.0 expiry": EXPIRED_OF_OLD,
    "0.10.0 expiry-failing": EXPIRED_AT_ONCE,
    "0.10.2 membership": ORPHAN,
    "0.10.2 expiry": {**EXPIRED_OF_OLD, **PENDING},
    "0.10.2 expiry-failing": {**EXPIRED_AT_ONCE, **PENDING},
    "2.7 static": {**RETURNS, "join-phase-limit": 5, "session-restart-cause": 5},
    "2.7 static-storing": {**RETURNS, "new-protocols-rebalance": 6},
    "2.7 failing-static": RETURNS,
    "2.7 failover-static": RETURNS,
    "2.7 reload": {"join-phase-limit": 10, "session-restart-cause": 10},
    "2.7 crowded": {
        **STATIC,
        "group-full-cause": 3,
        "instance-ids-of-members": 3,
        "unique-instance-ids": 6,
    },
    "2.7 failover-crowded": {
        **STATIC,
        "group-full-cause": 3,
        "instance-ids-of-members": 3,
        "unique-instance-ids": 6,
    },
    "2.7 expiry": {"no-expiry-in-rebalance": 4, "offset-retention": 7},
    "2.7 expiry-transactions": {"no-expiry-in-rebalance": 4, "offset-retention": 5},
    "2.7 expiry-failing": {"no-expiry-in-rebalance": 4, "offset-retention": 5},
    "4.1 membership": LEAVES,
    "4.1 metadata": LEAVES,
    "4.1 storing": LEAVES,
    "4.1 order": LEAVES,
    "4.1 static": {
        **RETURNS,
        **LEAVES,
        "fencing": 3,
        "join-phase-limit": 5,
        "sync-awaited-of-members": 5,
        "session-restart-cause": 6,
    },
    "4.1 static-storing": STATIC,
    "4.1 crowded": {**STATIC, **LEAVES, "group-full-cause": 3, "join-phase-ends-at-once": 5},
    "4.1 failover-crowded": {
        **STATIC,
        **LEAVES,
        "group-full-cause": 3,
        "join-phase-ends-at-once": 9,
    },
    "4.1 administration": LEAVES,
    "4.1 transactions": LEAVES,
    "4.1 failing": {**REVERTED, **LEAVES},
    "4.1 failover-administration": LEAVES,
    "4.1 failing-static": {**RETURNS, **LEAVES, "fencing": 3},
    "4.1 failing-transactions": {**REVERTED, "no-early-removal": 4, "unanswered-requests": 4},
    "4.1 failing-administration": {**REVERTED, "deleted-as-answered": 3},
    "4.1 reload": LEAVES,
    "4.1 expiry": {"offset-retention": 7},
    "4.1 expiry-transactions": {"offset-retention": 5},
    "4.1 expiry-failing": {
        "offset-retention": 5,
        "generation": 4,
        "generation-cause": 4,
        "rebalance-cause": 4,
    },
}


SIZES = {name: row.distinct for name, row in recorded().items()}  # states without symmetry


def _is_large(key: tuple[str, str]) -> bool:
    return SIZES[" ".join(key)] > 250


@pytest.mark.parametrize(
    "key",
    exhaustive_if(
        _is_large,
        [(profile, name) for profile in PROFILES for name in instances(PROFILES[profile], 2)],
    ),
    ids=" ".join,
)
@pytest.mark.untraced
def test_every_version_violates_only_the_properties_that_it_is_known_to_violate(
    key: tuple[str, str],
) -> None:
    profile, name = key
    space = whole(instances(PROFILES[profile], 2)[name])
    found = safety.violations(space)
    expected = BREAKS[profile] | MORE.get(f"{profile} {name}", {})
    assert {each.property.name: len(each.path) for each in found} == expected
    assert [
        each.property.name for each in (*found, *liveness.violations(space)) if not each.known
    ] == []


@pytest.mark.parametrize(
    "key",
    exhaustive_if(
        lambda key: key in {("2.7", 3), ("4.1", 3)},
        [(profile, members) for profile in PROFILES for members in (1, 3)],
    ),
    ids=str,
)
@pytest.mark.untraced
def test_one_or_three_members_violate_no_other_property(key: tuple[str, int]) -> None:
    profile, members = key
    found = by_name(whole(instances(PROFILES[profile], members)["membership"]))
    more = MORE.get(f"{profile} membership", {}) if members > 1 else {}
    expected = BREAKS[profile] | more
    assert {prop: len(each.path) for prop, each in found.items() if each.known} == expected
    assert all(each.known for each in found.values())


def _member(step: Step, request: Request) -> Member:
    return cast("Member", step.existing.member(cast("Any", request.body).member_id))


def _of_group(**changes: Any) -> Effect:
    """Answer the heartbeat, and change the group."""

    def apply(step: Step, request: Request) -> None:
        step.answer(request.request_id, kafka.HeartbeatResponse(ErrorCode.NONE))
        step.group = step.existing._replace(**changes)

    return Effect(f"answer NONE, and set {', '.join(changes) or 'nothing'} of the group", apply)


ANSWER_ONLY = _of_group()


@partial(Effect, "answer NONE, and begin the next generation")
def _raise_generation(step: Step, request: Request) -> None:
    _of_group(generation_id=step.existing.generation_id + 1).apply(step, request)


def _of_members(**changes: Any) -> Effect:
    """Answer the heartbeat, and change every member."""

    def apply(step: Step, request: Request) -> None:
        members = tuple(m._replace(**changes) for m in step.existing.members)
        _of_group(members=members).apply(step, request)

    return Effect(f"answer NONE, and set {', '.join(changes)} of every member", apply)


@partial(Effect, "answer NONE, and start half a session timer")
def _halve_the_session(step: Step, request: Request) -> None:
    ANSWER_ONLY.apply(step, request)
    member = restart_session(step, _member(step, request))
    halved = member._replace(session_left_ms=member.session_timeout_ms // 2)
    step.group = step.existing.with_member(halved)


@partial(Effect, "answer ILLEGAL_GENERATION, and remove the member")
def _remove(step: Step, request: Request) -> None:
    step.answer(request.request_id, kafka.HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION))
    EXPIRE_MEMBER(step, _member(step, request))


@partial(Effect, "answer twice")
def _answer_twice(step: Step, request: Request) -> None:
    ANSWER_ONLY.apply(step, request)
    ANSWER_ONLY.apply(step, request)


@partial(Effect, "answer ILLEGAL_GENERATION, and forget the member's parked SyncGroup")
def _refuse_and_forget(step: Step, request: Request) -> None:
    step.answer(request.request_id, kafka.SyncGroupResponse(ErrorCode.ILLEGAL_GENERATION))
    step.group = step.existing.with_member(_member(step, request)._replace(awaiting_sync=None))


def _admit_as(**changes: Any) -> Effect:
    """Answer with the current generation, and change that answer."""

    def apply(step: Step, request: Request) -> None:
        answer = current_generation(step, _member(step, request), GroupState.COMPLETING_REBALANCE)
        step.answer(request.request_id, answer._replace(**changes))

    return Effect(f"answer with the current generation, but another {', '.join(changes)}", apply)


@partial(Effect, "answer with the current generation and the members")
def _list_to_all(step: Step, request: Request) -> None:
    _admit_as(members=listed_members(step.existing)).apply(step, request)


@partial(Effect, "park the request while the session timer runs")
def _park_with_timer(step: Step, request: Request) -> None:
    parked = _member(step, request)._replace(awaiting_sync=request.request_id)
    step.group = step.existing.with_member(parked)


@partial(Effect, "park the request, and append no assignment")
def _forget_assignments(step: Step, request: Request) -> None:
    _park_with_timer.apply(step, request)
    log.store_assignments(step, {}, request.request_id)


@partial(Effect, "answer with another assignment")
def _assign_something_else(step: Step, request: Request) -> None:
    step.answer(request.request_id, kafka.SyncGroupResponse(ErrorCode.NONE, assignment=b"else"))


@partial(Effect, "answer NONE, and apply log/assignments-stored in Stable")
def _stabilise_twice(step: Step, request: Request) -> None:
    ANSWER_ONLY.apply(step, request)
    if step.existing.state is GroupState.STABLE:
        step.applied.append("log/assignments-stored")


@partial(Effect, "park the request, and end the join phase")
def _end_join_phase(step: Step, request: Request) -> None:
    PARK_JOIN(step, request)
    rebalance.complete_join(step)


def _commit_answer(step: Step, request: Request, error: ErrorCode) -> None:
    step.answer(request.request_id, commit_response([((inputs.TOPIC, 0), error)]))


@partial(Effect, "answer NONE without appending the offsets")
def _accept_commit(step: Step, request: Request) -> None:
    _commit_answer(step, request, ErrorCode.NONE)


@partial(Effect, "answer NONE without appending the offsets if the request has no generation")
def _accept_simple_commit(step: Step, request: Request) -> None:
    simple = cast("Any", request.body).generation_id < 0
    _commit_answer(step, request, ErrorCode.NONE if simple else ErrorCode.UNKNOWN_MEMBER_ID)


@partial(Effect, "answer ILLEGAL_GENERATION, and store the offset")
def _store_refused_commit(step: Step, request: Request) -> None:
    _commit_answer(step, request, ErrorCode.ILLEGAL_GENERATION)
    offsets = (((inputs.TOPIC, 0), Offset(5, -1, "")),)
    step.group = step.existing._replace(offsets=offsets)


@partial(Effect, "append while appends are held, else answer ILLEGAL_GENERATION")
def _append_old_commit(step: Step, request: Request) -> None:
    if step.holding:
        log.append(step, OffsetsAppend(request.request_id, (), ()))
    else:
        _commit_answer(step, request, ErrorCode.ILLEGAL_GENERATION)


@partial(Effect, "answer NONE")
def _accept_sync(step: Step, request: Request) -> None:
    step.answer(request.request_id, kafka.SyncGroupResponse(ErrorCode.NONE))


@partial(Effect, "do not answer")
def _no_answer(_step: Step, _request: Request) -> None:
    pass


@partial(Effect, "add another member")
def _add_another(step: Step, request: Request) -> None:
    if len(step.existing.members) < 2:  # as many as the instance has
        body = cast("Any", request.body)._replace(member_id="")
        ADD_MEMBER(step, request._replace(body=body))
    else:
        step.answer(request.request_id, kafka.JoinGroupResponse(ErrorCode.GROUP_MAX_SIZE_REACHED))


class Fault(NamedTuple):
    """A rule with another effect, and in how many steps that violates the property."""

    property: str
    rule: str
    effect: Effect
    steps: int
    space: str = "membership"
    members: int = 1


def _heartbeat(
    prop: str,
    effect: Effect,
    rule: str = "heartbeat/alive",
    steps: int = 3,
    space: str = "membership",
) -> Fault:
    return Fault(prop, rule, effect, steps, space)


def _join(prop: str, effect: Effect, steps: int, *where: Any) -> Fault:
    return Fault(prop, "join/repeated-completing", effect, steps, *where)


def _commit(rule: str, effect: Effect, steps: int) -> Fault:
    return Fault("commits-are-current", rule, effect, steps, "storing")


@partial(Effect, "answer NONE, and prepare a rebalance")
def _rebalance(step: Step, request: Request) -> None:
    ANSWER_ONLY.apply(step, request)
    rebalance.prepare_rebalance(step)


@partial(Effect, "answer NONE, and elect another leader")
def _elect_another(step: Step, request: Request) -> None:
    others = [m.member_id for m in step.members if m.member_id != step.existing.leader]
    _of_group(leader=(*others, step.existing.leader)[0]).apply(step, request)


def _heartbeat_answer(error: ErrorCode) -> Effect:
    return Effect(
        f"answer {error.name}",
        lambda step, request: step.answer(request.request_id, kafka.HeartbeatResponse(error)),
    )


@partial(Effect, "park the request, and prepare a rebalance")
def _replace_and_rebalance(step: Step, request: Request) -> None:
    static_members._replace_and_park(step, request)
    rebalance.prepare_rebalance(step)


LEADER, FOLLOWER = "sync/leader-completing", "sync/follower-completing"
FAULTS = (
    _heartbeat("state-transitions", _of_group(state=GroupState.STABLE)),
    _heartbeat("state-transitions", _stabilise_twice, steps=4),
    _heartbeat("generation", _raise_generation),
    _heartbeat("leader", _of_group(leader=None)),
    _heartbeat("leader", _of_group(leader=None), "heartbeat/preparing"),
    _heartbeat("leader", _of_group(state=GroupState.EMPTY)),
    _join("one-leader", _admit_as(leader="m9"), 3),
    _join("member-list", _admit_as(members=()), 3),
    _join("member-list", _list_to_all, 5, "membership", 2),
    _heartbeat("assigned-only-in-stable", _of_members(assignment=b"part")),
    _heartbeat("assigned-as-sent", _of_members(assignment=b"else"), steps=4),
    Fault("assigned-as-sent", LEADER, _forget_assignments, 3),
    Fault("assigned-as-sent", "sync/stable", _assign_something_else, 4),
    Fault("assigned-as-sent", FOLLOWER, _assign_something_else, 5, "membership", 2),
    Fault("assigned-as-sent", FOLLOWER, _forget_assignments, 5, "membership", 2),
    Fault("appended-as-sent", LEADER, _forget_assignments, 4, "storing"),
    Fault("appended-as-sent", FOLLOWER, _forget_assignments, 6, "storing", 2),
    Fault("waiting-does-not-expire", FOLLOWER, _park_with_timer, 5, "membership", 2),
    _heartbeat("no-early-removal", _remove, "heartbeat/other-generation"),
    Fault("no-early-removal", "join/rejoin-preparing", _end_join_phase, 5, "membership", 2),
    _heartbeat("session-timers", _halve_the_session),
    _heartbeat("heartbeat-restarts-session", ANSWER_ONLY, steps=4),
    _commit("commit/other-generation", _accept_commit, 3),
    _commit("commit/completing", _accept_commit, 3),
    _commit("commit/other-generation", _store_refused_commit, 3),
    _commit("commit/other-generation", _append_old_commit, 4),
    _commit("commit/unknown-member", _accept_simple_commit, 2),
    _heartbeat("answered-once", _answer_twice),
    _heartbeat("unanswered-requests", _no_answer),
    _heartbeat("unanswered-requests", _of_members(awaiting_join=None), "heartbeat/preparing"),
    _heartbeat("unanswered-requests", _of_members(awaiting_sync=None), steps=5, space="storing"),
    Fault("unanswered-requests", "sync/other-generation", _refuse_and_forget, 6, "membership", 2),
    Fault("fencing", "sync/fenced", _accept_sync, 2, "static"),
    Fault("fencing", "heartbeat/fenced", _no_answer, 2, "static"),
    Fault("unique-instance-ids", "join/static-preparing", _add_another, 2, "static", 2),
    _heartbeat("rebalance-cause", _rebalance),
    _heartbeat("heartbeats-and-commits-keep-members", _rebalance),
    _heartbeat("generation-cause", _raise_generation),
    Fault("leader-cause", "heartbeat/alive", _elect_another, 5, "membership", 2),
    _heartbeat("errors-leave-no-trace", _remove, "heartbeat/other-generation"),
    _heartbeat("unknown-member-cause", _heartbeat_answer(ErrorCode.UNKNOWN_MEMBER_ID)),
    _heartbeat("fenced-cause", _heartbeat_answer(ErrorCode.FENCED_INSTANCE_ID)),
    _heartbeat("offset-change-cause", _of_group(offsets=()), steps=4, space="storing"),
    _heartbeat("initial-delay-cause", _of_group(join_timer=JoinTimer(1, initial=True))),
    _heartbeat("join-phase-limit", _of_group(join_timer=JoinTimer(10**9))),
    _heartbeat("pending-id-limit", _of_group(pending=(Pending("m9", 10**9),))),
    _heartbeat("sync-answered-at-once", _of_members(awaiting_sync=7)),
    _heartbeat("join-answered-at-once", _of_members(awaiting_join=7)),
    _heartbeat("join-phase-not-cut-short", _of_group(join_timer=None), "heartbeat/preparing"),
    Fault("leave-removes", "leave/member", _no_answer, 3),
    Fault("static-member-returns", "join/static-unchanged", _replace_and_rebalance, 4, "static"),
)


@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda fault: f"{fault.property}: {fault.rule} {fault.effect.words}"
)
def test_a_rule_with_another_effect_violates_the_property_in_the_fewest_steps(fault: Fault) -> None:
    profile = faulty(NEW, fault.rule, fault.effect)
    space = within(instances(profile, fault.members)[fault.space], fault.steps)
    found = by_name(space)[fault.property]
    assert len(found.path) == fault.steps
    assert found.known is None
    last = found.path[-1]
    assert fault.rule in space.edges[last.node][last.edge].applied


def _forget_offsets(step: Step, _request: Request) -> None:
    step.group = step.existing._replace(offsets=())


FETCH = NEW.version.rules["fetch/committed"]


@pytest.mark.parametrize(
    ("prop", "edit", "name", "steps"),
    [
        (
            "commit-restarts-session",
            DropEffect("commit/member", "restart the member's session timer"),
            "expiry",
            5,
        ),
        (
            "initial-delay-extension",
            DropGuard(
                "time/initial-delay-extended",
                "a member joined during the initial delay, and the rebalance timeout permits "
                "another delay",
            ),
            "membership",
            2,
        ),
        (
            "stable-fetch",
            ChangeAnswer("fetch/unstable", (("topics.partitions.error_code", ErrorCode.NONE),)),
            "storing",
            3,
        ),
        (
            "fetched-as-committed",
            ChangeAnswer("fetch/committed", (("topics.partitions.committed_offset", 9),)),
            "storing",
            2,
        ),
        (
            "reads-change-nothing",
            ReplaceEffects(
                FETCH.id, (*FETCH.effects, Effect("forget the offsets", _forget_offsets))
            ),
            "storing",
            2,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_edit_of_the_rules_violates_the_property_in_the_fewest_steps(
    prop: str, edit: Edit, name: str, steps: int
) -> None:
    found = unexpected(explored(NEW.edited(edit), name, 1))
    assert len(found[prop].path) == steps


def test_a_group_that_admits_more_members_than_group_max_size_violates_max_size() -> None:
    @partial(Effect, "add another member if the request has no member id")
    def admit(step: Step, request: Request) -> None:
        named = cast("Any", request.body).member_id
        for effect in NEW.rules["join/group-full"].effects if named else (_add_another,):
            effect.apply(step, request)

    profile = faulty(NEW, "join/group-full", admit)
    violations = by_name(explored(profile, "crowded", 1))
    for name in ("max-size", "generation-size"):
        assert len(violations[name].path) == 4
        assert violations[name].known is None


BOTH = (Protocol("range", b"one"), Protocol("roundrobin", b"one"))


@pytest.mark.parametrize("members", [1, 2])
def test_members_that_offer_two_protocols_in_either_order_get_one_that_wins_the_vote(
    members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "PROTOCOLS", BOTH)
    monkeypatch.setattr(inputs, "OTHER_PROTOCOLS", BOTH[::-1])
    space = explore(instances(NEW, members)["metadata"])  # with these protocols
    names = {node.group.protocol_name for node in space.nodes if node.group}
    assert names == {None, "range", "roundrobin"}
    assert unexpected(space) == {}


@partial(Effect, "choose roundrobin, move to CompletingRebalance")
def _choose_roundrobin(step: Step, _subject: object) -> None:
    group = step.existing
    step.group = group._replace(
        state=GroupState.COMPLETING_REBALANCE,
        protocol_name="roundrobin",
        subscribed=subscription(step, group, "roundrobin"),
    )


ROUNDROBIN = NEW.edited(
    replace_effect(
        NEW,
        "rebalance/complete",
        "select the protocol by vote and move to CompletingRebalance",
        _choose_roundrobin,
    )
)


def test_a_protocol_that_loses_the_vote_violates_only_protocol_voted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inputs, "PROTOCOLS", BOTH)
    found = unexpected(explored(ROUNDROBIN, "membership", 1))
    assert {prop: len(each.path) for prop, each in found.items()} == {"protocol-voted": 2}


def test_a_protocol_that_a_member_does_not_support_violates_protocol_supported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Member, "metadata", lambda _member, _name: b"")
    found = by_name(explored(ROUNDROBIN, "membership", 1))
    assert len(found["protocol-supported"].path) == 2


def test_a_join_of_a_removed_member_stays_unanswered_only_where_the_version_says_so() -> None:
    silent = NEW.edited(DropEffect("remove-member", ANSWER_REMOVED.words))
    assert unexpected(explored(silent, "membership", 2)) == {}

    @partial(Effect, "drop the member without an answer to its JoinGroup")
    def drop(step: Step, identity: MemberIdentity) -> None:
        drop_members(step, [identity.member_id])

    found = by_name(explored(faulty(NEW, "leave/member", drop), "membership", 1))[
        "unanswered-requests"
    ]
    assert len(found.path) == 3


def test_a_member_that_is_dropped_although_it_joined_in_time_violates_no_early_removal() -> None:
    @partial(Effect, "drop every member, and end the join phase")
    def drop_all(step: Step, _subject: object) -> None:
        drop_members(step, [m.member_id for m in step.members])
        rebalance.complete_join(step)

    dropping = faulty(
        faulty(NEW, "time/initial-delay-over", drop_all), "time/rebalance-timeout", drop_all
    )
    assert len(by_name(explored(dropping, "membership", 1))["no-early-removal"].path) == 2


def test_a_leader_whose_join_is_still_parked_after_the_join_phase_violates_leader() -> None:
    unanswered = NEW.edited(DropEffect("rebalance/complete", ANSWER_JOINS))
    assert len(by_name(explored(unanswered, "membership", 1))["leader"].path) == 2


def test_a_violation_that_is_not_expected_of_the_version_is_reported_before_an_expected_one() -> (
    None
):
    profile = faulty(OLD, "heartbeat/alive", _answer_twice)
    found = by_name(explored(profile, "membership", 1))["answered-once"]
    assert found.known is None
    assert len(found.path) == 3


def test_names_of_properties_are_unique_and_every_expected_violation_is_of_a_property() -> None:
    names = [prop.name for prop in (*safety.PROPERTIES, *liveness.PROPERTIES)]
    assert len(set(names)) == len(names)
    assert {prop for each in KNOWN_VIOLATIONS for prop in each.properties} <= set(names)


def test_in_4_1_an_assignment_that_was_never_made_in_stable_is_an_unexpected_violation() -> None:
    early = faulty(NEWEST, "heartbeat/alive", _of_members(assignment=b"part"))
    found = by_name(explored(early, "membership", 1))["assigned-only-in-stable"]
    assert found.known is None


def _to_leader(rule: str, words: str, **changes: Any) -> Profile:
    """4.1, where an effect of the rule makes another answer to a leader's JoinGroup."""
    effect = next(each for each in NEWEST.rules[rule].effects if each.words == words)

    def changed(body: Any) -> Any:
        leads = isinstance(body, kafka.JoinGroupResponse) and body.leader == body.member_id
        return body._replace(**changes) if leads else body

    @partial(Effect, f"{words}, with another {', '.join(changes)} for the leader")
    def apply(step: Step, subject: object) -> None:
        before = len(step.responses)
        effect.apply(step, subject)
        answers = step.responses[before:]
        step.responses[before:] = [each._replace(body=changed(each.body)) for each in answers]

    return NEWEST.edited(replace_effect(NEWEST, rule, words, apply))


def test_a_leader_that_is_to_skip_its_assignment_and_gets_no_members_violates_member_list() -> None:
    unlisted = _to_leader("log/new-id-stored", "answer with the new id", members=())
    found = by_name(explored(unlisted, "static", 1))["member-list"]
    assert len(found.path) == 4
    assert found.known is None


def test_a_leader_that_is_to_skip_its_assignment_before_there_is_any_violates_member_list() -> None:
    skipping = _to_leader("rebalance/complete", ANSWER_JOINS, skip_assignment=True)
    found = by_name(explored(skipping, "static", 1))["member-list"]
    assert len(found.path) == 2
    assert found.known is None


def test_in_4_1_the_heartbeat_of_a_fenced_member_is_an_unexpected_violation_of_fencing() -> None:
    unfenced = NEWEST.edited(DropRule("heartbeat/fenced"))
    found = by_name(within(instances(unfenced, 2)["static"], 4))["fencing"]
    assert found.known is None


def test_a_member_that_is_removed_by_the_sync_timer_after_its_sync_violates_no_early_removal() -> (
    None
):
    @partial(Effect, "remove every member, and prepare a rebalance")
    def remove_all(step: Step, _subject: object) -> None:
        drop_members(step, [m.member_id for m in step.members])
        rebalance.maybe_prepare_rebalance(step)

    removing = faulty(NEWEST, "time/syncs-expired", remove_all)
    found = by_name(explored(removing, "membership", 2))["no-early-removal"]
    assert found.known is None
