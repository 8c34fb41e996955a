"""What ports in virtual time share: each call is one message of the port protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.messages import Conversation
from groupcheck.properties.ports.port import Fault, Observation


class VirtualTimePort(ABC):
    """Implements all of `Port` but `open` and `shutdown`; `expected` is not needed.

    Every call raises `PortFailedError` when the port fails.
    """

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self) -> None:
        self._conversation = Conversation()

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        del expected
        return self._observe(self._conversation.request(request))

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Advance virtual time by `ms` milliseconds."""
        del expected
        return self._observe(self._conversation.advance(ms))

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Inject a fault."""
        del expected
        return self._observe(self._conversation.fault(fault))

    def close(self) -> None:
        """End the test; does nothing after a failure."""
        if self._is_running:
            self._exchange(self._conversation.close())

    def _observe(self, message: dict[str, Any]) -> Observation:
        self._exchange(message)
        return self._conversation.observation()

    @property
    @abstractmethod
    def _is_running(self) -> bool:
        """Whether there is a port to talk to."""

    @abstractmethod
    def _exchange(self, message: dict[str, Any]) -> None:
        """Send a message and pass everything that comes back to the conversation."""
