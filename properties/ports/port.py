"""The interface to every coordinator under test: the port protocol's five messages as typed calls.

A port only transports messages; it never checks their contents.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from groupcheck.extras import needing
from groupcheck.model.vocabulary import GroupView, Request, Response
from groupcheck.properties.tolerances import Tolerances


class PortInfo(NamedTuple):
    """A port's name and version, from its answer to `open`."""

    name: str
    version: str = ""


class Fault(NamedTuple):
    """A fault to inject; `name` is the port protocol's.

    For `append`, the next `number` appends fail with `error`. For `configure`, `max_size` is the
    group.max.size of the broker that loads the partition next.
    """

    name: str
    number: int | None = None
    error: int | None = None
    max_size: int | None = None


class Observation(NamedTuple):
    """The messages of a port in answer to one message of the driver.

    `groups` is the inner state, None when the port does not report it. `unsupported` names the API,
    version or fault that the port does not implement. `elapsed_ms` is the real time since the last
    observation, 0 in virtual time.
    """

    responses: tuple[Response, ...] = ()
    groups: tuple[GroupView, ...] | None = None
    unsupported: str | None = None
    elapsed_ms: int = 0


class PortFailedError(Exception):
    """The port itself failed under test, which is a finding.

    `kind` is "port crashed", "port hung" or "protocol error"; `detail` helps to fix it: the end of
    the port's standard error, or a traceback.
    """

    def __init__(self, kind: str, reason: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[PortFailedError], tuple[str, str, str]]:
        return type(self), (self.kind, self.reason, self.detail)  # findings cross processes


class PortUnavailableError(Exception):
    """The port cannot be reached, so it cannot be tested; this is not a finding."""


def check_installed(module: str, package: str, extra: str, what: str = "this") -> None:
    """Check that the module of a package is installed, which an extra installs.

    Raises:
        PortUnavailableError: it is not; the error says that `what` needs the package.
    """
    if importlib.util.find_spec(module) is None:
        raise PortUnavailableError(needing(package, extra, what))


class Port(Protocol):
    """A coordinator under test.

    On a `real_time` port `advance` sleeps, and observations carry the elapsed time; such a port has
    `tolerances` (see `tolerances_of`). `max_versions` maps each supported API to the highest
    version, once the port is open; None means whatever the profile has.

    `expected` has the ids of the requests that a correct port answers by the end of the call. A
    port in virtual time answers all it can before `done` and ignores them; a port in real time
    waits for these responses, and then for its grace period.

    Every call raises `PortFailedError` when the port fails in the middle of a test.
    """

    @property
    def real_time(self) -> bool:
        """Whether it runs on a real clock."""
        ...

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest supported version of each supported API."""
        ...

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with an empty coordinator; `config` has Kafka's broker names and units.

        Raises:
            PortUnavailableError: the port cannot be reached.
        """
        ...

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        ...

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Advance the clock by `ms` milliseconds."""
        ...

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Inject a fault."""
        ...

    def close(self) -> None:
        """End the test; the port may be opened again."""
        ...

    def shutdown(self) -> None:
        """Release every process, socket and file; safe to call twice."""
        ...


class PortInFront:
    """A wrapper that delegates to another port; subclasses override methods."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self.tolerances = getattr(port, "tolerances", None)

    @property
    def real_time(self) -> bool:
        """Whether it runs on a real clock."""
        return self._port.real_time

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API that it supports."""
        return self._port.max_versions

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with an empty coordinator."""
        return self._port.open(profile, config)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        return self._port.request(request, expected)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass."""
        return self._port.advance(ms, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Apply a fault to the coordinator."""
        return self._port.fault(fault, expected)

    def close(self) -> None:
        """End the test."""
        self._port.close()

    def shutdown(self) -> None:
        """Release its resources."""
        self._port.shutdown()


def tolerances_of(port: Port) -> Tolerances | None:
    """Return the time tolerances for a port on a real clock; None in virtual time."""
    tolerances: Tolerances | None = getattr(port, "tolerances", None)
    return tolerances if port.real_time else None
