"""Minor versions of Kafka that differ from all `PROFILES`, each as edits of the nearest one.

They are for checking brokers: they have no PlusCal module and no implementation. A source
`FILE:LINE of TAG` is a line of the oldest release that has the behaviour; rules without an edit
have the source of their profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from groupcheck.model.classic.apis.offset_commit import offsets_of, utf16_length
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.rules.guards import EMPTY, NO_GROUP, is_missing
from groupcheck.model.classic.rules.members import drop_with_instances
from groupcheck.model.classic.rules.timeouts import SYNC_TIMER
from groupcheck.model.classic.step import Profile, Step
from groupcheck.model.engine.edits import (
    AddGuard,
    AddRule,
    DropGuard,
    DropRule,
    Edit,
    Exchange,
    ReplaceEffects,
    SetBehaviour,
)
from groupcheck.model.engine.rules import Effect, Guard, Version, VersionRule
from groupcheck.model.vocabulary import Request

EditOfVersion = Callable[[Version], Version]


class Change(NamedTuple):
    """A difference from 2.7 (`words`), the minor profiles that have it, and its edits.

    `issue` is Kafka's, `source` the line of the oldest release that has it.
    """

    words: str
    issue: str
    source: str
    profiles: tuple[str, ...]
    edits: tuple[Edit | EditOfVersion, ...]


_OLD, _NEW = PROFILES["2.7"].version, PROFILES["4.1"].version
_UNNAMED: Final = Guard(
    "the request has no member id and no group.instance.id",
    lambda _step, request: not request.body.member_id and request.body.group_instance_id is None,
)
_NAMED: Final = Guard(
    "the request has a member id or a group.instance.id", lambda s, r: not _UNNAMED.holds(s, r)
)
_EMPTY_WITHOUT_GENERATION: Final = Guard(
    "the group is Empty or does not exist, and the request has no generation",
    lambda step, request: (
        request.body.generation_id < 0
        and (is_missing(step, request) or step.existing.state is EMPTY)
    ),
    states=NO_GROUP.states | {EMPTY},
)


def _guard(version: Version, rule: str, at: int) -> Guard:
    return version.rules[rule].guards[at]


def _effects(version: Version, rule: str) -> tuple[Effect, ...]:
    return version.rules[rule].effects


def _add(rule: str, before: str, source: str, version: Version = _NEW) -> AddRule:
    """Add a rule of another version."""
    return AddRule(version.rules[rule]._replace(source=source, deferred=False), before)


def _starts_sync_timer(version: Version) -> Version:
    """The version with 4.1's timer for SyncGroups."""
    rules = (
        rule._replace(source="GroupCoordinator.scala:1305 of 2.8.2")
        for rule in _NEW.tables[SYNC_TIMER.name]
    )
    return version._replace(tables={**version.tables, SYNC_TIMER.name: tuple(rules)})


def _takes_timeouts(version: Version) -> Version:
    """The version with 4.1's way to park a JoinGroup."""
    taken = {"park-join": _NEW.procedures["park-join"]}
    return version._replace(procedures={**version.procedures, **taken})


def _leaves_first_timers(version: Version) -> Version:
    """The version that starts no session timer when the first join phase of a member ends.

    The timer that limits how long its JoinGroup stays parked continues.
    """
    *others, admit = _effects(version, "rebalance/complete")

    def apply(step: Step, subject: object) -> None:
        left_ms = {m.member_id: m.session_left_ms for m in step.members if m.is_new}
        admit.apply(step, subject)
        for member in step.members:
            kept_ms = left_ms.get(member.member_id, member.session_left_ms)
            step.group = step.existing.with_member(member._replace(session_left_ms=kept_ms))

    words = (
        "answer every parked JoinGroup and restart every session timer except those of new members"
    )
    return ReplaceEffects("rebalance/complete", (*others, Effect(words, apply)))(version)


def _returns_without_timer(version: Version) -> Version:
    """The version that starts no timer when a new static member rejoins."""
    (replace,) = _effects(version, "join/static-preparing")

    def apply(step: Step, request: Request) -> None:
        replace.apply(step, request)
        for member in step.members:
            if member.is_new and member.awaiting_join == request.request_id:
                step.group = step.existing.with_member(member._replace(session_left_ms=None))

    words = f"{replace.words}, without a session timer if the member is new"
    return ReplaceEffects("join/static-preparing", (Effect(words, apply),))(version)


def _keeps_pending(version: Version) -> Version:
    """The version in which the rejection of a member by a full group keeps its pending id."""
    _, reply = _effects(version, "join/group-full")

    def apply(step: Step, request: Request) -> None:
        member = step.existing.member(request.body.member_id)  # type: ignore[union-attr]
        if member is not None:
            drop_with_instances(step, [member])

    drop = Effect("remove the member and its group.instance.id", apply)
    return ReplaceEffects("join/group-full", (drop, reply))(version)


