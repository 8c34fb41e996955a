"""From what a person types to a port: the forms of PORT, and which of them needs what."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from groupcheck.properties.ports.port import Port
from groupcheck.properties.ports.settings import BrokerSettings, parse_settings
from groupcheck.properties.windows import USUAL, Windows

if TYPE_CHECKING:
    from groupcheck.properties.ports.pulse import Pulse

FORMS = (
    "builtin",
    "python:PACKAGE.MODULE:FACTORY",
    "exec:COMMAND",
    "kafka://HOST:PORT[?SETTING=NUMBER&...]",
    "librdkafka-mock",
    "kafka:VERSION",
    "kfake",
    "serve[:VERSION]",
)


class UnknownPortError(ValueError):
    """What was typed is not one of the forms of PORT."""


class PortSource(NamedTuple):
    """Where ports come from: `connect` gives one more, `stop` lets go of what they share.

    A coordinator on a real clock is judged within `windows`; `broker_settings` finds out what it is
    set to (it may raise `PortUnavailableError`), and `interrupt` ends at once whatever its ports
    wait for. Where there is a `pulse`, it tells whether the coordinator is there, and `forget` has
    it asked anew what it is, as it may have come back as another; `revive` starts one that has
    ended, if it was started here. If it is `typed`, another process
    can make the same of its `spec` and the seed of the run. `profile` is the version that it
    is known to be.
    """

    spec: str
    connect: Callable[[], Port]
    windows: Windows | None = None
    broker_settings: Callable[[], BrokerSettings] = lambda: BrokerSettings({})
    stop: Callable[[], None] = lambda: None
    interrupt: Callable[[], None] = lambda: None
    typed: bool = False
    pulse: Callable[[], Pulse] | None = None
    forget: Callable[[], None] = lambda: None
    revive: Callable[[], None] | None = None
    profile: str | None = None

    @property
    def real_time(self) -> bool:
        """Whether its ports' clock is the one on the wall."""
        return self.windows is not None


def port_source(spec: str, *, seed: int = 0, windows: Windows = USUAL) -> PortSource:
    """The source for a PORT as typed; nothing is started but what all its ports share.

    A broker that is named is fetched or built, if it was not before, and started when it is needed.

    Raises:
        UnknownPortError: it has none of the known forms.
        PortUnavailableError: what it names is not there.
    """
    if spec == "builtin":
        return _builtin(spec, seed)
    if spec == "librdkafka-mock":
        return _librdkafka_mock(spec, windows)
    kind, colon, rest = spec.partition(":")
    if colon and rest:
        if kind == "python":
            return _python(spec, rest)
        if kind == "exec":
            return _exec(spec, rest)
        if kind == "kafka" and rest.startswith("//"):
            return _kafka(spec, windows)
    broker = _broker(spec, windows)
    if broker is not None:
        return broker
    msg = f"unknown PORT {spec!r}; it is one of: {', '.join(FORMS)}"
    raise UnknownPortError(msg)


def _builtin(spec: str, seed: int) -> PortSource:
    from groupcheck.properties.ports.builtin import BuiltinPort

    return PortSource(spec, lambda: BuiltinPort(seed), typed=True)


def _python(spec: str, rest: str) -> PortSource:
    from groupcheck.properties.ports.python import PythonPort, load_factory

    factory = load_factory(rest)
    return PortSource(spec, lambda: PythonPort(factory), typed=True)


def factory_source(factory: Callable[[], object]) -> PortSource:
    """The source of the ports that a factory makes, as `python:` has it for one that is named."""
    from groupcheck.properties.ports.python import PythonPort, name_of

    return PortSource(f"python:{name_of(factory)}", lambda: PythonPort(factory))


def _exec(spec: str, command: str) -> PortSource:
    from groupcheck.properties.ports.exec import ExecPort

    return PortSource(spec, lambda: ExecPort(command), typed=True)


def _kafka(spec: str, windows: Windows) -> PortSource:
    from groupcheck.properties.ports.acquaintance import Acquaintance
    from groupcheck.properties.ports.pulse import Pulse
    from groupcheck.properties.ports.wire import WirePort

    host, port, query = _address(spec)
    try:
        settings = parse_settings(query)
    except ValueError as error:
        msg = f"{spec!r}: {error}"
        raise UnknownPortError(msg) from error

    interrupted, acquaintance = Event(), Acquaintance()

    def connect() -> WirePort:
        return WirePort(
            host,
            port,
            windows=windows,
            settings=settings,
            interrupted=interrupted,
            acquaintance=acquaintance,
        )

    return PortSource(
        spec,
        connect,
        windows=windows,
        broker_settings=lambda: connect().broker_settings(),
        interrupt=interrupted.set,
        pulse=lambda: Pulse(lambda: (host, port), interrupted),
        forget=acquaintance.forget,
    )


def _address(spec: str) -> tuple[str, int, str]:
    """Host, port and query of kafka://HOST:PORT?QUERY."""
    try:
        parts = urlsplit(spec)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    else:
        if parts.username or parts.path.strip("/") or parts.fragment:
            host = None
    if not host or not port:
        msg = f"{spec!r} is not of the form kafka://HOST:PORT (an IPv6 address in brackets)"
        raise UnknownPortError(msg)
    return host, port, parts.query


def _broker(spec: str, windows: Windows) -> PortSource | None:
    from groupcheck.properties.brokers.catalogue import broker_source

    return broker_source(spec, windows)


def _librdkafka_mock(spec: str, windows: Windows) -> PortSource:
    from groupcheck.properties.ports.librdkafka import LibrdkafkaPort

    # A broker for each test: some of what is tried kills it.
    interrupted = Event()

    def connect() -> LibrdkafkaPort:
        return LibrdkafkaPort(windows=windows, null_as_empty=True, interrupted=interrupted)

    return PortSource(spec, connect, windows, interrupt=interrupted.set)
