"""What every broker is to who starts it: what it is, what it needs, and how one is brought up."""

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

from groupcheck.model.spaces.clients import OTHER_TOPIC, TOPIC
from groupcheck.properties.brokers.kept import Kept
from groupcheck.properties.ports.codec import MalformedAnswerError
from groupcheck.properties.ports.connection import Enquiry, check
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError

UP_S: Final = 120.0
RETRY_S: Final = 0.1
TRIES: Final = 3
IN_USE: Final = "Address already in use"

# The same for all, as far as they have them: groups that are quick, and end no sooner than asked.
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
Tell = Callable[[str], None]


class NotUpError(Exception):
    """A broker did not come up; `lines` are the last of what it wrote."""

    def __init__(self, why: str, lines: list[str]) -> None:
        super().__init__(why)
        self.lines = lines

    @property
    def in_use(self) -> bool:
        """Whether it was for a port that somebody else took meanwhile."""
        return any(IN_USE.lower() in line.lower() for line in self.lines)


class Recipe(NamedTuple):
    """A broker that can be started.

    `name` is the PORT that a person types, `profile` the version it is judged by. `needs` says what
    has to be there, `missing` what of it is not. `prepare` fetches or builds it, and may tell that;
    `launch` starts it in a folder, with the settings it is given, and gives its address once it
    listens. `settings` are what can be set, and to what it is if nobody says otherwise; `untold` is
    what else it is judged by, as it does not tell.
    """

    name: str
    title: str
    profile: str
    needs: str
    missing: Callable[[], str | None]
    prepare: Callable[[Tell], object]
    launch: Callable[[Kept, Mapping[str, int], Event], Address]
    settings: Mapping[str, int] = SETTINGS
    untold: Mapping[str, int] = MappingProxyType({})


class Running:
    """A broker that runs; `address` is its host and port, `kept` its programs and folder."""

    def __init__(self, address: Address, kept: Kept) -> None:
        self.address = address
        self.kept = kept

    @property
    def ended(self) -> bool:
        """Whether the broker has ended, which is the program that was started last."""
        self.kept.ended("")  # takes in what was said of programs
        return bool(self.kept.pids) and self.kept.ended(next(reversed(self.kept.pids))) is not None

    def stop(self) -> None:
        """End it, with all that belongs to it; safe to call twice."""
        self.kept.close()


def no_package(*modules: str, extra: str) -> str | None:
    """That a module of an extra of this package is not installed, if one is not."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f"no module {module}: pip install 'groupcheck[{extra}]'"
    return None


def to_stderr(line: str) -> None:
    """Tell a person what takes long."""
    if sys.stderr is not None:
        sys.stderr.write(f"groupcheck: {line}\n")
        sys.stderr.flush()


def start(recipe: Recipe, settings: Mapping[str, int], interrupted: Event) -> Running:
    """Bring a broker up that has been prepared.

    Raises:
        PortUnavailableError: it does not come up; the message has the last lines of its log.
    """
    for again in reversed(range(TRIES)):
        try:
            kept = Kept(interrupted)
        except PortFailedError as error:
            raise PortUnavailableError(error.reason) from error
        try:
            address = recipe.launch(kept, settings, interrupted)
        except NotUpError as failure:
            kept.close()
            if again and failure.in_use:
                continue
            last = "".join(f"\n  {line}" for line in failure.lines)
            msg = f"{recipe.title} does not come up: {failure}{last}"
            raise PortUnavailableError(msg) from failure
        except BaseException:
            kept.close()
            raise
        return Running(address, kept)
    raise AssertionError  # the last try has returned or raised


def free_port() -> int:
    """A port of the loopback interface that nobody listens on just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number


def said_address(kept: Kept, name: str, words: str, interrupted: Event) -> Address:
    """The address that a program says it listens on, after those words.

    Raises:
        NotUpError: it ended, or did not say so in time.
    """
    deadline = time.monotonic() + UP_S
    while True:
        for line in kept.log(name):
            if found := re.search(rf"{words} 127\.0\.0\.1:(\d+)", line):
                return "127.0.0.1", int(found[1])
        _still(kept, (name,), deadline)
        _pause(interrupted)


def answering(kept: Kept, names: tuple[str, ...], address: Address, interrupted: Event) -> Address:
    """Wait until the broker there coordinates groups, and has the topics that tests ask for.

    Raises:
        NotUpError: one of the programs of those names ended, or time is over.
    """
    deadline = time.monotonic() + UP_S
    while True:
        try:
            with Enquiry(
                *address, connect_s=1.0, answer_s=UP_S / 4, interrupted=interrupted
            ) as broker:
                broker.versions({})
                broker.coordinator("group")
                if broker.coordinates() and all(map(broker.has_topic, (TOPIC, OTHER_TOPIC))):
                    return address
        except (OSError, PortFailedError, PortUnavailableError, MalformedAnswerError):
            pass  # not yet, or never
        _still(kept, names, deadline)
        _pause(interrupted)


def _still(kept: Kept, names: tuple[str, ...], deadline: float) -> None:
    """See that what is waited for can still come."""
    for name in names:
        status = kept.ended(name)
        if status is not None:
            what = f"status {status}" if status.lstrip("-").isdigit() else status
            msg = f"{name} ended ({what})"
            raise NotUpError(msg, kept.log(name))
    if time.monotonic() > deadline:
        msg = f"it does not answer after {UP_S:.0f} s"
        raise NotUpError(msg, [line for name in names for line in kept.log(name)])


def _pause(interrupted: Event) -> None:
    interrupted.wait(RETRY_S)
    check(interrupted)
