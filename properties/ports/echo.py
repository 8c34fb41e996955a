"""What makes sure that a broker has taken in one request before it is sent the next.

A request that waits for others is not answered, so nothing says that it has arrived; and those of
different connections may overtake each other. A broker that handles one request at a time has taken
it in when it answers one that came later, on a connection that it knew already.
"""

from __future__ import annotations

from collections.abc import Callable

from groupcheck.properties.ports.codec import MalformedAnswerError
from groupcheck.properties.ports.connection import Enquiry
from groupcheck.properties.ports.port import PortFailedError


class Echo:
    """A connection of its own, on which a broker is asked something that changes nothing.

    It judges nothing: what fails, or hangs, is not tried again before `close`, and what is wrong
    with the broker is for the requests of the test to show.

    Args:
        enquire: makes the connection, when it is first needed; may raise `OSError`.
    """

    def __init__(self, enquire: Callable[[], Enquiry]) -> None:
        self._enquire = enquire
        self._enquiry: Enquiry | None = None
        self._failed = False

    def wait(self) -> None:
        """Wait for an answer.

        Raises:
            PortUnavailableError: it was interrupted.
        """
        if self._failed:
            return
        try:
            self._enquiry = self._enquiry or self._enquire()
            self._enquiry.versions({})
        except (OSError, PortFailedError, MalformedAnswerError):
            self.close()
            self._failed = True

    def close(self) -> None:
        """Let go of the connection."""
        if self._enquiry is not None:
            self._enquiry.close()
        self._enquiry = None
        self._failed = False
