"""Requests of a controller to brokers, and of the leader of a partition to the controller."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.model.brokers import DURING_DELETE

INITIAL_LEADER_EPOCH: Final = 0  # LeaderAndIsr.scala


class PartitionState(NamedTuple):
    """What LeaderAndIsr and UpdateMetadata say about a partition."""

    state: LeaderAndIsr
    replicas: tuple[int, ...]
    is_new: bool = False
    offline: tuple[int, ...] = ()


class StopState(NamedTuple):
    """What StopReplica says about a partition."""

    leader_epoch: int
    delete: bool


class LeaderAndIsrRequest(NamedTuple):
    """The leaders and the in-sync replicas of partitions of the broker."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: dict[TopicPartition, PartitionState]


class UpdateMetadataRequest(NamedTuple):
    """What the broker answers to Metadata.

    Args:
        live: by broker, its host and port.
    """

    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: dict[TopicPartition, PartitionState]
    live: dict[int, tuple[str, int]]


class StopReplicaRequest(NamedTuple):
    """The replicas that the broker stops or deletes."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: dict[TopicPartition, StopState]


ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


class StopReplicaResponse(NamedTuple):
    """The answer to StopReplica.

    Args:
        error: of the request; empty for none.
        partitions: by partition, its error; empty for none.
    """

    error: str
    partitions: dict[TopicPartition, str]


def during_delete(state: LeaderAndIsr) -> LeaderAndIsr:
    """The state of a partition that is being deleted (LeaderAndIsr.scala)."""
    return state._replace(leader=DURING_DELETE, leader_epoch=INITIAL_LEADER_EPOCH, version=0)
