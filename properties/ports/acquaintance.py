"""What the ports of one source know of a broker, so that not every test has to ask for it again.

How a broker is asked is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple

from groupcheck.properties.ports.settings import BrokerSettings


class Known(NamedTuple):
    """A broker that coordinates every group, as it is the only one: where, what it speaks and is.

    `versions` are the highest of each API that both sides speak, `oldest` the broker's lowest.
    """

    address: tuple[str, int]
    versions: Mapping[str, int]
    oldest: Mapping[str, int]
    settings: BrokerSettings


class Acquaintance:
    """Shared by ports, in whatever threads they are used."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: Known | None = None

    def recall(self) -> Known | None:
        """What is known; None if the broker has to be asked."""
        with self._lock:
            return self._known

    def keep(self, known: Known) -> None:
        """Remember that."""
        with self._lock:
            self._known = known

    def forget(self) -> None:
        """Ask again next time: the broker may have come back as another."""
        with self._lock:
            self._known = None
