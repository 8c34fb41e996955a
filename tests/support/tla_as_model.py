"""Convert states of TLC to the model's records, and the model's responses to values of TLA+."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.exploring.canonical import UNTIMED_MS
from groupcheck.model.classic.instances.inputs import (
    INSTANCE,
    OTHER_TOPIC,
    PRODUCER_ID,
    SUBSCRIBED_PROTOCOLS,
    TOPIC,
    TOPIC_PROTOCOLS,
)
from groupcheck.model.classic.instances.instance import Instance
from groupcheck.model.classic.state import (
    GONE,
    NEVER,
    Append,
    Committed,
    Coordinator,
    FailAppends,
    Group,
    GroupAppend,
    GroupRecord,
    HeldAnswer,
    HeldRequest,
    JoinTimer,
    Log,
    Member,
    Offset,
    OffsetsAppend,
    Pending,
    PendingOffset,
    Serving,
    StaticAppend,
)
from groupcheck.model.classic.step import Outcome
from groupcheck.model.classic.storing.records import LOADED_ARE_STATIC
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.vocabulary import ErrorCode, GroupState, Protocol, Response, ResponseBody
from support.tla import Value
from support.tla_config import MAX_SIZE

FOREVER = 1_000_000
PARTITION = (TOPIC, 0)

# Metadata that is a word in the specification, and its bytes.
METADATA = {"to other": SUBSCRIBED_PROTOCOLS[0].metadata, "to topic": TOPIC_PROTOCOLS[0].metadata}
WORDS = {metadata: words for words, metadata in METADATA.items()}
EVERY_TOPIC = {TOPIC, OTHER_TOPIC}

# The fields of a member that its record does not have, with their values after a load.
LOADED = {
    "isNew": False,
    "idKnown": True,
    "sessionLeft": -1,
    "awaitingJoin": False,
    "awaitingSync": False,
    "unsynced": False,
    "nullInstance": False,
}

# The first ids of parked JoinGroups, parked SyncGroups and held appends in a canonical state.
JOINS, SYNCS, COMMITS = 100, 200, 300


def coordinator(state: dict[str, Value], instance: Instance) -> Coordinator:
    """A state of TLC as the model's record, with the same member names."""
    appends = tuple(_append(dict(a), i, instance) for i, a in enumerate(state["appends"]))
    group, failing, size = dict(state["group"]), state["failing"], state["maxSize"]
    return Coordinator(
        None if group["state"] == "None" else _group(group, instance),
        state["holding"],
        appends,
        Serving(state["serving"]),
        state["active"],
        None if failing == "NONE" else FailAppends(1, ErrorCode[failing]),
        instance.initial.log and _log(dict(state["log"]), instance),
        _committed(dict(state["committed"]), instance),
        None if size == instance.settings.get("group.max.size", MAX_SIZE) else size,
        _ms(state["forgottenJoin"], instance),
    )


def _committed(fields: dict[str, Value], instance: Instance) -> Committed | None:
    visible = fields["visible"]
    removed = Group(protocol_type=_nullable(fields["protocolType"]))
    group = removed if visible == "removed" else None
    committed = Committed(visible == "newest", group, _offsets(fields["offset"], instance))
    return None if visible == "everything" else committed


def _log(kept: dict[str, Value], instance: Instance) -> Log:
    record = dict(kept["group"])
    transactions = _transactions(dict(kept["transaction"]), instance)
    producers = (PRODUCER_ID,) if transactions else ()
    log_of = partial(
        Log,
        offsets=_offsets(kept["offset"], instance),
        transactions=transactions,
        producers=producers,
        emptied=kept["emptied"],
    )
    if "kind" in record:
        return log_of(None)
    members = tuple(
        _member(name, LOADED | dict(member), instance)._replace(
            null_instance=LOADED_ARE_STATIC.holds_in(instance.profile.version)
        )
        for name, member in record["members"]
    )
    kind, name = _nullable(record["protocolType"]), _nullable(record["protocolName"])
    empty_left_ms = _ms(record["emptyLeft"], instance)
    group = GroupRecord(
        record["generation"], kind, name, record["leader"] or None, members, empty_left_ms
    )
    return log_of(group)


def _offsets(offset: Value, instance: Instance) -> tuple[tuple[tuple[str, int], Offset], ...]:
    found = _offset(offset, instance)
    return ((PARTITION, found),) if found.committed_offset >= 0 else ()


def _offset(offset: Value, instance: Instance) -> Offset:
    fields = dict(offset)
    left = fields["left"]
    left_ms = None if left == FOREVER else left * instance.tick_ms if left >= 0 else left
    return Offset(fields["at"], -1, "", left_ms, fields["fixed"])


