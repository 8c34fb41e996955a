"""A barrier between requests: the broker has received the first before the second is sent.

A request that waits for other requests gets no response, so nothing confirms that it has arrived,
and requests on different connections may overtake each other. A broker that handles one request at
a time has received it when it answers a later request on an established connection.
"""

from __future__ import annotations

from collections.abc import Callable

from groupcheck.properties.ports.codec import MalformedAnswerError
from groupcheck.properties.ports.connection import BootstrapClient
from groupcheck.properties.ports.port import PortFailedError


class Barrier:
    """A separate connection that carries a request without side effects.

    It reports no failures: after an error or a timeout it does nothing until `close`, and the
    requests of the test show what is wrong with the broker.

    Args:
        connect: opens the connection, when it is first needed; may raise `OSError`.
    """

    def __init__(self, connect: Callable[[], BootstrapClient]) -> None:
        self._connect = connect
        self._client: BootstrapClient | None = None
        self._failed = False

    def wait(self) -> None:
        """Wait for a response.

        Raises:
            PortUnavailableError: the wait was interrupted.
        """
        if self._failed:
            return
        try:
            self._client = self._client or self._connect()
            self._client.versions({})
        except (OSError, PortFailedError, MalformedAnswerError):
            self.close()
            self._failed = True

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()
        self._client = None
        self._failed = False
