"""Queries a live broker before a test: coordinator, versions, settings and topics.

A broker that fails when it is asked for its versions or settings is tested with assumed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import NamedTuple

from groupcheck.model.classic.config import BROKER_SETTINGS
from groupcheck.properties.ports import producers
from groupcheck.properties.ports.codec import MalformedAnswerError
from groupcheck.properties.ports.connection import BootstrapClient, Coordinator
from groupcheck.properties.ports.port import PortFailedError
from groupcheck.properties.ports.settings import BrokerSettings, settings_of
from groupcheck.properties.ports.topics import Topics, find_topics

Connect = Callable[[str, int], BootstrapClient]


class Given(NamedTuple):
    """The user's input about a broker: settings, topics, and upper limits of API versions."""

    settings: Mapping[str, int]
    topics: tuple[str, ...]
    newest_versions: Mapping[str, int]


class BrokerInfo(NamedTuple):
    """The broker that coordinates a group.

    `versions` maps each API to the highest version that both sides support, `oldest` to the lowest
    version that the broker supports. If it is the only broker, it coordinates every group.
    """

    address: tuple[str, int]
    versions: Mapping[str, int]
    oldest: Mapping[str, int]
    settings: BrokerSettings
    topics: Topics
    is_only: bool


def discover(
    connect: Connect, bootstrap: tuple[str, int], group_id: str, given: Given
) -> BrokerInfo:
    """Find the coordinator of a group.

    Raises:
        CoordinatorUnreachableError: another broker coordinates it, and cannot be reached.
        OSError, PortFailedError, PortUnavailableError, MalformedAnswerError: the broker fails.
    """
    with connect(*bootstrap) as broker:
        broker.versions(given.newest_versions)
        coordinator = broker.coordinator(group_id)
        topics = find_topics(given.topics, broker.create_topic)
        is_only = broker.brokers() == 1
    address = coordinator.host, coordinator.port
    try:
        # Only the coordinator reports its settings, and its versions may be different too.
        with connect(*address) as broker:
            common = broker.versions({**producers.NEWEST, **given.newest_versions})
            versions = producers.modelled_versions(common)
            oldest = broker.oldest(versions.keys() - {producers.MARKER})
            reports_versions = broker.reports_versions
        reported = _settings(connect, coordinator)
    except OSError as error:
        raise CoordinatorUnreachableError(address, error) from error
    settings = settings_of(given.settings, reported)._replace(reports_versions=reports_versions)
    return BrokerInfo(address, versions, oldest, settings, topics, is_only)


class CoordinatorUnreachableError(Exception):
    """The coordinator at `address` cannot be reached, for the reason in `error`."""

    def __init__(self, address: tuple[str, int], error: OSError) -> None:
        super().__init__(address, error)
        self.address = address
        self.error = error


def _settings(connect: Connect, coordinator: Coordinator) -> Mapping[str, int]:
    """Return the settings that the coordinator reports; none if it fails when it is asked."""
    with connect(coordinator.host, coordinator.port) as broker:
        broker.versions({})
        try:
            return broker.settings(coordinator.node_id, BROKER_SETTINGS)
        except (OSError, PortFailedError, MalformedAnswerError):
            return {}


class BrokerInfoCache:
    """Caches the information about the broker, so that tests need not ask again; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._info: BrokerInfo | None = None

    def get(self) -> BrokerInfo | None:
        """Return the cached information, or None when the broker has to be asked."""
        with self._lock:
            return self._info

    def put(self, info: BrokerInfo) -> None:
        """Store the information."""
        with self._lock:
            self._info = info

    def clear(self) -> None:
        """Drop the information: a restarted broker may have other versions and settings."""
        with self._lock:
            self._info = None
