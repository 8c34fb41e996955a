"""What defines a broker that can be started, and how it is started."""

from __future__ import annotations

import importlib.util
import re
import socket
import sys
import time
from collections.abc import Callable, Mapping
from threading import Event
from types import MappingProxyType
from typing import Final, NamedTuple

from groupcheck.extras import installing
from groupcheck.model.classic.instances.inputs import OTHER_TOPIC, TOPIC
from groupcheck.properties.brokers.supervised import Supervised
from groupcheck.properties.ports.codec import MalformedAnswerError
from groupcheck.properties.ports.connection import BootstrapClient, pause
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError

START_S: Final = 120.0
ANSWER_S: Final = 5.0
TRIES: Final = 3
IN_USE: Final = "Address already in use"

# For all brokers with these settings: no initial delay, and a wide range of session timeouts.
SETTINGS: Final = MappingProxyType(
    {
        "group.min.session.timeout.ms": 100,
        "group.max.session.timeout.ms": 1_800_000,
        "group.initial.rebalance.delay.ms": 0,
        "offset.metadata.max.bytes": 4_096,
        "group.max.size": 2**31 - 1,
    }
)

Address = tuple[str, int]
Report = Callable[[str], None]


class NotStartedError(Exception):
    """A broker did not start; `lines` are the last lines of its output."""

    def __init__(self, why: str, lines: list[str]) -> None:
        super().__init__(why)
        self.lines = lines

    @property
    def in_use(self) -> bool:
        """Whether another process has taken its network port meanwhile."""
        return any(IN_USE.lower() in line.lower() for line in self.lines)


class BrokerDefinition(NamedTuple):
    """A broker that can be started.

    `name` is the PORT argument, `profile` the version to check it against. `needs` lists its
    requirements, `missing` returns the first that this machine lacks. `prepare` downloads or builds
    it, and may report that; `launch` starts it with settings and returns its address once it
    listens. `settings` are those that can be set, with the values that groupcheck uses;
    `optional` are further ones that the user may give; `unreported` has the values of settings that
    the broker does not report; `null_as_empty` is for its ports (`WirePort`).
    """

    name: str
    title: str
    profile: str
    needs: str
    missing: Callable[[], str | None]
    prepare: Callable[[Report], object]
    launch: Callable[[Supervised, Mapping[str, int], Event], Address]
    settings: Mapping[str, int] = SETTINGS
    optional: tuple[str, ...] = ()
    unreported: Mapping[str, int] = MappingProxyType({})
    null_as_empty: bool = False


class BrokerListing(NamedTuple):
    """A broker: the PORT to type, its title, the version it is checked against, what it needs.

    `missing` says why it cannot run on this machine; None if it can.
    """

    name: str
    title: str
    profile: str
    needs: str
    missing: str | None


class Running:
    """A running broker: `address` is its host and port, `programs` its processes and folder."""

    def __init__(self, address: Address, programs: Supervised) -> None:
        self.address = address
        self.programs = programs

    @property
    def ended(self) -> bool:
        """Whether the broker has ended, which is the program started last."""
        self.programs.ended("")  # reads what the supervisor has reported
        pids = self.programs.pids
        return bool(pids) and self.programs.ended(next(reversed(pids))) is not None

    def stop(self) -> None:
        """End all its programs; safe to call twice."""
        self.programs.close()


def no_package(*modules: str, extra: str) -> str | None:
    """Return which module of an extra of this package is not installed, if any."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f"no module {module}: {installing(extra)}"
    return None


def to_stderr(line: str) -> None:
    """Report long operations on standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"groupcheck: {line}\n")
        sys.stderr.flush()


def start(definition: BrokerDefinition, settings: Mapping[str, int], interrupted: Event) -> Running:
    """Start a broker that has been prepared.

    Raises:
        PortUnavailableError: it does not start; the message has the last lines of its log.
    """
    for tries_left in reversed(range(TRIES)):
        try:
            programs = Supervised(interrupted)
        except PortFailedError as error:
            raise PortUnavailableError(error.reason) from error
        try:
            address = definition.launch(programs, settings, interrupted)
        except NotStartedError as failure:
            programs.close()
            if tries_left and failure.in_use:
                continue
            last = "".join(f"\n  {line}" for line in failure.lines)
            msg = f"{definition.title} does not start: {failure}{last}"
            raise PortUnavailableError(msg) from failure
        except BaseException:
            programs.close()
            raise
        return Running(address, programs)
    raise AssertionError  # the last attempt has returned or raised


def free_port() -> int:
    """Return an unused port of the loopback interface."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number


def wait_for_address(programs: Supervised, name: str, words: str, interrupted: Event) -> Address:
    """Return the address that a program prints after these words when it listens.

    Raises:
        NotStartedError: it ended, or did not print it in time.
    """
    deadline = time.monotonic() + START_S
    while True:
        for line in programs.log(name):
            if found := re.search(rf"{words} 127\.0\.0\.1:(\d+)", line):
                return "127.0.0.1", int(found[1])
        _check_running(programs, (name,), deadline)
        pause(interrupted)


def answers(address: Address, interrupted: Event) -> bool:
    """Return whether a broker that has started answers a new connection."""
    try:
        with BootstrapClient(
            *address, connect_s=ANSWER_S, answer_s=ANSWER_S, interrupted=interrupted
        ) as broker:
            broker.versions({})
    except (OSError, PortFailedError, MalformedAnswerError):
        return False
    return True


def wait_for_coordinator(
    programs: Supervised, names: tuple[str, ...], address: Address, interrupted: Event
) -> Address:
    """Wait until the broker coordinates groups and has the topics that tests use.

    Raises:
        NotStartedError: one of the named programs ended, or the time is over.
    """
    deadline = time.monotonic() + START_S
    while True:
        try:
            with BootstrapClient(
                *address, connect_s=1.0, answer_s=START_S / 4, interrupted=interrupted
            ) as broker:
                broker.versions({})
                broker.coordinator("group")
                if broker.has_loaded_groups() and all(map(broker.has_topic, (TOPIC, OTHER_TOPIC))):
                    return address
        except (OSError, PortFailedError, PortUnavailableError, MalformedAnswerError):
            pass  # not ready
        _check_running(programs, names, deadline)
        pause(interrupted)


def how_ended(programs: Supervised, name: str) -> str | None:
    """Return how a program has ended, with its name; None while it runs."""
    status = programs.ended(name)
    if status is None:
        return None
    what = f"status {status}" if status.lstrip("-").isdigit() else status
    return f"{name} ended ({what})"


def _check_running(programs: Supervised, names: tuple[str, ...], deadline: float) -> None:
    """Raise unless the programs run and there is time left."""
    for name in names:
        if how := how_ended(programs, name):
            raise NotStartedError(how, programs.log(name))
    if time.monotonic() > deadline:
        msg = f"no response within {START_S:.0f} s"
        raise NotStartedError(msg, [line for name in names for line in programs.log(name)])
