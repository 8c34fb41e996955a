"""A step of the coordinator while rules build it, its outcomes, and the profile of its rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.config import Config
from groupcheck.model.classic.state import (
    UNKNOWN,
    Append,
    Coordinator,
    Group,
    GroupAppend,
    HeldAnswer,
    HeldRequest,
    Member,
)
from groupcheck.model.classic.storing.appended import Appended
from groupcheck.model.engine import step as engine
from groupcheck.model.engine.edits import Edit, edited
from groupcheck.model.engine.rules import Version, VersionRule
from groupcheck.model.vocabulary import ErrorCode, Response, ResponseBody

# Version 0 of these two is ZooKeeper's.
WITHOUT_ZOOKEEPER: Mapping[str, int] = MappingProxyType({"OffsetCommit": 1, "OffsetFetch": 1})


class Profile(NamedTuple):
    """One version of Kafka: its rules, its supported API versions, and its defaults.

    An API that `min_versions` does not name has versions from 0 on. `group_errors` and
    `commit_errors` map the error of an append to the answer of SyncGroup and OffsetCommit (and of
    JoinGroup and LeaveGroup); an error that they do not name is passed on. `deferred` are the rules
    whose answers wait until every record is committed. Edited rules may read what does not exist: a
    step that raises one of the `impossible` has no outcome. `edits` are those applied so far.
    """

    name: str
    kafka: str
    version: Version
    rules: Mapping[str, VersionRule]
    deferred: frozenset[str]
    max_versions: Mapping[str, int]
    config: Config
    group_errors: Mapping[ErrorCode, ErrorCode]
    commit_errors: Mapping[ErrorCode, ErrorCode]
    min_versions: Mapping[str, int] = WITHOUT_ZOOKEEPER
    impossible: tuple[type[Exception], ...] = ()
    edits: tuple[Edit, ...] = ()

    def of(self, version: Version) -> Profile:
        """The same profile with the rules of that version."""
        rules = version.rules
        deferred = frozenset(rule.id for rule in rules.values() if rule.deferred)
        return self._replace(version=version, rules=rules, deferred=deferred)

    def edited(self, *edits: Edit) -> Profile:
        """The same profile with its rules edited.

        Raises:
            UnknownPartError: an edit names a part that the version does not have.
        """
        changed = self.of(edited(self.version, edits))
        return changed._replace(impossible=(Exception,), edits=(*self.edits, *edits))


class Outcome(NamedTuple):
    """One allowed result of an input: the state after it, the answers, the rules applied.

    `reasons` has, for each answer, the rule that gave it.
    """

    coordinator: Coordinator
    responses: tuple[Response, ...]
    applied: tuple[str, ...]
    reasons: tuple[str, ...]


class Step(engine.EngineStep):
    """One step while rules build it: guards read it, and effects change it."""

    __slots__ = (
        "active",
        "appended",
        "appends",
        "before",
        "committed",
        "config",
        "failed",
        "failing",
        "group",
        "holding",
        "log",
        "max_size",
        "profile",
        "reasons",
        "removed_group_join_ms",
        "responses",
        "serving",
    )

    def __init__(
        self, before: Coordinator, profile: Profile, config: Config, script: Sequence[int]
    ) -> None:
        super().__init__(profile.version, script)
        self.group, self.holding, self.appends = before[:3]
        self.serving, self.active, self.failing, self.log, self.committed = before[3:8]
        self.max_size = before.max_size
        self.removed_group_join_ms = before.removed_group_join_ms
        self.profile = profile
        self.config = config
        self.failed = ErrorCode.NONE  # the error of an append of this step
        self.before = before.group
        self.appended: tuple[Appended, ...] = ()
        self.responses: list[Response] = []
        self.reasons: list[str] = []

    @property
    def existing(self) -> Group:
        """The group; a rule has checked that it exists."""
        if self.group is None:
            msg = "a rule asked for the group before making sure that it exists"
            raise LookupError(msg)
        return self.group

    @property
    def members(self) -> tuple[Member, ...]:
        """The members of the group; a rule has checked that it exists."""
        return self.existing.members

    @property
    def group_max_size(self) -> int:
        """The group.max.size of the broker that has the partition."""
        return self.config.group_max_size if self.max_size is None else self.max_size

    @property
    def created(self) -> bool:
        """Whether this step has created the group."""
        return self.group is not None and self.before is None

    def answer(self, request_id: int | None, body: ResponseBody, reason: str | None = None) -> None:
        """Answer a request; the reason is the rule applied last, unless another one is given.

        The answer is deferred if its rule defers answers and a record is not committed. JoinGroup
        and SyncGroup are exempt: the group answers them.

        Raises:
            LookupError: an edited rule answers a parked request where none is parked.
        """
        if request_id is None:
            msg = "a rule answers a parked request, and none is parked"
            raise LookupError(msg)
        why = reason or self.applied[-1]
        if self.version.answers:
            for change in self.version.answers.get(why, ()):
                body = change(body)
        waits = self.committed is not None and why in self.profile.deferred
        if waits and not isinstance(body, kafka.JoinGroupResponse | kafka.SyncGroupResponse):
            self.appends = (*self.appends, HeldAnswer(request_id, kafka.API_OF[type(body)], body))
            return
        self.responses.append(Response(request_id, body))
        self.reasons.append(why)

    def append_record(self, record: Appended) -> None:
        """Note that a record is in the log from now on."""
        self.appended = (*self.appended, record)

    def outcome(self) -> Outcome:
        """The state after the step, its answers and the rules applied."""
        ends = self.version.unknown_after
        is_unknown = bool(ends) and not ends.isdisjoint(self.reasons)
        # Edited rules may create the group with the empty id beside the tested one.
        is_unknown |= bool(self.profile.edits and self.group and self.group.has_empty_id)
        return Outcome(
            UNKNOWN if is_unknown else self._after(),
            tuple(self.responses),
            tuple(self.applied),
            tuple(self.reasons),
        )

    def _after(self) -> Coordinator:
        return Coordinator(
            self.group,
            self.holding,
            _still_due(self.appends, self.responses) if self.appends else (),
            self.serving,
            self.active,
            self.failing,
            self.log,
            self.committed,
            self.max_size,
            self.removed_group_join_ms,
        )


def _still_due(appends: Iterable[Append], responses: Iterable[Response]) -> tuple[Append, ...]:
    """The appends without the parked requests that have been answered now."""
    answered = {response.request_id for response in responses}
    return tuple(
        a._replace(request_id=None)
        if isinstance(a, GroupAppend) and a.request_id in answered
        else a
        for a in appends
        if not (isinstance(a, HeldRequest) and a.request_id in answered)
    )


def outcomes(
    before: Coordinator, profile: Profile, config: Config, act: Callable[[Step], Any]
) -> list[Outcome]:
    """Every allowed outcome of an action, each once."""
    found: list[Outcome] = []
    for step in steps(before, profile, config, act):
        outcome = step.outcome()
        if not found or outcome not in found:
            found.append(outcome)
    return found


def steps(
    before: Coordinator, profile: Profile, config: Config, act: Callable[[Step], Any]
) -> Iterator[Step]:
    """Every outcome of an action, as its step."""
    return engine.steps(partial(Step, before, profile, config), act, profile.impossible)
