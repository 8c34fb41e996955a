"""Three faults that no release of Kafka had, for tests that need any."""

from __future__ import annotations

from groupcheck.implementation.core.coordinator import Coordinator, Handle
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.member import Member
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.model.vocabulary import (
    GroupState,
    HeartbeatRequest,
    JoinGroupResponse,
    Request,
    ResponseBody,
)
from support.faults.fault import Faults, become, wrap

MADE_UP = Faults()


@MADE_UP.of("a heartbeat from an old generation is accepted")
def _accepts_old_heartbeats(coordinator: Coordinator) -> None:
    """Heartbeat is answered with no error though its generation is over."""

    def around(original: Handle) -> Handle:
        def heartbeat(request: Request, body: HeartbeatRequest) -> ResponseBody | None:
            group = coordinator._shared.groups.by_id.get(body.group_id)
            if group is not None and body.generation_id < group.generation_id:
                body = body._replace(generation_id=group.generation_id)
            return original(request, body)

        return heartbeat

    wrap(coordinator, HeartbeatRequest, around)


class KeepsGenerationWhenEmpty(Rebalance):
    __slots__ = ()

    def complete(self, group: Group) -> None:
        super().complete(group)
        if group.state is GroupState.EMPTY:
            group.generation_id -= 1


@MADE_UP.of("the generation is not raised when the last member leaves")
def _keeps_generation(coordinator: Coordinator) -> None:
    """An Empty group has the generation of its last member."""
    become(coordinator, coordinator._rebalance, KeepsGenerationWhenEmpty)


class ListsMembersToFollowers(Rebalance):
    __slots__ = ()

    @staticmethod
    def join_response(group: Group, member: Member) -> JoinGroupResponse:
        return Rebalance.join_response(group, member)._replace(members=group.listed_members())


@MADE_UP.of("a follower is given the member list")
def _lists_members_to_followers(coordinator: Coordinator) -> None:
    """Followers get the list of members, as the leader does."""
    become(coordinator, coordinator._rebalance, ListsMembersToFollowers)
