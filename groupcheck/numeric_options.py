"""The numeric options of a verification, for the command line and the pytest plugin.

Both build their parsers from this module, so it imports nothing else of groupcheck.
"""

from __future__ import annotations

import contextlib
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

PROFILE: Final = "2.7"
PROFILE_HELP: Final = (
    "the Kafka version to check against: 0.10.0, 0.10.2, 2.7 or 4.1; for live brokers also 2.4, "
    "2.5, 2.8, 3.2, 3.6, 3.7 or 3.9 "
    f"(that of a broker that groupcheck starts, else {PROFILE})"
)


class NumericOption(NamedTuple):
    """A numeric option, from `least` to `most`.

    `says` is the help without the default, `usual` the default in words if it is no number.
    """

    name: str
    least: int
    most: int
    default: int
    says: str
    usual: str = ""

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def help(self) -> str:
        """The help, with the default."""
        return f"{self.says} ({self.usual or self.default})"

    def parse(self, text: str) -> int:
        """Read the value.

        Raises:
            ArgumentTypeError: it is not a number in the range.
        """
        return whole(self.least, self.most)(text)


def whole(least: int, most: int) -> Callable[[str], int]:
    """Returns a function that reads a whole number, or raises `ArgumentTypeError`."""

    def read(text: str) -> int:
        with contextlib.suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        msg = f"{text!r} is not a whole number from {least} to {most}"
        raise ArgumentTypeError(msg)

    return read


def percentage(text: str) -> float:
    """Reads a number from 0 to 100.

    Raises:
        ArgumentTypeError: it is not one.
    """
    with contextlib.suppress(ValueError):
        if 0 <= float(text) <= 100:
            return float(text)
    msg = f"{text!r} is not a number from 0 to 100"
    raise ArgumentTypeError(msg)


def duration(text: str) -> int:
    """Reads a duration such as 60s, 5m or 1h. Returns seconds.

    Raises:
        ArgumentTypeError: it is not a duration.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,5})([smh])", text)
    if found is None:
        msg = f"{text!r} is not a duration such as 60s, 5m or 1h"
        raise ArgumentTypeError(msg)
    return int(found[1]) * {"s": 1, "m": 60, "h": 3_600}[found[2]]


def memory(text: str) -> int:
    """Reads a size as Java and Spark write it, such as 512m or 4g. Returns bytes.

    Raises:
        ArgumentTypeError: it is not a size.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,5})([mg])b?", text.lower())
    if found is None:
        msg = f"{text!r} is not a size such as 512m or 4g"
        raise ArgumentTypeError(msg)
    return int(found[1]) * (2**20 if found[2] == "m" else 2**30)


_ROWS: Final = (
    NumericOption("members", 1, 3, 2, "members in the explored state graph, 1 to 3"),
    NumericOption("examples", 0, 10**9, 100, "random sequences beyond the explored graph"),
    NumericOption("steps", 1, 10_000, 60, "maximum number of steps of a sequence"),
    NumericOption(
        "seed",
        0,
        2**63 - 1,
        0,
        "seed of all random choices; the same seed gives the same run",
    ),
    NumericOption("late_ms", 1, 60_000, 1_000, "in real time: how late a timer may fire, in ms"),
    NumericOption(
        "grace_ms",
        0,
        60_000,
        30,
        "in real time: how long to wait to confirm that no response arrives, in ms",
        "30, with --sequences at least 100",
    ),
    NumericOption(
        "answer_ms",
        1,
        600_000,
        5_000,
        "in real time: how long to wait for a response that is due, in ms",
    ),
    NumericOption("max_findings", 1, 1_000, 100, "stop after N findings"),
    NumericOption("walks", 0, 10**9, 500, "random walks over the explored graph and beyond it"),
    NumericOption(
        "jobs",
        1,
        1_000,
        0,
        "processes for the random walks, if there are many",
        "one per processor",
    ),
)

NUMBERS: Final[Mapping[str, NumericOption]] = MappingProxyType({row.name: row for row in _ROWS})
