"""What Kafka promises of consumers and their coordinator together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupcheck.model.client import HEARTBEAT_INTERVAL
from groupcheck.model.engine.specification import Invariant, LeadsTo
from groupcheck.model.member.state import Application, Member, Phase
from groupcheck.model.system.network import PARTITIONS
from groupcheck.model.system.specification import (
    DELIVER,
    HANDLE,
    REBALANCE,
    SESSION,
    SystemInput,
)
from groupcheck.model.system.state import Consumer, System


def _live(state: System) -> list[Consumer]:
    return [
        consumer
        for consumer in state.consumers
        if not consumer.crashed and consumer.member.application == Application.POLLING
    ]


def _owners(state: System, partition: int) -> list[Member]:
    return [each.member for each in _live(state) if partition in each.member.owned]


def _is_current(state: System, member: Member) -> bool:
    return member.phase == Phase.STABLE and member.generation == state.group().generation_id


def _all_differ(values: Iterable[object]) -> bool:
    listed = list(values)
    return len(set(listed)) == len(listed)


def _one_owner_of_a_generation(state: System) -> bool:
    return all(
        _all_differ(m.generation for m in _owners(state, partition) if m.phase == Phase.STABLE)
        for partition in PARTITIONS
    )


def _keeps_acknowledged(state: System) -> bool:
    committed = state.committed()
    return all(committed.get(each, 0) >= offset for each, offset in state.acknowledged)


def _is_settled(state: System) -> bool:
    """Whether every consumer that lives is in the group's generation, with its partitions."""
    live = _live(state)
    return not live or (
        all(_is_current(state, consumer.member) for consumer in live)
        and all(len(_owners(state, partition)) == 1 for partition in PARTITIONS)
    )


def _fair(given: SystemInput) -> SystemInput | None:
    """Requests are handled, answers arrive, heartbeats are sent, and timers end."""
    if given.name in (SESSION, REBALANCE):
        return SystemInput(given.name)
    return given if given.name in (HANDLE, DELIVER, HEARTBEAT_INTERVAL) else None


ONE_OWNER: Final = Invariant(
    "No partition has two owners in one generation.", _one_owner_of_a_generation
)
KEPT: Final = Invariant(
    "No committed offset goes back behind one whose commit has succeeded.", _keeps_acknowledged
)
ALL_OWNED: Final = LeadsTo(
    "Every partition has exactly one owner in the end.",
    lambda state: bool(_live(state)),
    _is_settled,
    _fair,
)
PROMISES: Final = (ONE_OWNER, KEPT, ALL_OWNED)

# Kafka does not promise it: a consumer whose session has ended does not know that yet.
ONE_OWNER_AT_ANY_TIME: Final = Invariant(
    "No partition has two owners at any time.",
    lambda state: all(len(_owners(state, partition)) <= 1 for partition in PARTITIONS),
)
