"""The sources of ports, one for each form of the PORT argument."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from groupcheck.properties.ports.port import Port, PortUnavailableError
from groupcheck.properties.ports.settings import BrokerSettings, parse_settings
from groupcheck.properties.tolerances import USUAL, Tolerances

if TYPE_CHECKING:
    from groupcheck.properties.ports.health_check import HealthCheck

FORMS = (
    "builtin",
    "python:PACKAGE.MODULE:FACTORY",
    "exec:COMMAND",
    "kafka://HOST:PORT[?SETTING=NUMBER&topic=NAME&...]",
    "librdkafka-mock",
    "kafka:VERSION",
    "kfake",
    "tansu",
    "mokapi",
    "serve[:VERSION]",
)


class UnknownPortError(ValueError):
    """The PORT argument has none of the known forms."""


def unknown_port(spec: str, forms: Collection[str], *versions: str) -> UnknownPortError:
    """Return the error for a PORT argument that has none of the forms, or no such version."""
    msg = f"unknown PORT {spec!r}; it is one of: {', '.join(forms)}"
    if versions:
        msg += f"; VERSION is one of: {', '.join(versions)}"
    return UnknownPortError(msg)


class PortSource(NamedTuple):
    """Opens the ports of one coordinator: `connect` returns a new port, `stop` releases the rest.

    A coordinator on a real clock has `tolerances` for its timings; `broker_settings` asks for its
    settings (may raise `PortUnavailableError`), and `interrupt` ends every wait of its ports.
    `health_check` checks whether the coordinator is up; `clear_broker_info` drops what is cached of
    it, which a restart may change; `restart` starts it again after it has ended, if this process
    started it. If `typed`, another process can make the same ports from `spec` and the run's seed.
    `profile` is the version of a known broker. `separate` returns whether a broker that this
    process has started fails: then each further port has one of its own.
    """

    spec: str
    connect: Callable[[], Port]
    tolerances: Tolerances | None = None
    broker_settings: Callable[[], BrokerSettings] = lambda: BrokerSettings({})
    stop: Callable[[], None] = lambda: None
    interrupt: Callable[[], None] = lambda: None
    typed: bool = False
    health_check: Callable[[], HealthCheck] | None = None
    clear_broker_info: Callable[[], None] = lambda: None
    restart: Callable[[], None] | None = None
    profile: str | None = None
    separate: Callable[[], bool] = lambda: False

    @property
    def is_program(self) -> bool:
        """Whether its ports are programs of their own, which may run side by side."""
        return self.spec.startswith("exec:")

    @property
    def real_time(self) -> bool:
        """Whether its ports run on a real clock."""
        return self.tolerances is not None


def port_source(spec: str, *, seed: int = 0, tolerances: Tolerances = USUAL) -> PortSource:
    """Return the source for a PORT argument; starts only what all its ports share.

    A broker given by name is downloaded or built once, and started by the first port.

    Raises:
        UnknownPortError: the argument has none of the known forms.
        PortUnavailableError: what it names does not exist.
    """
    kind, _, rest = spec.partition(":")
    if spec == "builtin":
        return _builtin(spec, seed)
    if spec.partition("?")[0] == "librdkafka-mock":
        return _librdkafka_mock(spec, tolerances)
    if kind == "python" and rest:
        from groupcheck.properties.ports.python import load_factory

        return factory_source(load_factory(rest))._replace(spec=spec, typed=True)
    if kind == "exec" and rest:
        from groupcheck.properties.ports.exec import ExecPort

        return PortSource(spec, lambda: ExecPort(rest), typed=True)
    if spec.startswith("kafka://"):
        return _kafka(spec, tolerances)
    broker = _broker(spec, tolerances)
    if broker is not None:
        return broker
    if kind == "kafka":
        from groupcheck.properties.brokers.apache import RELEASES

        raise unknown_port(spec, FORMS, *(each.minor for each in RELEASES))
    if kind in ("client", "kafka-clients") or spec in ("kafka-python", "aiokafka", "librdkafka"):
        client = rest if kind == "client" else spec
        msg = f"{spec!r} is no coordinator; a client: groupcheck clients verify {client}"
        raise UnknownPortError(msg)
    raise unknown_port(spec, FORMS)


def _builtin(spec: str, seed: int) -> PortSource:
    try:
        from groupcheck.properties.ports.builtin import BuiltinPort
    except Exception as error:  # a changed coordinator may fail when it is imported
        from groupcheck.properties.ports.user_code import one_line

        msg = f"cannot import the built-in coordinator: {one_line(error)}"
        raise PortUnavailableError(msg) from error
    return PortSource(spec, lambda: BuiltinPort(seed), typed=True)


def factory_source(factory: Callable[[], object]) -> PortSource:
    """Return the source of the ports that a factory makes; `python:` names such a factory."""
    from groupcheck.properties.ports.python import PythonPort, name_of

    return PortSource(f"python:{name_of(factory)}", lambda: PythonPort(factory))


def _kafka(spec: str, tolerances: Tolerances) -> PortSource:
    from groupcheck.properties.ports.topics import parse_topics

    host, port, query = _address(spec)
    with _naming(spec):
        topics, query = parse_topics(query)
        settings = parse_settings(query)
    address = (host, port)
    return _wire_source(
        spec, lambda: address, Event(), tolerances, settings=settings, topics=topics
    )


def _address(spec: str) -> tuple[str, int, str]:
    """Split kafka://HOST:PORT?QUERY into host, port and query."""
    try:
        parts = urlsplit(spec)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    else:
        if parts.username or parts.path.strip("/") or parts.fragment:
            host = None
    if not host or not port:
        msg = f"{spec!r} does not have the form kafka://HOST:PORT (IPv6 addresses in brackets)"
        raise UnknownPortError(msg)
    return host, port, parts.query


