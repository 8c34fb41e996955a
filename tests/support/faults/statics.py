"""Past bugs of Kafka's about static members."""

from __future__ import annotations

from collections.abc import Hashable

from groupcheck.implementation.core.coordinator import Coordinator, Handle
from groupcheck.implementation.core.group import Group
from groupcheck.implementation.core.profiles import NEVER_SINCE
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.static_members import Replacement, StaticMembers
from groupcheck.model.vocabulary import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    Request,
    ResponseBody,
)
from support.faults.fault import Faults, api, become, stored, wrap

STATICS = Faults()


class RemovesStaticMembers(Rebalance):
    __slots__ = ()

    def complete(self, group: Group) -> None:
        for member in group.members.values():
            member.counts_as_static = False
        super().complete(group)


@STATICS.of("KAFKA-8220")
def _removes_static_members(coordinator: Coordinator) -> None:
    """The rebalance timeout removes a static member whose session has not expired."""
    become(coordinator, coordinator._rebalance, RemovesStaticMembers)


@STATICS.of("KAFKA-8715")
def _makes_ids_of_the_time(coordinator: Coordinator) -> None:
    """The new id of a restarted static member may equal its old one."""
    shared = coordinator._shared
    random = shared.new_member_id

    def stamped(body: JoinGroupRequest) -> str:
        group = shared.groups.by_id.get(body.group_id)
        since_ms = shared.timers.now_ms if group is None else group.state_since_ms
        return f"{body.group_instance_id}-{since_ms}"

    def around(original: Handle) -> Handle:
        def join(request: Request, body: JoinGroupRequest) -> ResponseBody | None:
            static = body.group_instance_id is not None
            shared.new_member_id = (lambda _prefix: stamped(body)) if static else random
            return original(request, body)

        return join

    wrap(coordinator, JoinGroupRequest, around)


class DoesNotAppendNewIds(StaticMembers):
    __slots__ = ()

    def _append(self, replacement: Replacement) -> None:
        self._appended(replacement)(ErrorCode.NONE)


def _what_is_stored(coordinator: Coordinator) -> Hashable:
    return stored(coordinator)[-1:]


@STATICS.of("KAFKA-10284", hidden=_what_is_stored)
def _does_not_append_new_ids(coordinator: Coordinator) -> None:
    """The new id of a restarted static member is not written to the log."""
    become(coordinator, _statics(coordinator), DoesNotAppendNewIds)


@STATICS.of("KAFKA-13435", "4.1")
def _never_lists_members_to_the_leader(coordinator: Coordinator) -> None:
    """A restarted static leader gets no member list and cannot see what has changed."""
    statics = _statics(coordinator)
    statics._behaviour = statics._behaviour._replace(skip_assignment_since=NEVER_SINCE)


def _statics(coordinator: Coordinator) -> StaticMembers:
    part: StaticMembers = api(coordinator, HeartbeatRequest)._static_members
    return part
