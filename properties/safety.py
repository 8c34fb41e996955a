"""Safety: what holds in every reachable state and on every labelled edge of a space.

The laws of states look at one state, those of steps at one step of a group that stays where it is
(what the log has to do with it, and what becomes of a group that is lost, is in `safety_log`). Each
is said once more in words, apart from the rules of the model that ought to keep it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from groupcheck.model.explorer import Space
from groupcheck.model.graph import StateGraph
from groupcheck.model.projection import MAKES
from groupcheck.model.state import (
    GONE,
    Advance,
    Coordinator,
    Group,
    GroupAppend,
    Member,
    OffsetsAppend,
    ReleaseAppends,
    Serving,
)
from groupcheck.model.vocabulary import (
    EndTxnRequest,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Request,
    RequestBody,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupcheck.properties import safety_offsets, safety_static
from groupcheck.properties.law import Broken, Known, Law, Taken, hop_of, known, taken, waiting
from groupcheck.properties.safety_log import ENDS, MOVES, OF_LOG

EMPTY, PREPARING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE
COMPLETING, STABLE = GroupState.COMPLETING_REBALANCE, GroupState.STABLE
WITHOUT_MEMBERS: Final = frozenset({EMPTY, GroupState.DEAD})


def broken(space: Space) -> list[Broken]:
    """The laws that do not hold in a space, each with a shortest way to break it."""
    found: dict[Law, Broken] = {}
    excused: dict[Law, Broken] = {}
    graph: StateGraph | None = None
    for step, law in _breaches(space):
        excuses = known(space.instance.profile, law)
        excuse = next((excuse for excuse in excuses if excuse.covers(step)), None)
        reports = found if excuse is None else excused
        if law not in reports:
            graph = graph or StateGraph(space)
            reports[law] = _report(graph, step, law, excuse)
    return list((excused | found).values())


def _report(graph: StateGraph, step: Taken, law: Law, excuse: Known | None) -> Broken:
    return Broken(law, tuple(graph.witness(hop_of(graph.space, step))), known=excuse)


def _breaches(space: Space) -> Iterator[tuple[Taken, Law]]:
    """Each step that breaks a law, or leads to a state that breaks one."""
    lawful: dict[Coordinator, bool] = {}
    for step in taken(space):
        after = step.after
        moved = isinstance(step.given, MOVES)
        for law, step_holds in (OF_LOG | ({} if moved else OF_STEPS)).items():
            if not step_holds(step):
                yield step, law
        if after not in lawful:
            lawful[after] = all(holds(step.new) for holds in OF_STATES.values())
        if not lawful[after]:
            yield from ((step, law) for law, holds in OF_STATES.items() if not holds(step.new))


def _goes_along_arrows(step: Taken) -> bool:
    """A step may pass through states: the last member that leaves ends the join phase at once."""
    arrows = [MAKES[rule] for rule in step.fired if rule in MAKES]
    state: str = step.old.state
    if step.before.group is None or state == GroupState.DEAD:
        if step.new.state is GroupState.DEAD and not arrows:
            return True  # offsets without a group
        state = step.profile.traits.begins if step.after.group else step.new.state
    for arrow in arrows:
        if state != arrow.source:
            return False
        state = arrow.target
    gone = state == GroupState.DEAD and step.after.group is None
    return gone or state == step.new.state


def _generation_counts_join_phases(step: Taken) -> bool:
    if step.new.state is GroupState.DEAD or step.after.group is None:
        return step.new.generation_id == 0  # and the next group begins anew
    ended = sum(rule in ENDS for rule in step.fired)
    return step.new.generation_id == step.old.generation_id + ended


def _has_a_leader(group: Group) -> bool:
    leader = group.member(group.leader) if group.leader is not None else None
    if group.state in WITHOUT_MEMBERS:
        return group.leader is None and not group.members
    if group.state is PREPARING:
        return (leader is not None) == bool(group.members)
    return leader is not None and (leader.awaiting_join is None or _came_back(group, leader))


def _came_back(group: Group, member: Member) -> bool:
    """Whether it waits for its new id to be stored, in a group that is Stable all the while."""
    static = member.group_instance_id is not None
    return static and group.state is STABLE and member.awaiting_join is not None


def _admissions(step: Taken) -> list[JoinGroupResponse]:
    """The answers that admit a member to a generation."""
    bodies = (response.body for response in step.responses)
    return [b for b in bodies if isinstance(b, JoinGroupResponse) and b.error_code == 0]


def _one_leader(step: Taken) -> bool:
    """What the answers say of a generation is what its group says, before as after.

    Whose place a static member has taken is as good as that member.
    """
    same = {GONE: step.new.leader} | step.renamed
    said = {(a.generation_id, same.get(a.leader, a.leader)) for a in _admissions(step)}
    said |= {
        (group.generation_id, same.get(group.leader or "", group.leader))
        for group in (step.old, step.new)
        if group.state in {COMPLETING, STABLE}
    }
    return len(said) == len({generation_id for generation_id, _ in said})


def _list_is_the_leaders(step: Taken) -> bool:
    """The leader gets the list of all, which is the list of those admitted with it."""
    members = {m.member_id for m in step.new.members}
    for answer in _admissions(step):
        listed = {m.member_id for m in answer.members}
        if listed and answer.leader != answer.member_id:
            return False
        expected = answer.generation_id == step.new.generation_id and step.new.state is COMPLETING
        if expected and answer.leader == answer.member_id and listed != members:
            return False
    return True


def _in_use(group: Group) -> bool:
    """Whether the group has a protocol that counts."""
    return group.state in {COMPLETING, STABLE}


def _protocol_is_supported(group: Group) -> bool:
    return not _in_use(group) or all(
        group.protocol_name in {p.name for p in m.protocols} for m in group.members
    )


def _protocol_is_voted(group: Group) -> bool:
    """Each member votes for the first of its protocols that every member supports."""
    if not _in_use(group):
        return True
    offers = [[p.name for p in m.protocols] for m in group.members]
    votes = Counter(
        next((name for name in offer if all(name in other for other in offers)), None)
        for offer in offers
    )
    return votes[group.protocol_name] == max(votes.values(), default=0)


def _assigned_only_in_stable(group: Group) -> bool:
    return group.state is STABLE or not any(m.assignment for m in group.members)


def _body(step: Taken) -> RequestBody | None:
    return step.given.body if isinstance(step.given, Request) else None


def _sent(step: Taken) -> dict[str, bytes] | None:
    """The assignments that stand after the step, as the leader sent them; None if it has not."""
    body = _body(step)
    if "log/assignments-stored" not in step.fired:
        stable = step.old.state is STABLE
        names = step.renamed
        assigned = {names.get(m.member_id, m.member_id): m.assignment for m in step.old.members}
        return assigned if stable else None
    if isinstance(body, SyncGroupRequest):
        return dict(body.assignments) if body.member_id == step.old.leader else None
    held = (
        dict(entry.assignments)
        for entry in step.before.appends
        if isinstance(entry, GroupAppend) and entry.generation_id == step.old.generation_id
    )
    return next(held, None)


def _assigned_as_sent(step: Taken) -> bool:
    """What members are answered, and what the group holds for them."""
    waits = {m.awaiting_sync: m.member_id for m in step.old.members}
    if isinstance(step.given, Request) and isinstance(step.given.body, SyncGroupRequest):
        waits[step.given.request_id] = step.given.body.member_id
    got = [
        (waits[response.request_id], response.body.assignment)
        for response in step.responses
        if isinstance(response.body, SyncGroupResponse) and response.body.error_code == 0
    ]
    if step.new.state is STABLE:
        got += [(m.member_id, m.assignment) for m in step.new.members]
    if not got:
        return True
    sent = _sent(step)
    return sent is not None and all(sent.get(who, b"") == assignment for who, assignment in got)


def _appended_as_sent(step: Taken) -> bool:
    """The log gets what the leader sent, with nothing for those it forgot."""
    news = step.after.appends[len(step.before.appends) :]
    entries = [entry for entry in news if isinstance(entry, GroupAppend)]
    body = _body(step)
    if not entries:
        return True
    if not isinstance(body, SyncGroupRequest) or body.member_id != step.old.leader:
        return False
    sent = dict(body.assignments)
    given = {m.member_id: sent.get(m.member_id, b"") for m in step.old.members}
    return [(e.generation_id, dict(e.assignments)) for e in entries] == [
        (step.old.generation_id, given)
    ]


def _passed_ms(step: Taken) -> int:
    return step.given.ms if isinstance(step.given, Advance) else 0


def _leavers(step: Taken) -> set[str]:
    body = _body(step)
    if not isinstance(body, LeaveGroupRequest):
        return set()
    by_instance = {step.old.static(m.group_instance_id) for m in body.members}
    return {m.member_id for m in body.members} | {name for name in by_instance if name}


def _is_turned_away(step: Taken, member: Member) -> bool:
    """Whether it asks to join again, and is told that it is one too many."""
    errors = {getattr(r.body, "error_code", None) for r in step.responses}
    full = ErrorCode.GROUP_MAX_SIZE_REACHED in errors
    return full and getattr(_body(step), "member_id", None) == member.member_id


def _removed_in_time(step: Taken) -> bool:
    """Who is gone has left, or was silent for long enough, or was late to join again or to sync."""
    old, passed_ms = step.old, _passed_ms(step)
    join_left_ms = (
        old.join_timer.left_ms
        if old.join_timer is not None
        else max((m.rebalance_timeout_ms for m in old.members), default=0)
    )
    for member in old.members:
        if step.heir(member) is not None or member.member_id in _leavers(step):
            continue
        if _is_turned_away(step, member):
            continue
        silent = member.session_left_ms is not None and member.session_left_ms <= passed_ms
        spared = member.awaiting_join is not None or member.group_instance_id is not None
        absent = not spared and join_left_ms <= passed_ms
        late = member.unsynced and old.sync_left_ms is not None and old.sync_left_ms <= passed_ms
        if not (silent or absent or late):
            return False
    return True


def _sessions_run_with_time(step: Taken) -> bool:
    """No session loses more than the time that passes; each sign of life starts it anew."""
    passed_ms = _passed_ms(step)
    for member in step.new.members:
        left_ms = member.session_left_ms
        before = step.old.member(member.member_id)
        if left_ms is None:
            continue
        starts = [member.session_timeout_ms]
        if before is None and member.is_new and member.member_id not in step.renamed.values():
            starts = [step.config.new_member_join_timeout_ms]
        elif before is not None and before.session_left_ms is not None:
            starts.append(before.session_left_ms)
        if left_ms < min(starts) - passed_ms:
            return False
    return True


def _heartbeats_count(step: Taken) -> bool:
    """Whoever is told that its heartbeat was well has its whole session left."""
    body = _body(step)
    answers = {r.body for r in step.responses if isinstance(r.body, HeartbeatResponse)}
    blindly = step.before.serving is Serving.LOADING
    well = HeartbeatResponse(ErrorCode.NONE) in answers
    if not isinstance(body, HeartbeatRequest) or not well or blindly:
        return True
    member = step.new.member(body.member_id)
    return member is not None and member.session_left_ms in {None, member.session_timeout_ms}


def _waiting_does_not_expire(group: Group) -> bool:
    return all(
        m.session_left_ms is None
        for m in group.members
        if not m.is_new
        and (m.awaiting_join is not None or m.awaiting_sync is not None)
        and not _came_back(group, m)
    )


def _accepted(step: Taken) -> bool:
    """Whether the step takes a commit: answers that it is stored, stores it, or starts to.

    What a release or a marker makes readable was taken before.
    """
    errors = {
        partition.error_code
        for response in step.responses
        if response.request_id == getattr(step.given, "request_id", None)
        and isinstance(response.body, OffsetCommitResponse)
        for topic in response.body.topics
        for partition in topic.partitions
    }
    news = step.after.appends[len(step.before.appends) :]
    stored = any(offset not in step.old.offsets for offset in step.new.offsets)
    late = isinstance(step.given, ReleaseAppends) or isinstance(_body(step), EndTxnRequest)
    appended = any(isinstance(e, OffsetsAppend) and e.producer_id is None for e in news)
    return ErrorCode.NONE in errors or (stored and not late) or appended


def _commits_are_current(step: Taken) -> bool:
    if not _accepted(step):
        return True
    body = _body(step)
    if not isinstance(body, OffsetCommitRequest):
        return False
    simple = body.generation_id < 0 and step.old.state in WITHOUT_MEMBERS
    current = body.generation_id == step.old.generation_id and step.old.state is not COMPLETING
    return simple or (step.old.member(body.member_id) is not None and current)


def _asked(step: Taken) -> set[int]:
    """The requests that may be answered by this step."""
    new = {step.given.request_id} if isinstance(step.given, Request) else set()
    return waiting(step.before) | new


def _answered_once(step: Taken) -> bool:
    ids = [response.request_id for response in step.responses]
    return len(set(ids)) == len(ids) and set(ids) <= _asked(step) - waiting(step.after)


def _unanswered_lawfully(step: Taken) -> bool:
    answered = {response.request_id for response in step.responses}
    lost = _asked(step) - answered - waiting(step.after)
    return all(any(_may_lose(step, m, i) for m in step.old.members) for i in lost)


def _is_taken(step: Taken) -> bool:
    """Whether the request of the step is not refused: it waits, or was answered without error."""
    own = getattr(step.given, "request_id", None)
    answers = (r.body for r in step.responses if r.request_id == own)
    refused = any(getattr(body, "error_code", ErrorCode.NONE) for body in answers)
    return not refused


def _may_lose(step: Taken, member: Member, request_id: int) -> bool:
    """Whether that is a parked request of that member which may be left without an answer."""
    body = _body(step)
    gone = step.new.member(member.member_id) is None
    again = getattr(body, "member_id", None) == member.member_id and _is_taken(step)
    if request_id == member.awaiting_sync:
        return gone or (again and isinstance(body, SyncGroupRequest))
    if request_id == member.awaiting_join:
        untold = gone and not step.profile.traits.removed_are_answered
        return untold or (again and isinstance(body, JoinGroupRequest))
    return False


OF_STATES: Final[dict[Law, Callable[[Group], bool]]] = {
    Law(
        "leader",
        "a group has a leader exactly while it has members; in CompletingRebalance and Stable it "
        "has members, and its leader is one that has joined, or has come back",
        "GroupMetadata.scala:277",
    ): _has_a_leader,
    Law(
        "protocol-supported",
        "every member supports the protocol of the generation",
        "GroupMetadata.scala:436",
    ): _protocol_is_supported,
    Law(
        "protocol-voted",
        "no protocol has more votes than that of the generation, each member's vote being for the "
        "first of its own that all support",
        "GroupMetadata.scala:420",
    ): _protocol_is_voted,
    Law(
        "assigned-only-in-stable",
        "no member has an assignment that counts before the group is Stable",
        "GroupCoordinator.scala:924",
    ): _assigned_only_in_stable,
    Law(
        "waiting-does-not-expire",
        "no session timer runs for a member that waits in join or sync, but for a new one, which "
        "has a limit of its own, and a static one that came back to a Stable group",
        "MemberMetadata.scala:94",
    ): _waiting_does_not_expire,
}

OF_STEPS: Final[dict[Law, Callable[[Taken], bool]]] = {
    Law(
        "lawful-transitions",
        "the state changes along the arrows of Kafka's state diagram and no others",
        "GroupMetadata.scala:785",
    ): _goes_along_arrows,
    Law(
        "generation",
        "the generation is raised by exactly one at each end of a join phase, and never otherwise",
        "GroupMetadata.scala:534",
    ): _generation_counts_join_phases,
    Law(
        "one-leader",
        "a generation has one leader, and every answer of the generation names it",
        "GroupCoordinator.scala:1237",
    ): _one_leader,
    Law(
        "member-list",
        "only the leader is told the members of the generation, and at the end of the join phase "
        "it is told all of them",
        "GroupCoordinator.scala:1228",
    ): _list_is_the_leaders,
    Law(
        "assigned-as-sent",
        "each member gets what the leader of the generation sent for it, nothing if it sent none, "
        "and not before the leader did",
        "GroupCoordinator.scala:923",
    ): _assigned_as_sent,
    Law(
        "appended-as-sent",
        "what is appended to the log is what the leader sent, and nothing for the members it "
        "forgot",
        "GroupCoordinator.scala:415",
    ): _appended_as_sent,
    Law(
        "removed-in-time",
        "no member is removed before its session timeout, unless it leaves, is one too many, or "
        "has not rejoined (which spares static members) or, where the version says so, not synced "
        "when the rebalance timeout is over",
        "GroupCoordinator.scala:1278",
    ): _removed_in_time,
    Law(
        "sessions-run-with-time",
        "what a session has left grows less only as time passes, and begins with the whole "
        "session timeout, or with a new member's limit",
        "GroupCoordinator.scala:958",
    ): _sessions_run_with_time,
    Law(
        "heartbeats-count",
        "a heartbeat that is answered without error starts the session anew, but for one that is "
        "answered blindly while the group is loaded",
        "GroupCoordinator.scala:643",
    ): _heartbeats_count,
    Law(
        "commits-are-current",
        "offsets are committed by members of the current generation that need not wait for their "
        "assignments, or without a generation into a group that is Empty or does not exist",
        "GroupCoordinator.scala:764",
    ): _commits_are_current,
    Law(
        "answered-once",
        "every request is answered at most once, and waits no longer once it is",
        "GroupMetadata.scala:515",
    ): _answered_once,
    Law(
        "unanswered",
        "a request stays without an answer only if it is a join or sync that its member sent "
        "anew, a sync whose member is gone or, where the version says so, a join whose member "
        "is gone",
        "GroupCoordinator.scala:408",
    ): _unanswered_lawfully,
    **safety_static.OF_STEPS,
    **safety_offsets.OF_STEPS,
}


LAWS: Final = (*OF_STATES, *OF_STEPS, *OF_LOG)
