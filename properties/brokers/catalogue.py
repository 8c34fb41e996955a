"""The brokers that can be started by name, and a source of ports of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from threading import Event, Lock
from typing import Final

from groupcheck.properties.brokers import apache, kfake, served
from groupcheck.properties.brokers.listed import Listed
from groupcheck.properties.brokers.recipe import Recipe, Running, no_package, start, to_stderr
from groupcheck.properties.ports.acquaintance import Acquaintance
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.pulse import Pulse
from groupcheck.properties.ports.settings import BrokerSettings, parse_settings
from groupcheck.properties.ports.source import PortSource, UnknownPortError
from groupcheck.properties.ports.wire import WirePort
from groupcheck.properties.windows import Windows

WIRE: Final = ("kafka", "platformdirs")  # modules of groupcheck[wire]


@cache
def recipes() -> dict[str, Recipe]:
    """Every broker by its name."""
    found = [*apache.recipes(), kfake.recipe(), *served.recipes()]
    return {recipe.name: recipe for recipe in found}


def missing(recipe: Recipe) -> str | None:
    """Why the broker cannot run on this machine, if it cannot."""
    return no_package(*WIRE, extra="wire") or recipe.missing()


def listing() -> list[Listed]:
    """Every broker that is started when a person names it, and whether it can run here."""
    found = [Listed(r.name, r.title, r.profile, r.needs, missing(r)) for r in recipes().values()]
    absent = no_package("confluent_kafka", "kafka", extra="wire")
    needs = "the packages of groupcheck[wire]"
    return [*found, Listed("librdkafka-mock", "librdkafka's mock broker", "2.7", needs, absent)]


class Shared:
    """One broker for all ports of a source, started when the first of them is asked for."""

    def __init__(self, recipe: Recipe, said: Mapping[str, int], windows: Windows) -> None:
        self.recipe = recipe
        self.windows = windows
        self.interrupted = Event()
        self.acquaintance = Acquaintance()
        self._set = {**recipe.settings, **said}
        self._untold = {**recipe.untold, **{k: v for k, v in said.items() if k in recipe.untold}}
        self._lock = Lock()
        self._running: Running | None = None

    def running(self) -> Running:
        """The broker.

        Raises:
            PortUnavailableError: it does not come up.
        """
        with self._lock:
            if self._running is None:
                self._running = start(self.recipe, self._set, self.interrupted)
            return self._running

    def connect(self) -> WirePort:
        """One more port of it; raises as `running` does."""
        return WirePort(
            *self.running().address,
            windows=self.windows,
            settings=self._untold,
            interrupted=self.interrupted,
            acquaintance=self.acquaintance,
        )

    def pulse(self) -> Pulse:
        """What tells whether it is there; raises as `running` does."""
        self.running()
        return Pulse(lambda: self.running().address, self.interrupted)

    def revive(self) -> None:
        """Start the broker again, without what it knew, if it has ended; raises as `running`."""
        with self._lock:
            running = self._running
            if running is None or not running.ended:
                return
            self._running = None
        running.stop()
        self.running()

    def broker_settings(self) -> BrokerSettings:
        """What it is set to; raises as `running` does."""
        return self.connect().broker_settings()

    def stop(self) -> None:
        """End the broker."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.stop()


def broker_source(spec: str, windows: Windows) -> PortSource | None:
    """The source of ports of the broker of that name, if there is one; what it needs is made ready.

    Raises:
        UnknownPortError: it has no such setting, or cannot have it.
        PortUnavailableError: it cannot run here, or what it needs cannot be had.
    """
    name, _, query = spec.partition("?")
    recipe = recipes().get(name)
    if recipe is None:
        return None
    said = _said(recipe, spec, query)
    why_not = missing(recipe)
    if why_not is not None:
        msg = f"{name} needs {recipe.needs}: {why_not}"
        raise PortUnavailableError(msg)
    recipe.prepare(to_stderr)
    shared = Shared(recipe, said, windows)
    return PortSource(
        spec,
        shared.connect,
        windows=windows,
        broker_settings=shared.broker_settings,
        stop=shared.stop,
        interrupt=shared.interrupted.set,
        profile=recipe.profile,
        pulse=shared.pulse,
        forget=shared.acquaintance.forget,
        revive=shared.revive,
    )


def _said(recipe: Recipe, spec: str, query: str) -> dict[str, int]:
    try:
        said = parse_settings(query)
    except ValueError as error:
        msg = f"{spec!r}: {error}"
        raise UnknownPortError(msg) from error
    for name in said:
        if name not in recipe.settings:
            msg = f"{spec!r}: {recipe.title} has no setting {name}"
            raise UnknownPortError(msg)
    return said