def _forgets_refused(version: Version) -> Version:
    """The version in which only the stored partitions of an OffsetCommit are pending."""
    for rule in ("commit/simple-no-group", "commit/simple-empty", "commit/member"):
        *others, store = _effects(_OLD, rule)
        edit = ReplaceEffects(rule, (*others, Effect(store.words, _without_refused(store))))
        version = edit(version)
    return version


def _without_refused(store: Effect) -> Callable[[Step, Request], None]:
    def apply(step: Step, request: Request) -> None:
        store.apply(step, request)
        most = step.config.offset_metadata_max_bytes
        named = offsets_of(step, request)
        refused = {partition for partition, each in named if utf16_length(each.metadata) > most}
        unstable = (each for each in step.existing.unstable if each[0] not in refused)
        step.group = step.existing._replace(unstable=tuple(unstable))

    return apply


_NOTE_SYNCED: Final = _effects(_NEW, "sync/stable")[0]
_CURRENT: Final = "GroupCoordinator.scala:341 of 3.0.2"  # validateCurrentMember
_COMMITS: Final = "GroupCoordinator.scala:946 of 3.0.2"  # validateOffsetCommit
_FREE: Final = "GroupCoordinator.scala:987 of 3.3.2"
_HEARTBEAT: Final = "GroupCoordinator.scala:621 of 2.5.1"
_RETURN: Final = "GroupCoordinator.scala:1016 of 2.5.1"
_3_0: Final = ("3.2", "3.6", "3.7", "3.9")
_3_3: Final = _3_0[1:]
CHANGES: Final[tuple[Change, ...]] = (
    Change(
        "a member that has joined for the first time has no session timer until it sends another"
        " request; it is removed 5 minutes after its JoinGroup",
        "KAFKA-9752",
        "GroupCoordinator.scala:1105 of 2.4.1",
        ("2.4",),
        (_leaves_first_timers, _returns_without_timer),
    ),
    Change(
        "a static member that rejoins before the assignments arrive starts no rebalance",
        "KAFKA-9801",
        "GroupCoordinator.scala:220 of 2.4.1",
        ("2.4",),
        (ReplaceEffects("join/static-completing", _effects(_OLD, "join/static-unchanged")),),
    ),
    Change(
        "a heartbeat while the group waits for assignments is answered REBALANCE_IN_PROGRESS",
        "KAFKA-10134",
        _HEARTBEAT,
        ("2.4", "2.5"),
        (
            _add(
                "heartbeat/completing",
                "heartbeat/preparing",
                _HEARTBEAT,
                PROFILES["0.10.2"].version,
            ),
        ),
    ),
    Change(
        "a static member that rejoins a Stable group starts no rebalance, whatever protocols it "
        "offers",
        "KAFKA-10284",
        _RETURN,
        ("2.4", "2.5"),
        (DropGuard("join/static-unchanged", _guard(_OLD, "join/static-unchanged", 2).words),),
    ),
    Change(
        "members that do not send SyncGroup within the rebalance timeout are removed",
        "KAFKA-12890",
        "GroupCoordinator.scala:1276 of 2.8.2",
        ("2.8", *_3_0),
        (
            _starts_sync_timer,
            ReplaceEffects("rebalance/complete", _effects(_NEW, "rebalance/complete")),
            *(
                ReplaceEffects(rule, (_NOTE_SYNCED, *_effects(_OLD, rule)))
                for rule in ("sync/leader-completing", "sync/follower-completing", "sync/stable")
            ),
        ),
    ),
    Change(
        "a full group removes the group.instance.id of the member that it rejects, and not the one"
        " that the request has",
        "pull request 9952",
        "GroupMetadata.scala:258 of 2.8.2",
        ("2.8",),
        (_keeps_pending,),
    ),
    Change(
        "a full group removes the group.instance.id and the pending id of the member that it"
        " rejects, and not the group.instance.id that the request has",
        "pull request 9952 and KAFKA-12890",
        "GroupMetadata.scala:265 of 3.0.2",
        _3_0,
        (ReplaceEffects("join/group-full", _effects(_NEW, "join/group-full")),),
    ),
    Change(
        "no offset of a group with members expires while it rebalances",
        "KAFKA-13636",
        "GroupMetadata.scala:771 of 2.8.2",
        ("2.8", *_3_0),
        (AddGuard("cleanup/consumers", _guard(_NEW, "cleanup/consumers", 0)),),
    ),
    Change(
        "a group.instance.id that no member has is answered UNKNOWN_MEMBER_ID",
        "pull request 9958",
        _CURRENT,
        _3_0,
        (
            _add("heartbeat/unknown-instance", "heartbeat/fenced", _CURRENT),
            _add("sync/unknown-instance", "sync/fenced", _CURRENT),
            _add("commit/unknown-instance", "commit/fenced", _CURRENT),
            _add("leave/unknown-instance", "leave/unknown-member", _CURRENT),
        ),
    ),
    Change(
        "LeaveGroup removes a pending member id, whatever group.instance.id the request has",
        "pull request 9958",
        "GroupCoordinator.scala:655 of 3.0.2",
        _3_0,
        (DropRule("leave/pending-static"), Exchange("leave/fenced", "leave/pending-member")),
    ),
    Change(
        "a TxnOffsetCommit with a member id, a group.instance.id or a generation has to come "
        "from a current member",
        "pull request 9958",
        _COMMITS,
        _3_0,
        (
            *(
                edit
                for rule in ("txn-commit/unknown-member", "txn-commit/other-generation")
                for edit in (
                    DropGuard(rule, _guard(_OLD, rule, 0).words),
                    AddGuard(rule, _guard(_NEW, rule, 0)),
                )
            ),
            _add("txn-commit/unknown-instance", "txn-commit/other-generation", _COMMITS),
        ),
    ),
    Change(
        "a commit without a generation to an Empty group must not have a member id or a "
        "group.instance.id",
        "KAFKA-14201",
        _COMMITS,
        ("3.2",),
        (
            AddGuard("commit/simple-empty", _UNNAMED),
            AddRule(
                VersionRule(
                    "commit/named-no-group",
                    "the group does not exist, and the request has a member id or a "
                    "group.instance.id but no generation",
                    _COMMITS,
                    (*_OLD.rules["commit/simple-no-group"].guards, _NAMED),
                    (
                        _effects(_OLD, "commit/simple-no-group")[0],
                        *_effects(_OLD, "commit/unknown-member"),
                    ),
                ),
                "commit/simple-no-group",
            ),
        ),
    ),
    Change(
        "any commit without a generation to an Empty group is accepted",
        "KAFKA-14201",
        _FREE,
        _3_3,
        (
            Exchange("commit/unknown-instance", "commit/simple-empty"),
            AddRule(
                VersionRule(
                    "txn-commit/simple",
                    "a group that has no members or does not exist accepts any commit without a"
                    " generation",
                    _FREE,
                    (_EMPTY_WITHOUT_GENERATION,),
                    _effects(_OLD, "txn-commit/pending"),
                ),
                "txn-commit/fenced",
            ),
        ),
    ),
    Change(
        "a member that rejoins gets the timeouts of the request",
        "KAFKA-14009",
        "GroupMetadata.scala:535 of 3.3.2",
        _3_3,
        (_takes_timeouts,),
    ),
    Change(
        "a static leader that rejoins with JoinGroup v9 need not assign again",
        "KIP-814",
        "GroupCoordinator.scala:1332 of 3.2.3",
        _3_0,
        (
            _add(
                "join/static-restarted",
                "join/static-unchanged",
                "GroupCoordinator.scala:1332 of 3.2.3",
            ),
        ),
    ),
    Change(
        "a refused partition of a commit is not pending",
        "KAFKA-16371",
        "GroupMetadataManager.scala:494 of 3.7.1",
        ("3.7", "3.9"),
        (SetBehaviour("refused-partitions-are-pending", holds=False), _forgets_refused),
    ),
    Change(
        "ListGroups ignores the case of states",
        "KAFKA-16095",
        "GroupCoordinator.scala:1125 of 3.8.0",
        ("3.9",),
        (
            DropGuard("list/other-state", _guard(_OLD, "list/other-state", 0).words),
            AddGuard("list/other-state", _guard(_NEW, "list/other-state", 0)),
        ),
    ),
)
# The minor versions that each profile describes, and the API versions that it adds to 2.7's.
_3_2: Final = {"JoinGroup": 9, "LeaveGroup": 5}
_DESCRIBED: Final[Mapping[str, tuple[str, Mapping[str, int]]]] = {
    "2.4": ("2.4", {}),
    "2.5": ("2.5", {}),
    "2.8": ("2.8", {}),
    "3.2": ("3.0 to 3.2", _3_2),
    "3.6": ("3.3 to 3.6", _3_2),
    "3.7": ("3.7", _3_2),
    "3.9": ("3.8 and 3.9", _3_2),
}


def changes_of(name: str) -> tuple[Change, ...]:
    """The differences of a minor profile from 2.7."""
    return tuple(each for each in CHANGES if name in each.profiles)


def _profile(name: str, minors: str, more: Mapping[str, int]) -> Profile:
    base = PROFILES["2.7"]
    version = base.version._replace(name=name)
    for change in changes_of(name):
        for edit in change.edits:
            version = edit(version)
    max_versions = {**base.max_versions, **more}
    changed = base._replace(name=name, kafka=f"Apache Kafka {minors}", max_versions=max_versions)
    # Before 2.6 Kafka throws an exception if a static member rejoins without the group's protocol.
    return changed.of(version)._replace(impossible=(RuntimeError,) if name < "2.6" else ())


MINORS: Final[Mapping[str, Profile]] = MappingProxyType(
    {name: _profile(name, *described) for name, described in _DESCRIBED.items()}
)
_EVERY: Final = {**PROFILES, **MINORS}
# Every profile that a broker can be checked against, the oldest first.
EVERY_PROFILE: Final[Mapping[str, Profile]] = MappingProxyType(
    {name: _EVERY[name] for name in sorted(_EVERY, key=lambda n: [*map(int, n.split("."))])}
)
