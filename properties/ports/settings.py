"""The settings of a live broker: given by the user, reported by the broker, or assumed defaults.

A coordinator that is started for a test gets its settings; `discovery` asks a live broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from groupcheck.model.classic.config import (
    BROKER_SETTINGS,
    CLEANUP_INTERVAL,
    RETENTION,
    SETTINGS,
    Config,
)
from groupcheck.properties.ports.port import PortUnavailableError

MAX_VALUE = 2**31 - 1  # all of them are Kafka ints
# If offsets expire, a test waits for both times.
MOST_RETENTION_MINUTES = 60
MOST_INTERVAL_MS = 5_000


class BrokerSettings(NamedTuple):
    """The values of the settings that the rules read; those in `assumed_defaults` are assumed.

    The settings of `EXPIRY_SETTINGS` are there if offsets expire during a test.

    With `reports_versions` False, the broker's API versions are assumed too.
    """

    values: Mapping[str, int]
    assumed_defaults: tuple[str, ...] = ()
    reports_versions: bool = True

    def assumed(self) -> list[str]:
        """Return all assumptions about the broker, as text."""
        versions = [] if self.reports_versions else ["API versions=those of Kafka 0.9"]
        return [f"{name}={self.values[name]}" for name in self.assumed_defaults] + versions

    def check(self, wanted: Mapping[str, int]) -> None:
        """Check that the broker has the settings that a test needs.

        Raises:
            PortUnavailableError: a setting differs; names the first one.
        """
        test, broker = Config.of(wanted), Config.of(self.values)
        expires = CLEANUP_INTERVAL in wanted
        if expires != (CLEANUP_INTERVAL in self.values):
            msg = f"its {CLEANUP_INTERVAL} has to be given if the test needs it, and only then"
            raise PortUnavailableError(msg)
        for name in (*BROKER_SETTINGS, *((RETENTION,) if expires else ())):
            field = name.replace(".", "_")
            needs, has = getattr(test, field), getattr(broker, field)
            if needs != has:
                known = "is assumed to be" if name in self.assumed_defaults else "is"
                msg = f"its {name} {known} {has}, and the test needs {needs}"
                raise PortUnavailableError(msg)


def settings_of(given: Mapping[str, int], reported: Mapping[str, int]) -> BrokerSettings:
    """Combine the settings that the user gives with those that the broker reports.

    A given value overrides a reported one, which overrides Kafka's default.
    """
    default = Config()
    values = {name: getattr(default, name.replace(".", "_")) for name in BROKER_SETTINGS}
    assumed_defaults = tuple(name for name in BROKER_SETTINGS if name not in {**given, **reported})
    return BrokerSettings({**values, **reported, **given}, assumed_defaults)


def parse_settings(query: str) -> dict[str, int]:
    """Parse the settings in a PORT, `NAME=NUMBER&NAME=NUMBER`.

    Raises:
        ValueError: a name is unknown or a value is no number; the caller adds the PORT.
    """
    given: dict[str, int] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in SETTINGS:
            msg = f"unknown broker setting {name!r}; known: {', '.join(SETTINGS)}"
            raise ValueError(msg)
        number = as_number(value)
        if number is None:
            msg = f"{name} must be a number from 0 to {MAX_VALUE}, not {value!r}"
            raise ValueError(msg)
        given[name] = number
    _check_expiry(given)
    return given


def _check_expiry(given: Mapping[str, int]) -> None:
    """Raise a ValueError if offsets expire, but too late for a test that waits for it."""
    limits = {RETENTION: MOST_RETENTION_MINUTES, CLEANUP_INTERVAL: MOST_INTERVAL_MS}
    if limits.keys().isdisjoint(given):
        return
    for name, most in limits.items():
        if not 1 <= given.get(name, 0) <= most:
            msg = f"offsets that expire need {name}, from 1 to {most}"
            raise ValueError(msg)


def as_number(value: str) -> int | None:
    """Return the value of a setting, or None if it is not a number from 0 to `MAX_VALUE`."""
    if not (value.isascii() and value.isdecimal()) or len(value) > len(str(MAX_VALUE)):
        return None
    number = int(value)
    return number if number <= MAX_VALUE else None
