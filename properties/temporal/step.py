"""What a law is, how a step of a space is looked at, and which breaks of a law are Kafka's own.

The laws themselves stand in `safety` and `liveness`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, groupby
from operator import attrgetter
from typing import Final, NamedTuple

from groupcheck.model.config import Config
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.state import (
    Append,
    Cleanup,
    Coordinator,
    Group,
    GroupAppend,
    HeldAnswer,
    HeldRequest,
    Member,
    OffsetsAppend,
    StaticAppend,
)
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import (
    GroupState,
    HeartbeatRequest,
    Request,
    RequestBody,
    Response,
    ResponseBody,
)


class Property(NamedTuple):
    """Something that holds of every group; `source` is a line of Kafka 2.7.2, or a KIP."""

    name: str
    words: str
    source: str


class CheckedStep(NamedTuple):
    """One outcome of one input in one node of a space.

    It is a transition with what the edge has forgotten: the state after in the names and
    generations of the state before, so that members and requests can be followed.
    """

    node: int
    before: Coordinator
    given: Input
    after: Coordinator
    responses: tuple[Response, ...]
    fired: tuple[str, ...]
    profile: Profile
    config: Config

    @property
    def old(self) -> Group:
        """The group before; one that does not exist yet is as good as an Empty one."""
        return self.before.group or Group()

    @property
    def new(self) -> Group:
        """The group after."""
        return self.after.group or Group()

    @property
    def body(self) -> RequestBody | None:
        """What was asked, if this is the step of a request."""
        return self.given.body if isinstance(self.given, Request) else None

    @property
    def renamed(self) -> dict[str, str]:
        """Static members that came back in this step: their old ids, and the new ones."""
        after = dict(self.new.statics)
        return {
            old: after[instance_id]
            for instance_id, old in self.old.statics
            if self.old.member(old) is not None
            and self.new.member(old) is None
            and self.new.member(after.get(instance_id, "")) is not None
        }

    def successor_member(self, member: Member) -> Member | None:
        """The member after the step, perhaps under a new id; None if it is gone."""
        return self.new.member(self.renamed.get(member.member_id, member.member_id))


class KnownViolation(NamedTuple):
    """A break of a law by Kafka itself, of a version; `covers` says which steps belong to it."""

    profile: str
    properties: tuple[str, ...]
    words: str
    source: str
    covers: Callable[[CheckedStep], bool]


class Violation(NamedTuple):
    """A law that does not hold, with a witness.

    `path` lead from the initial state to the break, its last step being the one that breaks the
    law; for liveness they lead to a `cycle` that can be gone through for ever. `known` is there if
    every way to break the prop is one that Kafka of that version is known for.
    """

    property: Property
    path: tuple[TransitionReference, ...]
    cycle: tuple[TransitionReference, ...] = ()
    known: KnownViolation | None = None


def checked_steps(space: StateSpace) -> Iterator[CheckedStep]:
    """Every outcome of every transition, the nodes in the order in which they were found."""
    return chain.from_iterable(checked_steps_of(space, node) for node in range(len(space.nodes)))


def checked_steps_of(space: StateSpace, node: int) -> Iterator[CheckedStep]:
    """Every outcome of every transition of a node."""
    instance, before = space.instance, space.nodes[node]
    profile, config = instance.profile, instance.config
    for given, _ in groupby(space.edges[node], key=attrgetter("given")):
        for after, responses, fired, _ in successors(before, given, profile, config):
            if instance.admits(after):
                yield CheckedStep(node, before, given, after, responses, fired, profile, config)


def node_of(space: StateSpace, after: Coordinator) -> tuple[int, dict[str, str]]:
    """The node a state is in the space, and the new names of the members that are renamed."""
    number = space.numbers.get(after)
    if number is not None:
        return number, {}
    frame = space.canonical(after)
    return space.numbers[frame.node], frame.names


def transition_of(space: StateSpace, step: CheckedStep) -> TransitionReference:
    """The transition that a step is an outcome of."""
    answers = tuple(sorted(step.responses, key=attrgetter("request_id")))
    label = step.given, answers, node_of(space, step.after)[0]
    edges = space.edges[step.node]
    return TransitionReference(
        step.node, next(i for i, edge in enumerate(edges) if edge[:3] == label)
    )


def waiting(state: Coordinator) -> set[int]:
    """The requests that wait for their answer."""
    members = state.group.members if state.group else ()
    parked = {i for m in members for i in (m.awaiting_join, m.awaiting_sync) if i is not None}
    held = {e.request_id for e in state.appends if isinstance(e, OffsetsAppend | HeldAnswer)}
    return parked | held | outlived(state)


def outlived(state: Coordinator) -> set[int]:
    """The JoinGroups of static members that wait for the log, their group having been unloaded."""
    entries = (e.outlived for e in state.appends if isinstance(e, StaticAppend))
    return {each[0] for each in entries if each is not None}


def answered_if_lost(state: Coordinator) -> set[int]:
    """The requests that are told if the partition is lost, whether the group waits for them or not.

    Source: 4.1 CoordinatorRuntime.java:747.
    """
    held = (e.request_id for e in state.appends if isinstance(e, GroupAppend | HeldRequest))
    return {request_id for request_id in held if request_id is not None}


def appended(step: CheckedStep) -> list[Append]:
    """What is held after the step and was not before; a parked request may be answered by then."""
    before, after = step.before.appends, step.after.appends
    kept = [entry for entry in before if not isinstance(entry, HeldRequest) or entry in after]
    return list(after[len(kept) :])


def answer_of(step: CheckedStep) -> ResponseBody | None:
    """What the request of the step is answered, at once or later; None if that is not known yet."""
    own = getattr(step.given, "request_id", None)
    now = (r.body for r in step.responses if r.request_id == own)
    later = (
        e.body for e in step.after.appends if isinstance(e, HeldAnswer) and e.request_id == own
    )
    return next(chain(now, later), None)


def known(profile: Profile, prop: Property) -> tuple[KnownViolation, ...]:
    """What Kafka of that version is known for, of that law."""
    return tuple(
        k for k in KNOWN_VIOLATIONS if k.profile == profile.name and prop.name in k.properties
    )


def _stuck(step: CheckedStep) -> bool:
    """The end of the join phase fails, or failed before: nothing will end that phase any more."""
    failed = step.old.state is GroupState.PREPARING_REBALANCE and step.old.join_timer is None
    return failed or "rebalance/no-protocol" in step.fired


def _cleanup_fails(step: CheckedStep) -> bool:
    return isinstance(step.given, Cleanup) and step.before.failing != step.after.failing


def _leader_heartbeats(step: CheckedStep) -> bool:
    """The leader, instead of bringing the assignments, says that it is alive."""
    return (
        step.old.state is GroupState.COMPLETING_REBALANCE
        and isinstance(step.given, Request)
        and isinstance(step.given.body, HeartbeatRequest)
        and step.given.body.member_id == step.old.leader
    )


def _forgets_an_instance(step: CheckedStep) -> bool:
    """Some member has an instance id that stands for another, or for nobody."""
    lost = {
        m.group_instance_id
        for m in step.old.members
        if m.group_instance_id is not None and step.old.static(m.group_instance_id) != m.member_id
    }
    named = [m.group_instance_id for m in step.new.members if m.group_instance_id is not None]
    return all(instance_id in lost for instance_id in named if named.count(instance_id) > 1)


def _assignments_stay(step: CheckedStep) -> bool:
    """Nobody has been assigned anything in this step; who comes back keeps what it had."""
    names = step.renamed
    before = {names.get(m.member_id, m.member_id): m.assignment for m in step.old.members}
    return all(before.get(m.member_id, b"") == m.assignment for m in step.new.members)


def _is_forgotten(step: CheckedStep) -> bool:
    """The group of which nothing is written is forgotten in this step."""
    return step.old.unwritten and "log/group-forgotten" in step.fired


def _spared_and_alive(step: CheckedStep) -> bool:
    """A member that counts as static and does not join again says that it is alive."""
    body = step.body
    member = step.old.member(body.member_id) if isinstance(body, HeartbeatRequest) else None
    preparing = step.old.state is GroupState.PREPARING_REBALANCE
    static = member is not None and (member.null_instance or member.group_instance_id is not None)
    return preparing and static


def _session_begins_by_itself(step: CheckedStep) -> bool:
    """A member that has sent nothing is given a new session as others end a join phase."""
    absent = {m.member_id for m in step.old.members if m.awaiting_join is None}
    ends = "rebalance/complete" in step.fired
    return ends and any(m.member_id in absent for m in step.new.members)


def _each_by_itself(step: CheckedStep) -> bool:
    """The time of all that expires is over."""
    left = dict(step.new.offsets)
    return all((o.left_ms or 0) < 0 for tp, o in step.old.offsets if tp not in left)


def _not_subscribed_before(step: CheckedStep) -> bool:
    """What expires had not been subscribed to, as far as is known."""
    known, left = step.old.subscribed, dict(step.new.offsets)
    return known is not None and all(
        tp[0] not in known for tp, _ in step.old.offsets if tp not in left
    )


def _with_its_group(step: CheckedStep) -> bool:
    """The group has had no members for as long as it retains offsets."""
    return step.old.state is GroupState.EMPTY and step.old.empty_left_ms == 0


def _takes_back_an_id(step: CheckedStep) -> bool:
    """Who leaves has an id that was given out and not used yet."""
    return "leave/pending-member" in step.fired


KNOWN_VIOLATIONS: Final = (
    *(
        KnownViolation(
            profile,
            ("answered-once", "preparing-ends", "join-answered", "silent-members-removed"),
            "a first member without protocols makes the end of the join phase fail half-way: it "
            "is told so and waits on nevertheless, and the group is stuck for good",
            f"KAFKA-6005 (mended in 1.0), {source}",
            _stuck,
        )
        for profile, source in (
            ("0.10.0", "GroupMetadata.scala:179 at 0.10.0.1"),
            ("0.10.2", "GroupMetadata.scala:207 at 0.10.2.2"),
        )
    ),
    KnownViolation(
        "2.7",
        ("completing-ends", "sync-answered", "silent-members-removed"),
        "CompletingRebalance has no limit of its own: it lasts as long as the leader heartbeats "
        "and does not sync",
        "KAFKA-12890 (mended in 2.8.1 and 3.0), GroupCoordinator.scala:643 at 2.7.2",
        _leader_heartbeats,
    ),
    KnownViolation(
        "2.7",
        ("preparing-ends",),
        "a static member that heartbeats and does not join again is spared by the rebalance "
        "timeout, which begins anew if nobody else has joined; and so is whoever was loaded from "
        "the log, who counts as static (KAFKA-10497, mended in 2.8)",
        "GroupCoordinator.scala:1199, GroupMetadataManager.scala:1429 at 2.7.2",
        _spared_and_alive,
    ),
    KnownViolation(
        "2.7",
        ("silent-members-removed",),
        "a static member that does not join again is spared by the rebalance timeout, and its "
        "session begins anew as others end the join phase: as long as they do, it stays, silent",
        "GroupCoordinator.scala:1239 at 2.7.2",
        _session_begins_by_itself,
    ),
    KnownViolation(
        "2.7",
        ("unique-instance-ids",),
        "a static member that comes back to a group that is full is turned away and its instance "
        "id forgotten, while its old self stays: whoever comes next under that id is another",
        "GroupCoordinator.scala:186 at 2.7.2",
        _forgets_an_instance,
    ),
    KnownViolation(
        "4.1",
        ("assigned-only-in-stable",),
        "a member keeps what it was assigned in Stable, and DescribeGroups shows it, until it is "
        "assigned anew or the next generation fails",
        "ClassicGroupMember.java:361, GroupMetadataManager.java:6908 at 4.1",
        _assignments_stay,
    ),
    KnownViolation(
        "4.1",
        (
            "only-empty-groups-removed",
            "deleted-as-answered",
            "no-early-removal",
            "unanswered-requests",
        ),
        "an append that fails takes back what was changed since the last one: a group that came "
        "with a refused commit, and is not written, is forgotten with its members, and who waits "
        "in it is never answered",
        "CoordinatorRuntime.java:873 at 4.1",
        _is_forgotten,
    ),
    KnownViolation(
        "4.1",
        ("unused-groups-expire", "expired-offsets-removed"),
        "a cleanup that cannot be stored removes nothing: what has expired stays until the next",
        "CoordinatorRuntime.java:873 at 4.1",
        _cleanup_fails,
    ),
    *(
        KnownViolation(
            profile,
            ("subscribed-offsets-not-expired", "no-expiry-in-rebalance"),
            "each offset expires once its own time is past, whatever the group does and whoever "
            "needs it",
            f"KIP-211 (in 2.1), {source}",
            _each_by_itself,
        )
        for profile, source in (
            ("0.10.0", "GroupMetadataManager.scala:545 at 0.10.0.1"),
            ("0.10.2", "GroupMetadata.scala:303 at 0.10.2.2"),
        )
    ),
    KnownViolation(
        "2.7",
        ("no-expiry-in-rebalance",),
        "while a group rebalances, what its members had subscribed to in the generation before "
        "counts, which is nothing where that had no members",
        "KAFKA-13636 (mended in 2.8.2, 3.0.1 and 3.2), GroupMetadata.scala:745 at 2.7.2",
        _not_subscribed_before,
    ),
    *(
        KnownViolation(
            profile,
            ("offset-retention",),
            "in a group that has had members every offset expires with the group, even one that "
            "was committed since by a consumer which manages its partitions itself",
            f"KIP-211, {source}",
            _with_its_group,
        )
        for profile, source in (
            ("2.7", "GroupMetadata.scala:740 at 2.7.2"),
            ("4.1", "ClassicGroup.java:958 at 4.1"),
        )
    ),
    KnownViolation(
        "4.1",
        ("fencing",),
        "an id that was given out and leaves is taken back without a look at the instance id that "
        "comes with it",
        "GroupMetadataManager.java:7933 at 4.1",
        _takes_back_an_id,
    ),
    KnownViolation(
        "4.1",
        ("preparing-ends",),
        "a static member that heartbeats and does not join again is spared by the rebalance "
        "timeout, which begins anew if nobody else has joined",
        "GroupMetadataManager.java:6605 at 4.1",
        _spared_and_alive,
    ),
    KnownViolation(
        "4.1",
        ("silent-members-removed",),
        "a static member that does not join again is spared by the rebalance timeout, and its "
        "session begins anew as others end the join phase: as long as they do, it stays, silent",
        "GroupMetadataManager.java:6663 at 4.1",
        _session_begins_by_itself,
    ),
)
