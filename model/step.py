"""The transcription runtime: rules as rows of a decision list, and choices tried one by one.

All the machinery there is between the rules and the explorer. An action is written as straight
code that changes a `Step`; where Kafka leaves something open it calls `choose`, and `outcomes`
runs the action once for every combination of choices, as TLC does for PlusCal's `with`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from groupcheck.model.config import Config
from groupcheck.model.nondeterminism import Open
from groupcheck.model.state import (
    Append,
    Coordinator,
    Group,
    GroupAppend,
    HeldAnswer,
    HeldRequest,
    Offset,
    TopicPartition,
)
from groupcheck.model.storing.appended import Appended
from groupcheck.model.vocabulary import (
    API_OF,
    ErrorCode,
    GroupState,
    JoinGroupResponse,
    Request,
    Response,
    ResponseBody,
    SyncGroupResponse,
)

T = TypeVar("T")


def _always(_step: Step, _request: Request) -> bool:
    return True


def _nothing(_step: Step, _request: Request) -> None:
    pass


class Rule(NamedTuple):
    """One rule of the coordinator.

    `says` states in words when it holds, to be read after "because"; `source` is the line of Kafka
    it restates. In a decision list `when` guards it and `then` is what the coordinator does.
    """

    name: str
    says: str
    source: str
    when: Callable[[Step, Request], bool] = _always
    then: Callable[[Step, Request], None] = _nothing

    def at(self, cited: str) -> Rule:
        """The same rule, where another version states it."""
        return self._replace(source=cited)


class Traits(NamedTuple):
    """What differs between versions and is no row of a decision list.

    Args:
        initial_delay: from Empty the join phase lasts a delay, so that more members can come
            (KIP-134, 0.11).
        new_members_expire: a parked JoinGroup does not keep a new member alive for ever
            (KAFKA-7610, 2.1.1).
        removed_are_answered: a member that is removed while its JoinGroup is parked is told so
            (KAFKA-7610, 2.1.1).
        dropped_keep_timers: the session timer of a member that is dropped at the end of a join
            phase runs on, and starts a rebalance when it ends.
        begins: the state of a new group.
        empty_dies: a group without members is gone, but for its offsets (until KAFKA-2720, 0.10.1).
        empty_fetch_is_all: to fetch no partition is to fetch all.
        loaded_count_as_static: members that are loaded from the log count as static ones, as a
            group.instance.id that is null is taken for one (until KAFKA-10497, 2.8).
        refused_generation_id: what a refused JoinGroup says.
        completing_rebalance: what CompletingRebalance is called.
        every_delay_grows: whoever joins during an initial delay prolongs it, and not only in the
            group's first generation.
        expiry_ends_delay: who expires during the initial delay may be the last one waited for, and
            the join phase then ends at once.
        rejoin_sets_timeouts: a member that joins again has the timeouts of its new request
            (KAFKA-14009).
        syncs_expire: a generation is waited for no longer than the longest rebalance timeout; who
            has not synced by then is removed (KAFKA-12890, 2.8.1).
        assignments_stay: what members were assigned stays, and shows, until it is assigned anew or
            the next generation fails before that.
        commits_are_unstable: a partition is unstable while a commit of it is on its way to the log
            (KIP-447), and for good if its part of a commit was refused (KAFKA-16371).
        answers_as_asked: a partition is committed, and its offset told, as often as the request
            names it, each time by itself; else once, and committed as named last.
        hides_unwritten: a group of which nothing was written yet does not show, until anything is
            written to its partition of the log, of whichever group.
        subscriptions: the topics that consumers subscribe to are read from their metadata (KIP-496,
            2.4).
        new_groups_are_recorded: a group that JoinGroup brings into being is in the log at once,
            without members, whatever JoinGroup is answered.
        commits_fail_whole: a commit that cannot be stored fails for all its partitions, and not
            only for those that were to be stored.
        shutdown_unloads: a coordinator that is shut down loses its partitions, and tells who waits.
        retained_from_empty: offsets are retained from when the last member has gone, and expire
            when that time is up; else each has its own time, and expires once that is past
            (KIP-211, 2.1).
        retention_wraps: the retention of offsets is first made seconds, of 32 bits, so that there
            is none where it is too long for that (until KAFKA-4472, 0.10.2).
        removals_are_written: what removes offsets and a group is written as anything else: if it
            fails, nothing is removed, and there is one for a group that was never recorded.
        returned_stay_new: a static member that comes back before its first generation has begun is
            still a new one, which a parked JoinGroup does not keep alive.
        any_join_ends: after a JoinGroup that was refused, too, the join phase ends if everybody is
            there; else only after one that is parked.
        refused_stay_pending: a partition of a transaction's commit that is refused is pending with
            the others, and the marker fails at it (KAFKA-16371).
        failures_are_undone: what cannot be stored is undone: a static member is as it was before
            it came back, a transaction has pending what it had before; else the member offers what
            it came back with, and the transaction has lost what it had of those partitions.
        writes_markers: the marker that ends a transaction is written by the group's coordinator, or
            by nobody; else it is in the log, whatever becomes of it there.
        tombstones_end_transactions: what removes an offset removes what transactions have pending
            of its partition, in the log too, and of whom nothing is left no marker is awaited.
        last_offset_takes_group: an Empty group whose last offset is deleted is gone with it; else
            it stays until it is cleaned up.
        answers_wait: what is appended takes effect at once, and it is the answers that wait until
            it is committed, those of other requests too; what is read is what is committed.
        returned_are_others: a static member that comes back is another one: what is on its way for
            the one before reaches nobody.
    """

    initial_delay: bool = True
    new_members_expire: bool = True
    removed_are_answered: bool = True
    dropped_keep_timers: bool = False
    begins: GroupState = GroupState.EMPTY
    empty_dies: bool = False
    empty_fetch_is_all: bool = False
    loaded_count_as_static: bool = False
    refused_generation_id: int = -1
    completing_rebalance: str = "CompletingRebalance"
    every_delay_grows: bool = False
    expiry_ends_delay: bool = False
    rejoin_sets_timeouts: bool = False
    syncs_expire: bool = False
    assignments_stay: bool = False
    commits_are_unstable: bool = True
    answers_as_asked: bool = False
    hides_unwritten: bool = False
    subscriptions: bool = True
    new_groups_are_recorded: bool = False
    commits_fail_whole: bool = False
    shutdown_unloads: bool = False
    retained_from_empty: bool = True
    retention_wraps: bool = False
    removals_are_written: bool = False
    returned_stay_new: bool = True
    any_join_ends: bool = True
    refused_stay_pending: bool = True
    failures_are_undone: bool = False
    writes_markers: bool = False
    tombstones_end_transactions: bool = False
    last_offset_takes_group: bool = True
    answers_wait: bool = False
    returned_are_others: bool = False


class Retention(NamedTuple):
    """When a cleanup takes offsets of a group.

    Where the rule holds, an offset goes if it has `expired`, which is told the step and where the
    offset is.
    """

    rule: Rule
    holds: Callable[[Step], bool]
    expired: Callable[[Step, TopicPartition, Offset], bool]

    def at(self, cited: str) -> Retention:
        """The same, where another version states it."""
        return self._replace(rule=self.rule.at(cited))


# Version 0 of these two is ZooKeeper's.
WITHOUT_ZOOKEEPER: Mapping[str, int] = MappingProxyType({"OffsetCommit": 1, "OffsetFetch": 1})


class Profile(NamedTuple):
    """One version's rules; each API's decision list is tried from the top.

    An API that `min_versions` does not name has versions from 0 on. `group_errors` and
    `commit_errors` have, for the error of an append, what SyncGroup and OffsetCommit are answered
    (and JoinGroup with the one, LeaveGroup with the other); what is not among them is passed on.
    `waiting` are the rules whose answers wait until all that is written is committed.
    """

    name: str
    kafka: str
    max_versions: Mapping[str, int]
    join_gate: tuple[Rule, ...]
    join_unknown: tuple[Rule, ...]
    join_known: tuple[Rule, ...]
    sync_group: tuple[Rule, ...]
    heartbeat: tuple[Rule, ...]
    leave_group: tuple[Rule, ...]
    offset_commit: tuple[Rule, ...]
    offset_fetch: tuple[Rule, ...]
    describe_groups: tuple[Rule, ...]
    config: Config
    traits: Traits = Traits()
    group_errors: Mapping[ErrorCode, ErrorCode] = MappingProxyType({})
    commit_errors: Mapping[ErrorCode, ErrorCode] = MappingProxyType({})
    rules: Mapping[str, Rule] = MappingProxyType({})
    min_versions: Mapping[str, int] = WITHOUT_ZOOKEEPER
    txn_offset_commit: tuple[Rule, ...] = ()
    end_txn: tuple[Rule, ...] = ()
    list_groups: tuple[Rule, ...] = ()
    delete_groups: tuple[Rule, ...] = ()
    offset_delete: tuple[Rule, ...] = ()
    cleanup: tuple[Retention, ...] = ()
    waiting: frozenset[str] = frozenset()

    def with_rules(self, *others: Rule) -> Profile:
        """The same, knowing its rules by name: those of its tables, and `others`."""
        tables = (
            self.join_gate,
            self.join_unknown,
            self.join_known,
            self.sync_group,
            self.heartbeat,
            self.leave_group,
            self.offset_commit,
            self.offset_fetch,
            self.describe_groups,
            self.txn_offset_commit,
            self.end_txn,
            self.list_groups,
            self.delete_groups,
            self.offset_delete,
            tuple(retention.rule for retention in self.cleanup),
            others,
        )
        return self._replace(rules=by_name(*tables))


def by_name(*tables: tuple[Rule, ...]) -> dict[str, Rule]:
    """The rules of all tables."""
    return {rule.name: rule for table in tables for rule in table}


def cited(tables: Mapping[str, Rule], sources: Mapping[str, str]) -> tuple[Rule, ...]:
    """A table of rules by name, in the order of `sources`, each where that version states it."""
    return tuple(tables[name].at(source) for name, source in sources.items())


class Outcome(NamedTuple):
    """One lawful result of an input: the state after, the answers, the rules that fired.

    `reasons` has, for each answer, the rule that gave it.
    """

    coordinator: Coordinator
    responses: tuple[Response, ...]
    fired: tuple[str, ...]
    reasons: tuple[str, ...]


class Step:
    """One step in the making; actions read and change it."""

    __slots__ = (
        "_script",
        "_taken",
        "active",
        "appended",
        "appends",
        "before",
        "committed",
        "config",
        "failed",
        "failing",
        "fired",
        "group",
        "holding",
        "log",
        "profile",
        "reasons",
        "responses",
        "serving",
    )

    def __init__(
        self, before: Coordinator, profile: Profile, config: Config, script: Sequence[int]
    ) -> None:
        self.group, self.holding, self.appends = before[:3]
        self.serving, self.active, self.failing, self.log, self.committed = before[3:]
        self.profile = profile
        self.config = config
        self.failed = ErrorCode.NONE  # with what an append of this step failed
        self.before = before.group
        self.appended: tuple[Appended, ...] = ()
        self.responses: list[Response] = []
        self.fired: list[str] = []
        self.reasons: list[str] = []
        self._script = script
        self._taken: list[tuple[int, int]] = []

    @property
    def existing(self) -> Group:
        """The group, where a rule has made sure that there is one."""
        if self.group is None:
            msg = "a rule asked for the group before making sure that it exists"
            raise LookupError(msg)
        return self.group

    @property
    def begets(self) -> bool:
        """Whether the group has come into being in this step."""
        return self.group is not None and self.before is None

    def answer(self, request_id: int, body: ResponseBody, reason: str | None = None) -> None:
        """Release the answer to a request; the reason is the rule applied last, or another one.

        The answer is held back if that is a rule whose answers wait, and there is something to wait
        for; but JoinGroup and SyncGroup are answered by the group, whatever brings it about.
        """
        why = reason or self.fired[-1]
        waits = self.committed is not None and why in self.profile.waiting
        if waits and not isinstance(body, JoinGroupResponse | SyncGroupResponse):
            self.appends = (*self.appends, HeldAnswer(request_id, API_OF[type(body)], body))
            return
        self.responses.append(Response(request_id, body))
        self.reasons.append(why)

    def append_record(self, record: Appended) -> None:
        """Note that a record is in the log from now on."""
        self.appended = (*self.appended, record)

    def fire(self, rule: Rule) -> None:
        """Note that a rule was applied."""
        self.fired.append(rule.name)

    def choose(self, _why: Open, options: Sequence[T]) -> T:
        """One of the options; over all outcomes of the step, each of them."""
        if len(options) == 1:
            return options[0]
        at = len(self._taken)
        index = self._script[at] if at < len(self._script) else 0
        self._taken.append((index, len(options)))
        return options[index]

    def next_script(self) -> list[int] | None:
        """The choices of the next run, in lexicographic order; None after the last."""
        taken = self._taken
        while taken:
            index, arity = taken.pop()
            if index + 1 < arity:
                return [*(i for i, _ in taken), index + 1]
        return None

    def outcome(self) -> Outcome:
        """What the step has come to."""
        waits = self.appends and self.profile.traits.answers_wait
        return Outcome(
            Coordinator(
                self.group,
                self.holding,
                _still_due(self.appends, self.responses) if waits else self.appends,
                self.serving,
                self.active,
                self.failing,
                self.log,
                self.committed,
            ),
            tuple(self.responses),
            tuple(self.fired),
            tuple(self.reasons),
        )


def _still_due(appends: Iterable[Append], responses: Iterable[Response]) -> tuple[Append, ...]:
    """What is held, but for parked requests that have been answered now."""
    answered = {response.request_id for response in responses}
    return tuple(
        a._replace(request_id=None)
        if isinstance(a, GroupAppend) and a.request_id in answered
        else a
        for a in appends
        if not (isinstance(a, HeldRequest) and a.request_id in answered)
    )


def decide(step: Step, request: Request, rules: Iterable[Rule]) -> bool:
    """Apply the first rule whose guard holds; False if none does."""
    for rule in rules:
        if rule.when(step, request):
            step.fired.append(rule.name)
            rule.then(step, request)
            return True
    return False


def outcomes(
    before: Coordinator, profile: Profile, config: Config, act: Callable[[Step], Any]
) -> list[Outcome]:
    """Every lawful outcome of an action, each once."""
    found: list[Outcome] = []
    for step in steps(before, profile, config, act):
        outcome = step.outcome()
        if not found or outcome not in found:
            found.append(outcome)
    return found


def steps(
    before: Coordinator, profile: Profile, config: Config, act: Callable[[Step], Any]
) -> Iterator[Step]:
    """Every lawful way of an action, as the step that was made."""
    script: list[int] | None = []
    while script is not None:
        step = Step(before, profile, config, script)
        act(step)
        yield step
        script = step.next_script()


def source(file: str) -> Callable[[int], str]:
    """Lines of one file of Kafka, as a rule cites them."""

    def line(number: int) -> str:
        return f"{file}:{number}"

    return line


def instance_of(request: Request) -> str | None:
    """The group.instance.id that a request names, None if it names none."""
    found: str | None = getattr(request.body, "group_instance_id", None)
    return found


def fenced(step: Step, request: Request) -> bool:
    """Whether the request's group.instance.id stands for another member (GroupMetadata:399)."""
    member_id = step.existing.static(instance_of(request))
    return member_id is not None and member_id != getattr(request.body, "member_id", None)


def unregistered(step: Step, request: Request) -> bool:
    """Whether the request's group.instance.id stands for no member."""
    instance_id = instance_of(request)
    return instance_id is not None and step.existing.static(instance_id) is None


# The files that nearly every rule of profile 2.7 cites, at tag 2.7.2.
gc = source("GroupCoordinator.scala")
gm = source("GroupMetadata.scala")
gmm = source("GroupMetadataManager.scala")
apis = source("KafkaApis.scala")


def no_group(step: Step, request: Request) -> bool:
    """The group does not exist, as one without a name never does."""
    group = step.group
    gone = group is None or group.state is GroupState.DEAD
    return gone or getattr(request.body, "group_id", None) == ""
