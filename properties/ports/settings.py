"""The settings of a broker that is tested as it stands: said by a person, told by it, or presumed.

A port whose coordinator is made for the test is given its settings; how a broker is asked for them
is `connection`'s affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from groupcheck.model.config import BROKER_SETTINGS, Config
from groupcheck.properties.ports.port import PortUnavailableError

MAX_VALUE = 2**31 - 1  # all of them are Kafka's ints


class BrokerSettings(NamedTuple):
    """What each setting is that the rules read; of those in `presumed` nobody has said so."""

    values: Mapping[str, int]
    presumed: tuple[str, ...] = ()

    def check(self, wanted: Mapping[str, int]) -> None:
        """See that a test is for a broker with these settings.

        Raises:
            PortUnavailableError: it is for another; the first setting that differs is named.
        """
        test, broker = Config.of(wanted), Config.of(self.values)
        for name in BROKER_SETTINGS:
            field = name.replace(".", "_")
            needs, has = getattr(test, field), getattr(broker, field)
            if needs != has:
                known = "is presumed to be" if name in self.presumed else "is"
                msg = f"its {name} {known} {has}, and the test is for a broker where it is {needs}"
                raise PortUnavailableError(msg)


def settings_of(said: Mapping[str, int], told: Mapping[str, int]) -> BrokerSettings:
    """The settings where a person said some and the broker told some; the person is right."""
    default = Config()
    values = {name: getattr(default, name.replace(".", "_")) for name in BROKER_SETTINGS}
    presumed = tuple(name for name in BROKER_SETTINGS if name not in {**said, **told})
    return BrokerSettings({**values, **told, **said}, presumed)


def parse_settings(query: str) -> dict[str, int]:
    """What a person says of a broker's settings, `NAME=NUMBER&NAME=NUMBER`.

    Raises:
        ValueError: with a message in which nothing is missing but where it was said.
    """
    said: dict[str, int] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in BROKER_SETTINGS:
            msg = f"unknown broker setting {name!r}; known: {', '.join(BROKER_SETTINGS)}"
            raise ValueError(msg)
        number = as_number(value)
        if number is None:
            msg = f"{name} is a number from 0 to {MAX_VALUE}, not {value!r}"
            raise ValueError(msg)
        said[name] = number
    return said


def as_number(value: str) -> int | None:
    """The value of a setting, if it is one that it can have."""
    if not (value.isascii() and value.isdecimal()) or len(value) > len(str(MAX_VALUE)):
        return None
    number = int(value)
    return number if number <= MAX_VALUE else None
