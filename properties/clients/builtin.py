"""groupcheck's own consumer as a client: it needs no connection and no time."""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck import __version__
from groupcheck.implementation.client.membership import Membership
from groupcheck.model.client import ClientEvent, ClientInput
from groupcheck.model.member.state import Settings
from groupcheck.properties.clients.port import ClientFailedError, ClientInfo


class BuiltinClient:
    """The consumers of `implementation/client`; implements `ClientPort`.

    Args:
        version: of the Java client that they follow, "2.7" or "4.1".
    """

    def __init__(self, version: str) -> None:
        self._version = version

    def open(self) -> ClientInfo:
        """Return the name and the version."""
        return ClientInfo("groupcheck", __version__)

    def start(self, settings: Settings) -> BuiltinConsumer:
        """Return a new consumer."""
        return BuiltinConsumer(self._version, settings)

    def shutdown(self) -> None:
        """There is nothing to end."""


class BuiltinConsumer:
    """One of groupcheck's own consumers; implements `ClientUnderTest`."""

    def __init__(self, version: str, settings: Settings) -> None:
        self._membership = Membership(
            version,
            cooperative=settings.cooperative,
            static=settings.static,
            auto_commit=settings.auto_commit,
        )

    def do(
        self, given: ClientInput, expected: Sequence[ClientEvent], *, patience_s: float
    ) -> tuple[ClientEvent, ...]:
        """Make the input happen; it returns what the consumer does.

        Raises:
            ClientFailedError: the consumer does not take the input.
        """
        del expected, patience_s
        try:
            return tuple(self._membership.do(given))
        except ValueError as error:
            raise ClientFailedError(str(error)) from error

    def end(self) -> None:
        """There is nothing to end."""