def _append(entry: dict[str, Value], place: int, instance: Instance) -> Append:
    error = ErrorCode[entry["error"]]
    if entry["kind"] == "static":
        append = StaticAppend(entry["newId"], entry["memberId"] or None, entry["leader"] or None)
        after_unload = (
            (COMMITS + place, _new_id(dict(entry["answer"]))) if entry["answer"] else None
        )
        return append._replace(current=entry["current"], after_unload=after_unload)
    if entry["kind"] == "answer":
        return HeldAnswer(COMMITS + place, entry["api"], _held(entry))
    if entry["kind"] == "request":
        joins = entry["api"] == "JoinGroup"
        return HeldRequest(_parked(entry["of"], JOINS if joins else SYNCS, place), joins)
    if entry["kind"] in {"offsets", "transaction"}:
        transactional = entry["kind"] == "transaction"
        offsets = OffsetsAppend(
            COMMITS + place,
            _offsets(entry["offset"], instance),
            (),
            PRODUCER_ID if transactional else None,
        )
        return offsets._replace(error=error, after_unload=entry["afterUnload"])
    given = tuple((name, part.encode()) for name, part in entry["assignments"])
    request_id = _parked(entry["of"], SYNCS, place) if entry["of"] else None
    return GroupAppend(entry["generation"], given, error, request_id)


def _new_id(answer: dict[str, Value]) -> kafka.JoinGroupResponse:
    """The response to a static member that rejoined, after its group is unloaded."""
    return kafka.JoinGroupResponse(
        ErrorCode[answer["error"]],
        answer["generation"],
        answer["protocolType"] or None,
        answer["protocolName"] or None,
        answer["leader"],
        answer["memberId"],
    )


def _parked(name: str, numbered_from: int, place: int) -> int:
    """The id of a member's parked request, or of one whose member was removed."""
    return COMMITS + place if name == GONE else numbered_from + int(name[1:])


def _held(entry: dict[str, Value]) -> ResponseBody:
    """A deferred response, about the only partition."""
    answer = dict(entry["answer"])
    error = ErrorCode[answer["error"]]
    commits = (kafka.OffsetCommitResponsePartition(PARTITION[1], error),)
    found = kafka.OffsetFetchResponsePartition(
        PARTITION[1], answer.get("offset", -1), error_code=error
    )
    members = (dict(member) for member in entry["members"])
    answers: dict[str, ResponseBody] = {
        "Heartbeat": kafka.HeartbeatResponse(error),
        "OffsetCommit": kafka.OffsetCommitResponse(
            (kafka.OffsetCommitResponseTopic(TOPIC, commits),)
        ),
        "TxnOffsetCommit": kafka.TxnOffsetCommitResponse(
            (kafka.OffsetCommitResponseTopic(TOPIC, commits),)
        ),
        "EndTxn": kafka.EndTxnResponse(error),
        "OffsetFetch": kafka.OffsetFetchResponse(
            topics=(kafka.OffsetFetchResponseTopic(TOPIC, (found,)),)
        ),
        "LeaveGroup": kafka.LeaveGroupResponse(
            error,
            tuple(
                kafka.MemberResponse(m["memberId"], m["instance"] or None, ErrorCode[each])
                for m, each in zip(members, answer.get("errors", ()), strict=False)
            ),
        ),
    }
    return answers[entry["api"]]


def _group(group: dict[str, Value], instance: Instance) -> Group:
    place = group["unstable"]
    until = NEVER if place == NEVER else COMMITS + place - 1
    unstable = ((PARTITION, until),) if place else ()
    return Group(
        GroupState(group["state"]),
        group["generation"],
        _nullable(group["protocolType"]),
        _nullable(group["protocolName"]),
        group["leader"] or None,
        tuple(_member(name, dict(member), instance) for name, member in group["members"]),
        tuple(Pending(name, _ms(left, instance) or 0) for name, left in group["pending"]),
        _join_timer(dict(group["joinTimer"]), instance),
        group["newMemberAdded"],
        _offsets(group["offset"], instance),
        unstable,
        _orphaned_timers(group["orphanedTimers"], instance),
        tuple(group["statics"]),
        _ms(group["syncLeft"], instance),
        group["notPersisted"],
        _transactions(dict(group["transaction"]), instance),
        (PRODUCER_ID,) if group["awaitsMarker"] else (),
        None if group["subscribed"] == EVERY_TOPIC else tuple(sorted(group["subscribed"])),
        _ms(group["emptyLeft"], instance),
        group["lostSync"],
    )


def _transactions(transaction: dict[str, Value], instance: Instance) -> tuple[PendingOffset, ...]:
    if transaction["status"] == "none":
        return ()
    # At most one append is held at a time.
    request_id = COMMITS if transaction["status"] == "held" else None
    newer = transaction["newer"]
    offset = _offset(transaction["offset"], instance)
    return (PendingOffset(PRODUCER_ID, PARTITION, offset, request_id, newer),)


