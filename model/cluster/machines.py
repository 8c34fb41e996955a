"""What the state machines of partitions and replicas in a controller share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from groupcheck.model.cluster.sources import ZK, at
from groupcheck.model.cluster.state import PartitionPhase, ReplicaPhase, Session
from groupcheck.model.cluster.step import (
    ClusterStep,
    EventFailedError,
    MovedError,
    throws,
    when,
)
from groupcheck.model.engine.rules import Table, decide, single

P = TypeVar("P", ReplicaPhase, PartitionPhase)

FENCED: Final = single(
    "write",
    "controller",
    "write/fenced",
    "another controller has raised /controller_epoch since",
    at(ZK, 1906, 1883),
    when(
        "/controller_epoch has another version than it expects",
        lambda s, _: s.state.nodes.controller_epoch != s.controller.epoch,
    ),
    throws("throw ControllerMovedException", MovedError),
)


def check_epoch(step: ClusterStep) -> None:
    """What every write of a controller checks first.

    Raises:
        MovedError: another controller has been elected since.
        EventFailedError: ZooKeeper has ended the session of the controller:
            SessionExpiredException.
    """
    if step.me.session != Session.LIVE:
        raise EventFailedError
    decide(step, FENCED, None)


NEWER: Final = when(
    "a later controller has written the node",
    lambda s, about: (
        (node := s.state.nodes.partitions[about.topic]) is not None
        and node.controller_epoch > s.controller.epoch
    ),
)
NO_NODE: Final = when(
    "the node of the partition does not exist",
    lambda s, about: s.state.nodes.partitions[about.topic] is None,
)


def becomes(phase: ReplicaPhase | PartitionPhase) -> str:
    """The words of the effect that moves to a phase."""
    return f"it becomes {phase}"


def changes(tables: Mapping[P, Table]) -> Iterator[tuple[P, P, str]]:
    """The valid changes of a state machine: the phase before, the phase after, and the rule."""
    for target, each in tables.items():
        left = set(tables)  # the phases that no earlier rule has taken
        for one in each.rules:
            of_phase = [guard.states for guard in one.guards if guard.states]
            before = left.intersection(*of_phase)
            if len(of_phase) == len(one.guards):
                left -= before
            if any(effect.words == becomes(target) for effect in one.effects):
                yield from ((phase, target, one.id) for phase in tables if phase in before)
