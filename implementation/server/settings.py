"""The settings of the coordinator and the server, under Kafka's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from groupcheck.implementation.core.config import Config

MAX_INT: Final = 2**31 - 1  # all of them are Java ints


class Limits(NamedTuple):
    """Limits on the resources of clients; the defaults are for tests and tools.

    Kafka's own defaults are larger. `queued_max_request_bytes` is the total of all connections:
    received bytes of requests that are incomplete or not handled yet.
    """

    socket_request_max_bytes: int = 2 * 1024 * 1024
    queued_max_request_bytes: int = 64 * 1024 * 1024
    max_connections: int = 10_000
    connections_max_idle_ms: int = 600_000
    message_max_bytes: int = 1024 * 1024
    log_retention_bytes: int = 4 * 1024 * 1024
    num_partitions: int = 1
    max_topics: int = 1_000
    offsets_retention_check_interval_ms: int = 600_000


class BadSettingError(ValueError):
    """An unknown setting or an invalid value; the message is one line."""


class Settings(NamedTuple):
    """The settings of the coordinator and of the server."""

    config: Config = Config()
    limits: Limits = Limits()

    def config_names(self) -> dict[str, int]:
        """The coordinator's settings by Kafka's names."""
        return _by_name(self.config)

    def kafka_names(self) -> dict[str, int]:
        """All settings by Kafka's names."""
        return {**self.config_names(), **_by_name(self.limits)}


def parse(options: Iterable[str]) -> Settings:
    """The settings, changed by options of the form NAME=NUMBER.

    Raises:
        BadSettingError: the setting is unknown, or the value is invalid.
    """
    settings = Settings()
    known = settings.kafka_names()
    changes: dict[str, int] = {}
    for option in options:
        name, _, value = option.partition("=")
        if name not in known:
            msg = f"unknown broker setting {name[:80]!r}; known: {', '.join(known)}"
            raise BadSettingError(msg)
        changes[name.replace(".", "_")] = _number(name, value)
    return Settings(_changed(settings.config, changes), _changed(settings.limits, changes))


def _by_name(values: Any) -> dict[str, int]:  # noqa: ANN401 - a NamedTuple
    """The int fields of a NamedTuple, by Kafka's names."""
    pairs = zip(values._fields, values, strict=True)
    return {name.replace("_", "."): value for name, value in pairs if type(value) is int}


def _number(name: str, value: str) -> int:
    if value.isascii() and value.isdecimal() and len(value) <= len(str(MAX_INT)):
        number = int(value)
        if number <= MAX_INT:
            return number
    msg = f"{name} is a number from 0 to {MAX_INT}, not {value[:80]!r}"
    raise BadSettingError(msg)


def _changed(values: Any, changes: dict[str, int]) -> Any:  # noqa: ANN401 - a NamedTuple
    return values._replace(**{k: v for k, v in changes.items() if k in values._fields})
