"""The assignors that can be verified, one for each form of the PORT argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Final, NamedTuple

from groupcheck.extras import needing
from groupcheck.properties.assignors import franz, java
from groupcheck.properties.assignors.port import AssignorPort, ProgramPort
from groupcheck.properties.assignors.python import python_assignors
from groupcheck.properties.brokers.definition import Report
from groupcheck.properties.ports.codec import importing_kafka_python
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.program import argv_of
from groupcheck.properties.ports.source import unknown_port

# The client library of Kafka, by minor version: its release, and the version of the promises.
RELEASES: Final[Mapping[str, tuple[str, str]]] = {
    "2.7": ("2.7.2", "2.7"),
    "3.9": ("3.9.2", "4.1"),
    "4.1": ("4.1.2", "4.1"),
}
FORMS: Final = (
    "builtin",
    "kafka-python",
    "aiokafka",
    "librdkafka",
    "franz-go",
    "kafka-clients:VERSION",
    "python:PACKAGE.MODULE:FACTORY",
    "exec:COMMAND",
)
USUAL: Final = "4.1"


class AssignorSource(NamedTuple):
    """How to make a port, and the version of Kafka whose promises count for it."""

    spec: str
    make: Callable[[Report], AssignorPort]
    version: str = USUAL
    missing: Callable[[], str | None] = lambda: None


def assignor_source(spec: str) -> AssignorSource:
    """Return the source for a PORT argument.

    Raises:
        UnknownPortError: it has none of the known forms.
        PortUnavailableError: what it names cannot be run.
    """
    kind, _, rest = spec.partition(":")
    if kind == "exec" and rest:
        return AssignorSource(spec, partial(_program, rest))
    if kind == "python" and rest:
        return AssignorSource(spec, partial(_object, rest))
    if kind == "kafka-clients" and rest in RELEASES:
        release, version = RELEASES[rest]
        return AssignorSource(
            spec, partial(_java, release), version, partial(java.missing, release)
        )
    if spec in _NAMED:
        return _NAMED[spec]
    raise unknown_port(spec, FORMS, *(RELEASES if kind == "kafka-clients" else ()))


def _program(command: str, _: Report) -> AssignorPort:
    return ProgramPort(argv_of(command))


def _object(name: str, _: Report) -> AssignorPort:
    return python_assignors(name)


def _java(release: str, report: Report) -> AssignorPort:
    return ProgramPort(java.command(release, report))


def _franz(report: Report) -> AssignorPort:
    return ProgramPort(franz.command(report))


def _imported(module: str, name: str, package: str, extra: str, _: Report) -> AssignorPort:
    """A port whose module needs a package of an extra."""
    try:
        with importing_kafka_python():
            made = getattr(import_module(f"groupcheck.properties.assignors.{module}"), name)
    except PortUnavailableError as error:
        if getattr(error.__cause__, "name", "kafka") == "kafka":
            raise
        raise PortUnavailableError(needing(package, extra)) from error
    port: AssignorPort = made()
    return port


_NAMED: Final[Mapping[str, AssignorSource]] = {
    each.spec: each
    for each in (
        AssignorSource(
            "builtin", partial(_imported, "builtin", "BuiltinAssignors", "kio", "serve")
        ),
        AssignorSource(
            "kafka-python",
            partial(_imported, "kafka_python", "KafkaPython", "kafka-python", "wire"),
        ),
        AssignorSource(
            "aiokafka", partial(_imported, "aiokafka_port", "Aiokafka", "aiokafka", "serve")
        ),
        AssignorSource(
            "librdkafka", partial(_imported, "leader", "LeaderPort", "confluent-kafka", "wire")
        ),
        AssignorSource("franz-go", _franz, missing=franz.PROGRAM.missing),
    )
}
