"""The clients that can be verified, one for each form of the PORT argument."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from groupcheck.properties.assignors.source import RELEASES, USUAL
from groupcheck.properties.brokers.definition import Report
from groupcheck.properties.clients import java, settings
from groupcheck.properties.clients.builtin import BuiltinClient
from groupcheck.properties.clients.port import ClientPort
from groupcheck.properties.clients.process import ProcessPort
from groupcheck.properties.clients.settings import ClientSettings
from groupcheck.properties.ports.port import check_installed
from groupcheck.properties.ports.source import unknown_port

HOSTS: Final = "groupcheck.properties.clients.hosts"
FORMS: Final = ("builtin", "kafka-python", "aiokafka", "librdkafka", "kafka-clients:VERSION")


class ClientSource(NamedTuple):
    """How to make a port, and the version of Kafka's client that it is compared with.

    `missing` returns what this machine lacks, None if nothing.
    """

    spec: str
    make: Callable[[Report], ClientPort]
    version: str = USUAL
    missing: Callable[[], str | None] = lambda: None


class _Library(NamedTuple):
    """A library in Python: its modules, package and extra, and the settings of its consumers."""

    host: str
    module: str
    package: str
    extra: str
    settings: ClientSettings


_LIBRARIES: Final[Mapping[str, _Library]] = {
    "kafka-python": _Library(
        "kafka_python", "kafka", "kafka-python", "wire", settings.KAFKA_PYTHON
    ),
    "aiokafka": _Library("aiokafka", "aiokafka", "aiokafka", "serve", settings.AIOKAFKA),
    "librdkafka": _Library(
        "librdkafka", "confluent_kafka", "confluent-kafka", "wire", settings.LIBRDKAFKA
    ),
}


def client_source(spec: str, profile: str = "") -> ClientSource:
    """Return the source for a PORT argument.

    Args:
        spec: the argument.
        profile: the version that `builtin` follows; the newest if it is "".

    Raises:
        UnknownPortError: it has none of the known forms.
    """
    kind, _, named = spec.partition(":")
    if spec == "builtin":
        followed = profile or USUAL
        return ClientSource(spec, lambda _: BuiltinClient(followed), followed)
    if kind == "kafka-clients" and named in RELEASES:
        release, version = RELEASES[named]
        return ClientSource(spec, partial(_java, release), version, partial(java.missing, release))
    if spec in _LIBRARIES:
        return ClientSource(spec, partial(_python, spec, _LIBRARIES[spec]))
    raise unknown_port(spec, FORMS, *(RELEASES if kind == "kafka-clients" else ()))


def _python(name: str, library: _Library, _: Report) -> ClientPort:
    check_installed(library.module, library.package, library.extra)
    command = [sys.executable, "-P", "-m", f"{HOSTS}.{library.host}"]
    return ProcessPort(name, lambda: command, library.settings)


def _java(release: str, report: Report) -> ClientPort:
    return ProcessPort("kafka-clients", lambda: java.command(release, report), settings.JAVA)
