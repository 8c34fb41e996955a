"""The brokers that can be started by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from queue import Empty, Queue
from threading import Event, Lock
from typing import Final

from groupcheck.model.classic.config import EXPIRY_SETTINGS
from groupcheck.properties.brokers import apache, kfake, mokapi, tansu
from groupcheck.properties.brokers.definition import (
    Address,
    BrokerDefinition,
    BrokerListing,
    Running,
    answers,
    no_package,
    start,
    to_stderr,
    wait_for_address,
)
from groupcheck.properties.brokers.supervised import Supervised
from groupcheck.properties.ports.connection import WAKE_S, raise_if_interrupted
from groupcheck.properties.ports.port import PortUnavailableError

MOST_BROKERS: Final = 12  # of one definition that run at the same time
MAIN: Final = ("groupcheck", "serve")
SERVE: Final = ("aiokafka", "kio")  # modules of groupcheck[serve]
WIRE: Final = ("kafka", "platformdirs")  # modules of groupcheck[wire]


@cache
def definitions() -> dict[str, BrokerDefinition]:
    """Return the definition of every broker by its name."""
    others = [each.definition() for each in (kfake, tansu, mokapi)]
    found = [*apache.definitions(), *others, *_served()]
    return {definition.name: definition for definition in found}


def missing(definition: BrokerDefinition) -> str | None:
    """Return why the broker cannot run on this machine; None if it can."""
    return no_package(*WIRE, extra="wire") or definition.missing()


def listing() -> list[BrokerListing]:
    """Return every broker that has a name, and whether it can run here."""
    every = definitions().values()
    found = [BrokerListing(d.name, d.title, d.profile, d.needs, missing(d)) for d in every]
    absent = no_package("confluent_kafka", "kafka", extra="wire")
    needs = "the packages of groupcheck[wire]"
    title = "librdkafka's mock broker"
    return [*found, BrokerListing("librdkafka-mock", title, "2.7", needs, absent)]


class Broker:
    """A broker that the first call of `address` starts.

    `has_failed` says whether it was started again because it did not answer.
    """

    def __init__(
        self, definition: BrokerDefinition, settings: Mapping[str, int], interrupted: Event
    ) -> None:
        self.interrupted = interrupted
        self.has_failed = False
        self._definition = definition
        self._settings = settings
        self._lock = Lock()
        self._running: Running | None = None

    def address(self) -> Address:
        """Return the address of the running broker.

        Raises:
            PortUnavailableError: it does not start.
        """
        with self._lock:
            if self._running is None:
                self._running = start(self._definition, self._settings, self.interrupted)
            return self._running.address

    def restart(self) -> None:
        """Start the broker again if it has ended, with empty state; raises as `address` does."""
        with self._lock:
            running = self._running
            if running is None or not running.ended:
                return
            self._running = None
        running.stop()
        self.address()

    def replaced(self, address: Address) -> Address:
        """Return the address of the broker, which is started again if it hangs or has ended.

        Raises:
            PortUnavailableError: it does not start.
        """
        with self._lock:
            running = self._running
            if running is None or running.address != address:
                pass  # another port has done so
            elif running.ended or not answers(address, self.interrupted):
                self._running, self.has_failed = None, True
                running.stop()
        return self.address()

    def stop(self) -> None:
        """End the broker."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.stop()


class Brokers:
    """The brokers of a source: one for all its ports, and if that one fails, one for each port.

    Many tests run concurrently, and only one of them made the shared broker fail.

    Raises:
        PortUnavailableError: the broker cannot run here, or cannot be downloaded or built.
    """

    def __init__(self, definition: BrokerDefinition, given: Mapping[str, int]) -> None:
        why_not = missing(definition)
        if why_not is not None:
            msg = f"{definition.name} needs {definition.needs}: {why_not}"
            raise PortUnavailableError(msg)
        definition.prepare(to_stderr)
        self.interrupted = Event()
        self._new = partial(Broker, definition, {**definition.settings, **given}, self.interrupted)
        self.shared = self._new()
        self._are_separate = False
        self._started: list[Broker] = []
        self._idle: Queue[Broker] = Queue()
        self._lock = Lock()

    def take(self) -> Broker:
        """Return the broker for a port: the shared one, or one that no other port uses.

        Raises:
            PortUnavailableError: the wait for one was interrupted.
        """
        with self._lock:
            if not self._are_separate:
                return self.shared
            if self._idle.empty() and len(self._started) < MOST_BROKERS:
                self._started.append(self._new())
                return self._started[-1]
        while True:
            raise_if_interrupted(self.interrupted)
            with suppress(Empty):
                return self._idle.get(timeout=WAKE_S)

    def give_back(self, broker: Broker) -> None:
        """Allow other ports to use a broker."""
        if broker is not self.shared:
            self._idle.put(broker)

    def separate(self) -> bool:
        """Return whether the shared broker fails: then each further port has one of its own."""
        self.shared.replaced(self.shared.address())
        with self._lock:
            self._are_separate |= self.shared.has_failed
            return self._are_separate

    def stop(self) -> None:
        """End every broker."""
        for broker in [self.shared, *self._started]:
            broker.stop()


def _served() -> list[BrokerDefinition]:
    """Return a definition for each version of this project's own coordinator, as a control."""
    return [
        BrokerDefinition(
            name,
            f"groupcheck serve, as Kafka {profile}",
            profile,
            "the packages of groupcheck[serve]",
            missing=partial(no_package, *SERVE, extra="serve"),
            prepare=lambda _: None,
            launch=partial(_launch, profile),
            optional=EXPIRY_SETTINGS,
        )
        for name, profile in (("serve", "2.7"), ("serve:4.1", "4.1"))
    ]


def _launch(
    profile: str, programs: Supervised, settings: Mapping[str, int], interrupted: Event
) -> Address:
    options = [word for n, value in settings.items() for word in ("--config", f"{n}={value}")]
    command = [sys.executable, "-m", *MAIN, "--profile", profile]
    programs.start("serve", [*command, "--listen", "127.0.0.1:0", *options])
    return wait_for_address(programs, "serve", "serving Kafka .* on", interrupted)
