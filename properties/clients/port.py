"""The interface to every client under test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from groupcheck.model.client import ClientEvent, ClientInput
from groupcheck.model.member.state import Settings


class ClientFailedError(Exception):
    """A client exits, hangs, or sends what no client may send; the message is one line."""


class UnsupportedSettingsError(Exception):
    """A client has no consumer with these settings; the message is one line."""


class ClientInfo(NamedTuple):
    """The name and the version of a client.

    `patience_s` is how long its consumers may take for what they do next.
    """

    name: str
    version: str
    patience_s: float = 1.5


class ClientUnderTest(Protocol):
    """A consumer that is led through a sequence of inputs, from one thread."""

    def do(
        self, given: ClientInput, expected: Sequence[ClientEvent], *, patience_s: float
    ) -> tuple[ClientEvent, ...]:
        """Make the input happen, and return what the consumer did since the last call.

        It returns soon after all expected events were seen, in any order, else after `patience_s`.
        Results of commits come first: nothing promises their place among other events.

        Raises:
            ClientFailedError: the client exited, hangs or sends too much.
        """
        ...

    def end(self) -> None:
        """End the consumer; safe to call twice."""
        ...


class ClientPort(Protocol):
    """A client; its consumers may be led side by side, each from one thread."""

    def open(self) -> ClientInfo:
        """Start the client.

        Raises:
            PortUnavailableError: it cannot run on this machine.
        """
        ...

    def start(self, settings: Settings) -> ClientUnderTest:
        """Return a new consumer, which has not subscribed.

        Raises:
            UnsupportedSettingsError: the client has none with these settings.
            ClientFailedError: the client exited or hangs.
        """
        ...

    def shutdown(self) -> None:
        """End all processes; safe to call twice."""
        ...
