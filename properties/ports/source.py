"""From what a person types to a port: the forms of PORT, and which of them needs what."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import NamedTuple
from urllib.parse import urlsplit

from groupcheck.properties.ports.port import Port
from groupcheck.properties.ports.settings import BrokerSettings, parse_settings

FORMS = (
    "builtin",
    "python:PACKAGE.MODULE:FACTORY",
    "exec:COMMAND",
    "kafka://HOST:PORT[?SETTING=NUMBER&...]",
    "librdkafka-mock",
)


class UnknownPortError(ValueError):
    """What was typed is not one of the forms of PORT."""


class PortSource(NamedTuple):
    """Where ports come from: `connect` gives one more, `stop` lets go of what they share.

    For a coordinator on a real clock, `broker_settings` finds out what it is set to (it may raise
    `PortUnavailableError`), and `interrupt` ends at once whatever its ports wait for.
    """

    spec: str
    connect: Callable[[], Port]
    real_time: bool = False
    broker_settings: Callable[[], BrokerSettings] = lambda: BrokerSettings({})
    stop: Callable[[], None] = lambda: None
    interrupt: Callable[[], None] = lambda: None


def port_source(spec: str, *, seed: int = 0) -> PortSource:
    """The source for a PORT as typed; nothing is started but what all its ports share.

    Raises:
        UnknownPortError: it has none of the known forms.
        PortUnavailableError: what it names is not there.
    """
    if spec == "builtin":
        return _builtin(spec, seed)
    if spec == "librdkafka-mock":
        return _librdkafka_mock(spec)
    kind, colon, rest = spec.partition(":")
    if colon and rest:
        if kind == "python":
            return _python(spec, rest)
        if kind == "exec":
            return _exec(spec, rest)
        if kind == "kafka":
            return _kafka(spec)
    msg = f"unknown PORT {spec!r}; it is one of: {', '.join(FORMS)}"
    raise UnknownPortError(msg)


def _builtin(spec: str, seed: int) -> PortSource:
    from groupcheck.properties.ports.builtin import BuiltinPort

    return PortSource(spec, lambda: BuiltinPort(seed))


def _python(spec: str, rest: str) -> PortSource:
    from groupcheck.properties.ports.python import PythonPort, load_factory

    factory = load_factory(rest)
    return PortSource(spec, lambda: PythonPort(factory))


def _exec(spec: str, command: str) -> PortSource:
    from groupcheck.properties.ports.exec import ExecPort

    return PortSource(spec, lambda: ExecPort(command))


def _kafka(spec: str) -> PortSource:
    from groupcheck.properties.ports.wire import WirePort

    host, port, query = _address(spec)
    try:
        settings = parse_settings(query)
    except ValueError as error:
        msg = f"{spec!r}: {error}"
        raise UnknownPortError(msg) from error

    interrupted = Event()

    def connect() -> WirePort:
        return WirePort(host, port, settings=settings, interrupted=interrupted)

    return PortSource(
        spec,
        connect,
        real_time=True,
        broker_settings=lambda: connect().broker_settings(),
        interrupt=interrupted.set,
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


def _librdkafka_mock(spec: str) -> PortSource:
    from groupcheck.properties.ports.librdkafka import LibrdkafkaPort

    # A broker for each test: some of what is tried kills it.
    interrupted = Event()

    def connect() -> LibrdkafkaPort:
        return LibrdkafkaPort(null_as_empty=True, interrupted=interrupted)

    return PortSource(spec, connect, real_time=True, interrupt=interrupted.set)
