"""The settings of each client's consumers, by the names that Kafka gives them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from groupcheck.model.member.state import Settings
from groupcheck.properties.clients.broker import HOST
from groupcheck.properties.clients.port import UnsupportedSettingsError

INSTANCE_ID: Final = "i"
# Longer than a step takes: a commit that comes by itself seldom comes beside one that has a reason.
AUTO_COMMIT_INTERVAL_MS: Final = 500


class ClientSettings(NamedTuple):
    """What consumers of a client have in common.

    Args:
        session_timeout_ms: of the consumers.
        max_poll_interval_ms: of the consumers.
        eager: the client's name of the range assignor.
        cooperative: that of the cooperative-sticky one; empty if the client has none.
        others: all other settings.
        patience_s: how long the consumers may take for what they do next.
        postpones_metadata: see `Coordinator`.
    """

    session_timeout_ms: int
    max_poll_interval_ms: int
    eager: str
    cooperative: str
    others: Mapping[str, Any]
    patience_s: float = 1.5
    postpones_metadata: bool = False

    def of(self, settings: Settings, port: int, group: str) -> dict[str, Any]:
        """The settings of one consumer.

        Raises:
            UnsupportedSettingsError: the client has none with these settings.
        """
        assignor = self.cooperative if settings.cooperative else self.eager
        if not assignor:
            msg = "unsupported: the client has no cooperative assignor"
            raise UnsupportedSettingsError(msg)
        instance = {"group.instance.id": INSTANCE_ID} if settings.static else {}
        return {
            "bootstrap.servers": f"{HOST}:{port}",
            "group.id": group,
            "session.timeout.ms": self.session_timeout_ms,
            "max.poll.interval.ms": self.max_poll_interval_ms,
            "heartbeat.interval.ms": 80,
            "retry.backoff.ms": 20,
            "enable.auto.commit": settings.auto_commit,
            "auto.commit.interval.ms": AUTO_COMMIT_INTERVAL_MS,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": assignor,
            **instance,
            **self.others,
        }


# A consumer that does not poll while SyncGroup is not answered gets no answers to its heartbeats
# either: its max.poll.interval.ms has to pass before its session.timeout.ms.
_SESSION_TIMEOUT_MS: Final = 8_000
_MAX_POLL_INTERVAL_MS: Final = 4_000
_LONG_MS: Final = 3_600_000

_ASSIGNORS: Final = "org.apache.kafka.clients.consumer."

JAVA: Final = ClientSettings(
    _SESSION_TIMEOUT_MS,
    _MAX_POLL_INTERVAL_MS,
    f"{_ASSIGNORS}RangeAssignor",
    f"{_ASSIGNORS}CooperativeStickyAssignor",
    MappingProxyType(
        {
            # Its heartbeat thread sends FindCoordinator again after this time; the poll that waits
            # for an earlier response may miss an error then.
            "retry.backoff.ms": 50,
            "retry.backoff.max.ms": 50,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 20,
            "metadata.max.age.ms": _LONG_MS,
        }
    ),
)
KAFKA_PYTHON: Final = ClientSettings(
    _SESSION_TIMEOUT_MS,
    _MAX_POLL_INTERVAL_MS,
    "range",
    "cooperative-sticky",
    MappingProxyType(
        {
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 20,
            "metadata.max.age.ms": _LONG_MS,
        }
    ),
)
AIOKAFKA: Final = ClientSettings(
    _SESSION_TIMEOUT_MS,
    _MAX_POLL_INTERVAL_MS,
    "range",
    "",
    MappingProxyType({"metadata.max.age.ms": _LONG_MS}),
)
LIBRDKAFKA: Final = ClientSettings(
    6_000,  # at most max.poll.interval.ms
    6_000,
    "range",
    "cooperative-sticky",
    MappingProxyType(
        {
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 20,
            "retry.backoff.max.ms": 20,
            # Its main thread acts once a second if no timer is due earlier, and any response to
            # Metadata ends the interval of 1 s between two joins (see `assignors/leader.py`).
            "statistics.interval.ms": 50,
            "topic.metadata.refresh.interval.ms": 100,
            "log_level": 0,
            "enable.metrics.push": False,
        }
    ),
    # While it waits for the metadata of a group that it leads, the response to a Metadata that it
    # sent for another reason makes it join again.
    postpones_metadata=True,
    patience_s=4.0,  # it joins again after up to 3 s
)
