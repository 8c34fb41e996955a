"""Laws of rebalances: states, generations, leaders, protocols and who is told of whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from groupcheck.model.exploring.projection import MAKES
from groupcheck.model.rules.rebalance import first_state
from groupcheck.model.state import (
    GONE,
    Group,
    Member,
)
from groupcheck.model.vocabulary import (
    GroupState,
    JoinGroupResponse,
)
from groupcheck.properties.temporal.safety.log import ENDS
from groupcheck.properties.temporal.step import CheckedStep, Property, outlived

EMPTY, PREPARING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE
COMPLETING, STABLE = GroupState.COMPLETING_REBALANCE, GroupState.STABLE
WITHOUT_MEMBERS: Final = frozenset({EMPTY, GroupState.DEAD})


def _goes_along_arrows(step: CheckedStep) -> bool:
    """A step may pass through states: the last member that leaves ends the join phase at once."""
    arrows = [MAKES[rule] for rule in step.fired if rule in MAKES]
    state: str = step.old.state
    if step.before.group is None or state == GroupState.DEAD:
        if step.new.state is GroupState.DEAD and not arrows:
            return True  # offsets without a group
        state = first_state(step.profile.version) if step.after.group else step.new.state
    for arrow in arrows:
        if state != arrow.source:
            return False
        state = arrow.target
    ended = state == GroupState.DEAD or "log/group-forgotten" in step.fired  # from wherever it is
    return (ended and step.after.group is None) or state == step.new.state


def _generation_counts_join_phases(step: CheckedStep) -> bool:
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
    return leader is not None and (leader.awaiting_join is None or came_back(group, leader))


def came_back(group: Group, member: Member) -> bool:
    """Whether it waits for its new id to be stored, in a group that is Stable all the while."""
    static = member.group_instance_id is not None
    return static and group.state is STABLE and member.awaiting_join is not None


def _admissions(step: CheckedStep) -> list[JoinGroupResponse]:
    """The answers that admit a member to a generation of the group that there is."""
    others = outlived(step.before)
    bodies = (each.body for each in step.responses if each.request_id not in others)
    return [b for b in bodies if isinstance(b, JoinGroupResponse) and b.error_code == 0]


def _one_leader(step: CheckedStep) -> bool:
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


def _list_is_the_leaders(step: CheckedStep) -> bool:
    """The leader gets the list of all, which is the list of those admitted with it."""
    members = {m.member_id for m in step.new.members}
    for answer in _admissions(step):
        listed = {m.member_id for m in answer.members}
        leads = answer.leader == answer.member_id
        if (listed or answer.skip_assignment) and not leads:
            return False
        expected = answer.generation_id == step.new.generation_id and step.new.state is COMPLETING
        if (expected or answer.skip_assignment) and leads and listed != members:
            return False
        if answer.skip_assignment and not step.old.state is step.new.state is STABLE:
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


INVARIANTS: Final[dict[Property, Callable[[Group], bool]]] = {
    Property(
        "leader",
        "a group has a leader exactly while it has members; in CompletingRebalance and Stable it "
        "has members, and its leader is one that has joined, or has come back",
        "GroupMetadata.scala:277",
    ): _has_a_leader,
    Property(
        "protocol-supported",
        "every member supports the protocol of the generation",
        "GroupMetadata.scala:436",
    ): _protocol_is_supported,
    Property(
        "protocol-voted",
        "no protocol has more votes than that of the generation, each member's vote being for the "
        "first of its own that all support",
        "GroupMetadata.scala:420",
    ): _protocol_is_voted,
}

ACTION_PROPERTIES: Final[dict[Property, Callable[[CheckedStep], bool]]] = {
    Property(
        "state-transitions",
        "the state changes along the arrows of Kafka's state diagram and no others",
        "GroupMetadata.scala:785",
    ): _goes_along_arrows,
    Property(
        "generation",
        "the generation is raised by exactly one at each end of a join phase, and never otherwise",
        "GroupMetadata.scala:534",
    ): _generation_counts_join_phases,
    Property(
        "one-leader",
        "a generation has one leader, and every answer of the generation names it",
        "GroupCoordinator.scala:1237",
    ): _one_leader,
    Property(
        "member-list",
        "only the leader is told the members of the generation: all of them at the end of the join "
        "phase, and when it is to skip its assignment (KIP-814), as the group is and stays Stable",
        "GroupCoordinator.scala:1228",
    ): _list_is_the_leaders,
}
