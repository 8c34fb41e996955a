"""The brokers that can be started by name, and the source of ports of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from threading import Event, Lock
from typing import Final

from groupcheck.properties.brokers import apache, kfake, served
from groupcheck.properties.brokers.definition import (
    BrokerDefinition,
    Running,
    no_package,
    start,
    to_stderr,
)
from groupcheck.properties.brokers.listing import BrokerListing
from groupcheck.properties.ports.broker_info import BrokerInfoCache
from groupcheck.properties.ports.health_check import HealthCheck
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.settings import BrokerSettings, parse_settings
from groupcheck.properties.ports.source import PortSource, UnknownPortError
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.tolerances import Tolerances

WIRE: Final = ("kafka", "platformdirs")  # modules of groupcheck[wire]


@cache
def definitions() -> dict[str, BrokerDefinition]:
    """Return the definition of every broker by its name."""
    found = [*apache.definitions(), kfake.definition(), *served.definitions()]
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


class SharedBroker:
    """One broker for all ports of a source; the first port starts it."""

    def __init__(
        self, definition: BrokerDefinition, given: Mapping[str, int], tolerances: Tolerances
    ) -> None:
        self.definition = definition
        self.tolerances = tolerances
        self.interrupted = Event()
        self.broker_info = BrokerInfoCache()
        self._settings = {**definition.settings, **given}
        unreported = definition.unreported
        self._unreported = {**unreported, **{k: v for k, v in given.items() if k in unreported}}
        self._lock = Lock()
        self._running: Running | None = None

    def running(self) -> Running:
        """Return the running broker.

        Raises:
            PortUnavailableError: it does not start.
        """
        with self._lock:
            if self._running is None:
                self._running = start(self.definition, self._settings, self.interrupted)
            return self._running

    def connect(self) -> WirePort:
        """Return a new port; raises as `running` does."""
        return WirePort(
            *self.running().address,
            tolerances=self.tolerances,
            settings=self._unreported,
            interrupted=self.interrupted,
            broker_info=self.broker_info,
        )

    def health_check(self) -> HealthCheck:
        """Return a health check of the broker; raises as `running` does."""
        self.running()
        return HealthCheck(lambda: self.running().address, self.interrupted)

    def restart(self) -> None:
        """Start the broker again if it has ended, with empty state; raises as `running` does."""
        with self._lock:
            running = self._running
            if running is None or not running.ended:
                return
            self._running = None
        running.stop()
        self.running()

    def broker_settings(self) -> BrokerSettings:
        """Return its settings; raises as `running` does."""
        return self.connect().broker_settings()

    def stop(self) -> None:
        """End the broker."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.stop()


def broker_source(spec: str, tolerances: Tolerances) -> PortSource | None:
    """Return the source of ports of a named broker; downloads or builds it. None if unknown.

    Raises:
        UnknownPortError: it does not have a setting, or the value is not allowed.
        PortUnavailableError: it cannot run here, or cannot be downloaded or built.
    """
    name, _, query = spec.partition("?")
    definition = definitions().get(name)
    if definition is None:
        return None
    given = _given(definition, spec, query)
    why_not = missing(definition)
    if why_not is not None:
        msg = f"{name} needs {definition.needs}: {why_not}"
        raise PortUnavailableError(msg)
    definition.prepare(to_stderr)
    shared = SharedBroker(definition, given, tolerances)
    return PortSource(
        spec,
        shared.connect,
        tolerances=tolerances,
        broker_settings=shared.broker_settings,
        stop=shared.stop,
        interrupt=shared.interrupted.set,
        profile=definition.profile,
        health_check=shared.health_check,
        clear_broker_info=shared.broker_info.clear,
        restart=shared.restart,
    )


def _given(definition: BrokerDefinition, spec: str, query: str) -> dict[str, int]:
    try:
        given = parse_settings(query)
    except ValueError as error:
        msg = f"{spec!r}: {error}"
        raise UnknownPortError(msg) from error
    for name in given:
        if name not in definition.settings:
            msg = f"{spec!r}: {definition.title} has no setting {name}"
            raise UnknownPortError(msg)
    return given
