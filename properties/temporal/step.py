"""The steps of a state space, as properties see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter
from typing import Final, TypeVar, cast

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.state import (
    Advance,
    Append,
    Configure,
    Coordinator,
    Crash,
    Group,
    GroupAppend,
    HeldAnswer,
    HeldDeletion,
    HeldRequest,
    Load,
    Loading,
    Member,
    OffsetsAppend,
    Shutdown,
    StaticAppend,
    Unload,
)
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.vocabulary import (
    DeleteGroupsResponse,
    ErrorCode,
    GroupState,
    LeaveGroupResponse,
    OffsetCommitResponse,
    Request,
    RequestBody,
    Response,
    ResponseBody,
    TxnOffsetCommitResponse,
)

B = TypeVar("B")

# The inputs that lose a group or load it.
FAILOVER: Final = (Crash, Unload, Loading, Load, Shutdown, Configure)

WITHOUT_MEMBERS: Final = frozenset({GroupState.EMPTY, GroupState.DEAD})


@dataclass(eq=False)
class CheckedStep:
    """One outcome of one input in one state of a space.

    The state after has the names and generations of the state before, so that members and requests
    can be followed. (The transition of the space leads to the canonical state.)
    """

    node: int
    before: Coordinator
    given: Input
    after: Coordinator
    responses: tuple[Response, ...]
    applied: tuple[str, ...]
    profile: Profile
    config: Config

    # Properties read these again and again.
    @cached_property
    def old(self) -> Group:
        """The group before; an Empty one if there was none."""
        return self.before.group or Group()

    @cached_property
    def new(self) -> Group:
        """The group after; an Empty one if there is none."""
        return self.after.group or Group()

    @property
    def group_max_size(self) -> int:
        """The group.max.size of the broker that has the partition after the step."""
        size = self.after.max_size
        return self.config.group_max_size if size is None else size

    @property
    def passed_ms(self) -> int:
        """The time that passes in the step."""
        return self.given.ms if isinstance(self.given, Advance) else 0

    @cached_property
    def body(self) -> RequestBody | None:
        """The body of the request, if the input is one."""
        return self.given.body if isinstance(self.given, Request) else None

    def body_of(self, _cls: type[B]) -> B:
        """The body of the request, which is of that class."""
        return cast("B", self.body)

    @cached_property
    def answer(self) -> ResponseBody | None:
        """The response to the request of the step, sent or held; None if it is not known yet."""
        own = getattr(self.given, "request_id", None)
        now = (r.body for r in self.responses if r.request_id == own)
        held = (each for each in self.after.appends if isinstance(each, HeldAnswer))
        later = (each.body for each in held if each.request_id == own)
        return next(chain(now, later), None)

    @cached_property
    def errors(self) -> list[ErrorCode]:
        """The error codes of that response; none if there is no response."""
        return [] if self.answer is None else error_codes(self.answer)

    @cached_property
    def renamed(self) -> dict[str, str]:
        """The new member ids of static members that rejoined in this step, by their old ids."""
        after = dict(self.new.statics)
        return {
            old: after[instance_id]
            for instance_id, old in self.old.statics
            if self.old.member(old) is not None
            and self.new.member(old) is None
            and self.new.member(after.get(instance_id, "")) is not None
        }

    def successor_member(self, member: Member) -> Member | None:
        """The member after the step, perhaps with a new id; None if it was removed."""
        return self.new.member(self.renamed.get(member.member_id, member.member_id))


def checked_steps(space: StateSpace) -> Iterator[CheckedStep]:
    """Every outcome of every transition, the states in the order in which they were found."""
    return chain.from_iterable(checked_steps_of(space, node) for node in range(len(space.nodes)))


def checked_steps_of(space: StateSpace, node: int) -> Iterator[CheckedStep]:
    """Every outcome of every transition of a state."""
    instance, before = space.instance, space.nodes[node]
    profile, config = instance.profile, instance.config
    for given, _ in groupby(space.edges[node], key=attrgetter("given")):
        for after, responses, applied, _ in successors(before, given, profile, config):
            if instance.admits(after):
                yield CheckedStep(node, before, given, after, responses, applied, profile, config)


def node_of(space: StateSpace, after: Coordinator) -> tuple[int, dict[str, str]]:
    """The number of the canonical state, and the names in it of the members that are renamed."""
    number = space.numbers.get(after)
    if number is not None:
        return number, {}
    form = space.canonical(after)
    return space.numbers[form.node], form.names


def transition_of(space: StateSpace, step: CheckedStep) -> TransitionReference:
    """The transition with this outcome."""
    responses = tuple(sorted(step.responses, key=attrgetter("request_id")))
    label = step.given, responses, node_of(space, step.after)[0]
    edges = space.edges[step.node]
    return TransitionReference(
        step.node, next(i for i, edge in enumerate(edges) if edge[:3] == label)
    )


def waiting(state: Coordinator) -> set[int]:
    """The requests that have no response yet."""
    members = state.group.members if state.group else ()
    parked = {i for m in members for i in (m.awaiting_join, m.awaiting_sync) if i is not None}
    kinds = OffsetsAppend | HeldAnswer | HeldDeletion
    held = {e.request_id for e in state.appends if isinstance(e, kinds)}
    return parked | held | orphaned_joins(state)


def orphaned_joins(state: Coordinator) -> set[int]:
    """The JoinGroups of static members that wait for an append although the group was unloaded."""
    entries = (e.after_unload for e in state.appends if isinstance(e, StaticAppend))
    return {each[0] for each in entries if each is not None}


def answered_if_lost(state: Coordinator) -> set[int]:
    """The requests that get a response if the partition is lost, even if the group gave them up.

    Source: 4.1 CoordinatorRuntime.java:747.
    """
    held = (e.request_id for e in state.appends if isinstance(e, GroupAppend | HeldRequest))
    return {request_id for request_id in held if request_id is not None}


def appended(step: CheckedStep) -> list[Append]:
    """The appends that the step adds; the step may also have answered a held request."""
    before, after = step.before.appends, step.after.appends
    kept = [entry for entry in before if not isinstance(entry, HeldRequest) or entry in after]
    return list(after[len(kept) :])


def error_codes(body: ResponseBody) -> list[ErrorCode]:
    """The error codes of a response: of each partition, group or member, or of the whole."""
    if isinstance(body, OffsetCommitResponse | TxnOffsetCommitResponse):
        return [partition.error_code for topic in body.topics for partition in topic.partitions]
    if isinstance(body, DeleteGroupsResponse):
        return [result.error_code for result in body.results]
    if isinstance(body, LeaveGroupResponse) and body.members:
        return [member.error_code for member in body.members]
    return [getattr(body, "error_code", ErrorCode.NONE)]
