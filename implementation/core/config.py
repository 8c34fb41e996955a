"""The embedder's decisions: the configuration, and the choices that Kafka leaves open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar
from uuid import uuid4

T = TypeVar("T")

NewMemberId = Callable[[str], str]
"""Makes a unique member id from a client id or a group.instance.id."""

# A new member does not know its id and cannot send heartbeats, and a client that gave up may join
# again as another member: its JoinGroup must not be parked forever.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000


class Config(NamedTuple):
    """Kafka's broker configurations that the coordinator uses, with their defaults.

    Times are in milliseconds, except `offsets_retention_minutes`. `offset_metadata_max_bytes` is
    compared with the number of UTF-16 units of the metadata, as in Kafka.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    group_max_size: int = 2**31 - 1
    offsets_retention_minutes: int = 7 * 24 * 60
    offsets_topic_num_partitions: int = 50


class Choose(Protocol):
    """Chooses where Kafka allows several outcomes; never called for a single option."""

    def __call__(self, options: Sequence[T], /) -> T:
        """One of `options`, which are all allowed."""
        ...


def first(options: Sequence[T], /) -> T:
    """The default choice: the first option."""
    return options[0]


def random_member_id(prefix: str) -> str:
    """A member id as Kafka makes it: the client or instance id, a dash, a random UUID."""
    return f"{prefix}-{uuid4()}"
