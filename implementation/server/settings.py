"""What an operator may set under Kafka's names; what a setting does is said where it is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from groupcheck.implementation.core.config import Config

MOST: Final = 2**31 - 1  # all of them are Kafka's ints


class Limits(NamedTuple):
    """What one client may use up, with defaults for a broker that is for tests and tools.

    Kafka's own are larger where it has them. `queued_max_request_bytes` is of all connections
    together: what has arrived of requests that are not whole, or not looked at yet.
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
    """Something cannot be set, or not to that; the message is one line."""


class Settings(NamedTuple):
    """What the coordinator and the server around it are set to."""

    config: Config = Config()
    limits: Limits = Limits()

    def config_names(self) -> dict[str, int]:
        """The coordinator's settings by their names in Kafka."""
        return _by_name(self.config)

    def kafka_names(self) -> dict[str, int]:
        """Every setting by its name in Kafka."""
        return {**self.config_names(), **_by_name(self.limits)}


def parse(said: Iterable[str]) -> Settings:
    """The settings where an operator said some, each as NAME=NUMBER.

    Raises:
        BadSettingError: there is no such setting, or it cannot have that value.
    """
    settings = Settings()
    known = settings.kafka_names()
    changes: dict[str, int] = {}
    for each in said:
        name, _, value = each.partition("=")
        if name not in known:
            msg = f"unknown broker setting {name[:80]!r}; known: {', '.join(known)}"
            raise BadSettingError(msg)
        changes[name.replace(".", "_")] = _number(name, value)
    return Settings(_changed(settings.config, changes), _changed(settings.limits, changes))


def _by_name(values: Any) -> dict[str, int]:  # noqa: ANN401 - a NamedTuple
    """The numbers of a NamedTuple under Kafka's names."""
    pairs = zip(values._fields, values, strict=True)
    return {name.replace("_", "."): value for name, value in pairs if type(value) is int}


def _number(name: str, value: str) -> int:
    if value.isascii() and value.isdecimal() and len(value) <= len(str(MOST)):
        number = int(value)
        if number <= MOST:
            return number
    msg = f"{name} is a number from 0 to {MOST}, not {value[:80]!r}"
    raise BadSettingError(msg)


def _changed(values: Any, changes: dict[str, int]) -> Any:  # noqa: ANN401 - a NamedTuple
    return values._replace(**{k: v for k, v in changes.items() if k in values._fields})