def _orphaned_timers(counts: Value, instance: Instance) -> tuple[int, ...]:
    # TLC prints a function of 1..n as a sequence.
    pairs = counts if counts and isinstance(counts[0], tuple) else enumerate(counts, 1)
    return tuple(left * instance.tick_ms for left, count in pairs for _ in range(count))


def _member(name: str, member: dict[str, Value], instance: Instance) -> Member:
    number = int(name[1:])
    protocols = (dict(protocol) for protocol in member["protocols"])
    return Member(
        name,
        "client",
        "/127.0.0.1",
        instance.session_ticks * instance.tick_ms,
        _rebalance_ticks(instance) * instance.tick_ms,
        tuple(Protocol(p["name"], _metadata(p["metadata"])) for p in protocols),
        member["isNew"],
        member["idKnown"],
        _ms(member["sessionLeft"], instance),
        JOINS + number if member["awaitingJoin"] else None,
        SYNCS + number if member["awaitingSync"] else None,
        member["assignment"].encode(),
        member["instance"] or None,
        member["unsynced"],
        member["nullInstance"],
    )


def _metadata(words: str) -> bytes:
    return METADATA.get(words, words.encode())


def _words(metadata: bytes) -> str:
    return WORDS.get(metadata) or metadata.decode()


def _rebalance_ticks(instance: Instance) -> int:
    # Version 0 of JoinGroup has the session timeout alone.
    older = instance.profile.max_versions["JoinGroup"] == 0
    return instance.session_ticks if older else instance.rebalance_ticks


def _join_timer(timer: dict[str, Value], instance: Instance) -> JoinTimer | None:
    left_ms = _ms(timer["left"], instance)
    if left_ms is None:
        return None
    round_ms, extension_ms = _ms(timer["round"], instance), _ms(timer["extension"], instance)
    return JoinTimer(left_ms, timer["initial"], round_ms or 0, extension_ms or 0)


def _ms(ticks: int, instance: Instance) -> int | None:
    if ticks == FOREVER:
        return UNTIMED_MS
    return None if ticks < 0 else ticks * instance.tick_ms


def _nullable(text: str) -> str | None:
    return None if text == "null" else text


Rules = frozenset[str]


def observed(space: StateSpace) -> set[tuple[Coordinator, frozenset[Value], Rules]]:
    """Each state with the responses, as values of TLA+, and the rules of each step to it."""
    found = set()
    applied = _Applied(space)
    for source, edges in enumerate(space.edges):
        for edge in edges:
            target = space.nodes[edge.target]
            names = _Names(space.nodes[source], target, edge)
            answers = frozenset(names.answer(response) for response in edge.responses)
            found |= {(target, answers, rules) for rules in applied.by(source, edge)}
    return found


class _Applied:
    """The rules that each transition applies.

    An edge has the rules of one outcome. Other outcomes can give the same responses and state by
    other rules, such as timers that fire in another order. These are computed again, but only for
    states of which one with other names has such outcomes.
    """

    def __init__(self, space: StateSpace) -> None:
        self._space = space
        self._differ: dict[Coordinator, bool] = {}
        self._source, self._differs = -1, False
        self._known: tuple[int, Input] | None = None
        self._ways: dict[object, set[Rules]] = {}

    def by(self, source: int, edge: Transition) -> set[Rules]:
        """The rules of each outcome of a transition."""
        if self._source != source:
            self._source, self._differs = source, self._may_differ(self._space.nodes[source])
        if not self._differs:
            return {_rules(edge)}
        if self._known != (source, edge.given):
            self._known = (source, edge.given)
            self._ways = self._outcomes(self._space.nodes[source], edge.given)
        target = self._space.canonical(self._space.nodes[edge.target]).node
        return self._ways.get((edge.responses, target)) or {_rules(edge)}

    def _may_differ(self, node: Coordinator) -> bool:
        form = self._space.canonical(node).node
        if form not in self._differ:
            ways = (self._outcomes(node, given) for given in self._space.instance.inputs(node))
            self._differ[form] = any(len(rules) > 1 for way in ways for rules in way.values())
        return self._differ[form]

    def _outcomes(self, node: Coordinator, given: Input) -> dict[object, set[Rules]]:
        """The rules by the responses and the state, whatever its names; none for one outcome."""
        instance = self._space.instance
        outcomes = successors(node, given, instance.profile, instance.config)
        ways: dict[object, set[Rules]] = {}
        for outcome in outcomes if len(outcomes) > 1 else ():
            if instance.admits(outcome.coordinator):
                responses = tuple(sorted(outcome.responses, key=attrgetter("request_id")))
                target = self._space.canonical(outcome.coordinator).node
                ways.setdefault((responses, target), set()).add(_rules(outcome))
        return ways