@contextmanager
def _naming(spec: str) -> Iterator[None]:
    """Add the PORT to the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        msg = f"{spec!r}: {error}"
        raise UnknownPortError(msg) from error


def _wire_source(
    spec: str,
    address: Callable[[], tuple[str, int]],
    interrupted: Event,
    tolerances: Tolerances,
    **given: Any,  # noqa: ANN401 - of a `WirePort`
) -> PortSource:
    """Return the source of the ports of one broker; `address` may start it."""
    from groupcheck.properties.ports.discovery import BrokerInfoCache
    from groupcheck.properties.ports.health_check import HealthCheck
    from groupcheck.properties.ports.wire import WirePort

    cache = BrokerInfoCache()

    def connect() -> WirePort:
        return WirePort(
            *address(),
            tolerances=tolerances,
            **given,
            interrupted=interrupted,
            broker_info=cache,
        )

    def health_check() -> HealthCheck:
        address()
        return HealthCheck(address, interrupted)

    return PortSource(
        spec,
        connect,
        tolerances=tolerances,
        broker_settings=lambda: connect().broker_settings(),
        interrupt=interrupted.set,
        health_check=health_check,
        clear_broker_info=cache.clear,
    )


def _broker(spec: str, tolerances: Tolerances) -> PortSource | None:
    """Return the source of a broker that is started by name; None if there is no such broker."""
    from groupcheck.properties.brokers.catalogue import Brokers, definitions
    from groupcheck.properties.ports.wire import WirePort

    definition = definitions().get(spec.partition("?")[0])
    if definition is None:
        return None
    given = _settings(spec, definition.title, {*definition.settings, *definition.optional})
    brokers = Brokers(definition, given)
    shared = brokers.shared
    optional = {name: given[name] for name in definition.optional if name in given}
    known_values = {k: given.get(k, v) for k, v in definition.unreported.items()} | optional
    options: dict[str, Any] = {"settings": known_values, "null_as_empty": definition.null_as_empty}
    source = _wire_source(
        spec,
        shared.address,
        shared.interrupted,
        tolerances,
        replaced=shared.replaced,
        **options,
    )

    def connect() -> Port:
        broker = brokers.take()
        if broker is shared:
            return source.connect()
        try:
            return WirePort(
                *broker.address(),
                tolerances=tolerances,
                interrupted=brokers.interrupted,
                replaced=broker.replaced,
                released=partial(brokers.give_back, broker),
                **options,
            )
        except BaseException:
            brokers.give_back(broker)
            raise

    return source._replace(
        connect=connect,
        stop=brokers.stop,
        profile=definition.profile,
        restart=shared.restart,
        separate=brokers.separate,
    )


def _settings(spec: str, title: str, known: Collection[str]) -> dict[str, int]:
    """Return the settings in the PORT argument of a broker, all of them `known`."""
    with _naming(spec):
        given = parse_settings(spec.partition("?")[2])
    if unknown := next((name for name in given if name not in known), None):
        msg = f"{spec!r}: {title} has no setting {unknown}"
        raise UnknownPortError(msg)
    return given


def _librdkafka_mock(spec: str, tolerances: Tolerances) -> PortSource:
    from groupcheck.model.classic.instances.instance import DELAY
    from groupcheck.properties.ports.librdkafka import SETTINGS, MockBrokers

    given = _settings(spec, "librdkafka's mock broker", {DELAY})
    # One process for each test, since some requests crash it.
    brokers = MockBrokers()
    return PortSource(
        spec,
        lambda: brokers.port(tolerances),
        tolerances,
        broker_settings=lambda: BrokerSettings({**SETTINGS, **given}),
        stop=brokers.stop,
        interrupt=brokers.interrupted.set,
    )
