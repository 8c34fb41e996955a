"""What a port is: the five messages of the port protocol as typed calls.

Every coordinator under test is reached through this interface, whatever it is written in. A port
only carries messages; it never judges them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from groupcheck.model.vocabulary import GroupView, Request, Response
from groupcheck.properties.windows import Windows


class PortInfo(NamedTuple):
    """Who a port says it is, in answer to `open`."""

    name: str
    version: str = ""


class Fault(NamedTuple):
    """Something that happens to the coordinator; `name` is the port protocol's.

    `number` and `error` say of `append` how many appends are to fail, and with what.
    """

    name: str
    number: int | None = None
    error: int | None = None


class Observation(NamedTuple):
    """What a port showed between one message and its `done`.

    `groups` is the inner state, None where the port does not show it. `unsupported` names the API,
    version or fault that the port does not implement. `elapsed_ms` is the real time since the last
    observation, 0 for a port in virtual time.
    """

    responses: tuple[Response, ...] = ()
    groups: tuple[GroupView, ...] | None = None
    unsupported: str | None = None
    elapsed_ms: int = 0


class PortFailedError(Exception):
    """The port itself failed under test: a finding of its own kind.

    `kind` is "port crashed", "port hung" or "protocol error"; `detail` is what the port wrote on
    standard error, or the like, for the person who mends it.
    """

    def __init__(self, kind: str, reason: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[PortFailedError], tuple[str, str, str]]:
        return type(self), (self.kind, self.reason, self.detail)  # findings go between processes


class PortUnavailableError(Exception):
    """The port cannot be reached at all, so nothing can be said about it: the run is impossible."""


class Port(Protocol):
    """A coordinator under test.

    `real_time` ports keep the clock on the wall: `advance` sleeps, and observations carry the time
    that passed; they have `windows` (see `windows_of`). `max_versions` maps an API to the highest
    version the port speaks, once open; an API that is missing is not spoken; None means whatever
    the profile has.

    `expected` holds the ids of the requests that must be answered by the end of the call if the
    port is right. A port in virtual time answers all it can before `done` and has no use for it;
    one in real time waits for these, and no longer than its grace.

    Every call raises `PortFailedError` when the port fails in the middle of a test.
    """

    @property
    def real_time(self) -> bool:
        """Whether its clock is the one on the wall."""
        ...

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API it speaks."""
        ...

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with an empty coordinator; `config` has Kafka's broker names and units.

        Raises:
            PortUnavailableError: there is no such port to be reached.
        """
        ...

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        ...

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let `ms` milliseconds pass."""
        ...

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Let something happen to the coordinator."""
        ...

    def close(self) -> None:
        """End the test; the port may be opened again."""
        ...

    def shutdown(self) -> None:
        """Let go of every process, socket and file; safe to call twice."""
        ...


def windows_of(port: Port) -> Windows | None:
    """The windows within which a port on a real clock is judged; None in virtual time."""
    windows: Windows | None = getattr(port, "windows", None)
    return windows if port.real_time else None