def _rules(of: Transition | Outcome) -> Rules:
    """The rules that a step applied, by their ids."""
    return frozenset(of.applied)


class _Names:
    """The responses of one transition as records of TLA+."""

    def __init__(self, source: Coordinator, target: Coordinator, edge: Transition) -> None:
        self.given = edge.given
        self.parked = "log/assignments-failed" in _rules(edge)  # the SyncGroup, before it failed
        self.newcomer = next(iter(_ids(target) - _ids(source)), "")
        if _is_static_newcomer(edge.given) and not self.newcomer and target.group:
            # A member that replaces another may get the name that becomes free.
            self.newcomer = target.group.static(INSTANCE) or ""

    def answer(self, response: Response) -> Value:
        """One response."""
        body = response.body
        error = getattr(body, "error_code", None)
        fields = {"to": self._to(response), "error": error.name if error is not None else "NONE"}
        return _record(fields | self._rest(body))

    def _to(self, response: Response) -> tuple[str, str]:
        """The recipient: the request of this step, or one that a member has parked."""
        number, body = response.request_id, response.body
        if number >= COMMITS:
            return ("held", "")
        if number >= SYNCS:
            return ("SyncGroup", f"m{number - SYNCS}")
        if number >= JOINS:
            return ("JoinGroup", f"m{number - JOINS}")
        if isinstance(body, kafka.JoinGroupResponse) and not body.error_code:
            return ("JoinGroup", self._name(body.member_id))
        if isinstance(body, kafka.SyncGroupResponse) and (self.parked or not body.error_code):
            return ("SyncGroup", self.given.body.member_id)
        return ("this", "")

    def _rest(self, body: ResponseBody) -> dict[str, Any]:
        match body:
            case kafka.JoinGroupResponse():
                fields = self._join(body)
            case kafka.SyncGroupResponse():
                fields = _protocol(body) | {"assignment": body.assignment.decode()}
            case kafka.LeaveGroupResponse():
                fields = {"errors": tuple(m.error_code.name for m in body.members)}
            case kafka.OffsetCommitResponse() | kafka.TxnOffsetCommitResponse():
                errors = {p.error_code.name for t in body.topics for p in t.partitions}
                fields = {"error": errors.pop() if errors else "NONE"}
            case kafka.OffsetFetchResponse():
                found = [partition for topic in body.topics for partition in topic.partitions]
                error = found[0].error_code if found else body.error_code
                fields = {"error": error.name, "offset": found[0].committed_offset if found else -1}
            case kafka.DescribeGroupsResponse():
                fields = _described(body)
            case kafka.ListGroupsResponse():
                groups = (
                    {"state": g.group_state, "protocolType": g.protocol_type} for g in body.groups
                )
                fields = {"groups": frozenset(map(_record, groups))}
            case kafka.DeleteGroupsResponse():
                fields = {"each": frozenset(r.error_code.name for r in body.results)}
            case kafka.OffsetDeleteResponse():
                topics = ((t.name, p.error_code.name) for t in body.topics for p in t.partitions)
                fields = {"topics": frozenset(topics)}
            case _:
                fields = {}
        return fields

    def _join(self, body: kafka.JoinGroupResponse) -> dict[str, Any]:
        listed = {self._name(m.member_id): _words(m.metadata) for m in body.members}
        return _protocol(body) | {
            "memberId": self._name(body.member_id),
            "generation": body.generation_id,
            "leader": self._name(body.leader),
            "members": _record(listed),
            "skips": body.skip_assignment,
        }

    def _name(self, member_id: str) -> str:
        return self.newcomer if member_id.startswith("#") else member_id


def _is_static_newcomer(given: Input) -> bool:
    body = getattr(given, "body", None)
    return (
        isinstance(body, kafka.JoinGroupRequest)
        and not body.member_id
        and body.group_instance_id is not None
    )


def _protocol(body: kafka.JoinGroupResponse | kafka.SyncGroupResponse) -> dict[str, Any]:
    return {
        "protocolType": body.protocol_type or "null",
        "protocolName": body.protocol_name or "null",
    }


def _described(body: kafka.DescribeGroupsResponse) -> dict[str, Any]:
    (group,) = body.groups
    return {
        "error": group.error_code.name,
        "state": group.group_state,
        "protocolType": group.protocol_type,
        "protocolName": group.protocol_data,
        "metadata": _record({m.member_id: _words(m.member_metadata) for m in group.members}),
        "assignments": _record({m.member_id: m.member_assignment.decode() for m in group.members}),
    }


def _ids(state: Coordinator) -> set[str]:
    group = state.group or Group()
    return {m.member_id for m in group.members} | {p.member_id for p in group.pending}


def _record(fields: dict[str, Any]) -> Value:
    return tuple(sorted(fields.items()))
