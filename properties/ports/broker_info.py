"""A cache of a broker's versions and settings, shared by the ports of one source."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple

from groupcheck.properties.ports.settings import BrokerSettings


class BrokerInfo(NamedTuple):
    """The only broker of a cluster, which therefore coordinates every group.

    `versions` maps each API to the highest version that both sides support, `oldest` to the lowest
    version that the broker supports.
    """

    address: tuple[str, int]
    versions: Mapping[str, int]
    oldest: Mapping[str, int]
    settings: BrokerSettings


class BrokerInfoCache:
    """Saves each test the requests that find out about the broker; safe to use from any thread."""

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
