"""What the embedder decides: limits, and the choices Kafka leaves open. No state belongs here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar
from uuid import uuid4

T = TypeVar("T")

NewMemberId = Callable[[str], str]
"""Makes a member id, never made before, from a client id or a group.instance.id."""

# A new member does not know its id yet and cannot send heartbeats, and a client that gave up
# waiting may join again as another: its JoinGroup must not be parked for ever.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000


class Config(NamedTuple):
    """Kafka's broker configurations that the coordinator obeys, with their defaults.

    Times are in milliseconds, but for `offsets_retention_minutes`. `offset_metadata_max_bytes` is
    compared, as in Kafka and in spite of its name, with the number of UTF-16 units of the metadata.
    """

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    group_max_size: int = 2**31 - 1
    offsets_retention_minutes: int = 7 * 24 * 60
    offsets_topic_num_partitions: int = 50


class Choose(Protocol):
    """Decides where Kafka leaves more than one way open; never asked about a single option."""

    def __call__(self, options: Sequence[T], /) -> T:
        """One of `options`, all of them lawful."""
        ...


def first(options: Sequence[T], /) -> T:
    """The default choice: what was there first."""
    return options[0]


def random_member_id(prefix: str) -> str:
    """A member id as Kafka makes it: the client's or instance's id, a dash, a random UUID."""
    return f"{prefix}-{uuid4()}"
