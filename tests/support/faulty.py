"""Copies of the built-in coordinator, each with one fault put in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupcheck.implementation.config import Config
from groupcheck.implementation.coordinator import Coordinator
from groupcheck.implementation.group import Group, Member
from groupcheck.implementation.rebalance import Rebalance
from groupcheck.model.vocabulary import (
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    Request,
)
from groupcheck.properties.ports.builtin import BuiltinPort

DEFAULTS = Config()


class KeepsGenerationWhenEmpty(Rebalance):
    """Does not raise the generation when the last member has left."""

    __slots__ = ()

    def _complete_join(self, group: Group) -> None:
        super()._complete_join(group)
        if group.state is GroupState.EMPTY:
            group.generation_id -= 1


class TellsFollowers(Rebalance):
    """Gives followers the member list."""

    __slots__ = ()

    @staticmethod
    def joined(group: Group, member: Member) -> JoinGroupResponse:
        return Rebalance.joined(group, member)._replace(members=group.joined_members())


def _with_rebalance(kind: type[Rebalance]) -> Callable[..., Coordinator]:
    def make(config: Config = DEFAULTS, **options: Any) -> Coordinator:
        coordinator = Coordinator(config, **options)
        apis = coordinator._handlers[HeartbeatRequest].__self__  # type: ignore[attr-defined]
        apis._rebalance.__class__ = kind
        return coordinator

    return make


def _takes_old_heartbeats(config: Config = DEFAULTS, **options: Any) -> Coordinator:
    """Accepts a heartbeat from a generation that is over."""
    coordinator = Coordinator(config, **options)
    lawful = coordinator._handlers[HeartbeatRequest]

    def heartbeat(request: Request, body: HeartbeatRequest) -> HeartbeatResponse:
        group = coordinator._groups.get(body.group_id)
        if group is not None and body.generation_id < group.generation_id:
            body = body._replace(generation_id=group.generation_id)
        answer = lawful(request, body)
        assert isinstance(answer, HeartbeatResponse)
        return answer

    coordinator._handlers[HeartbeatRequest] = heartbeat
    return coordinator


FAULTS: dict[str, Callable[..., Coordinator]] = {
    "a heartbeat from an old generation is accepted": _takes_old_heartbeats,
    "the generation is not raised when the last member leaves": _with_rebalance(
        KeepsGenerationWhenEmpty
    ),
    "a follower is given the member list": _with_rebalance(TellsFollowers),
}


def faulty_port(fault: str, seed: int = 0) -> BuiltinPort:
    """A port on a coordinator with that fault."""
    return BuiltinPort(seed, FAULTS[fault])
