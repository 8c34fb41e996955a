"""The numbers by which a verification is asked for, whoever asks; and which Kafka it judges by.

The command line and pytest's plugin have the same, and both are started to say what options there
are: nothing of the rooms is imported here.
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
    "the Kafka to judge by: 0.10.0, 0.10.2, 2.7 or 4.1 "
    f"(that of a broker started by name, else {PROFILE})"
)


class Number(NamedTuple):
    """A number that can be asked for: `least` and `most` are lawful both.

    `says` is the help without the default; `usual` is the default in words, if it has them.
    """

    name: str
    least: int
    most: int
    default: int
    says: str
    usual: str = ""

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def help(self) -> str:
        """What it is, and the default."""
        return f"{self.says} ({self.usual or self.default})"

    def parse(self, text: str) -> int:
        """The number that a text says.

        Raises:
            ArgumentTypeError: it says none that is lawful.
        """
        return whole(self.least, self.most)(text)


def whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a whole number from one to another; it raises `ArgumentTypeError` if there is none."""

    def read(text: str) -> int:
        with contextlib.suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        msg = f"{text!r} is not a whole number from {least} to {most}"
        raise ArgumentTypeError(msg)

    return read


def memory(text: str) -> int:
    """Reads a size such as 512m or 4g, as Java and Spark have them, in bytes.

    Raises:
        ArgumentTypeError: it is none.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,5})([mg])b?", text.lower())
    if found is None:
        msg = f"{text!r} is not a size such as 512m or 4g"
        raise ArgumentTypeError(msg)
    return int(found[1]) * (2**20 if found[2] == "m" else 2**30)


_ROWS: Final = (
    Number("members", 1, 3, 2, "members in the state graph that is explored, 1 to 3"),
    Number("examples", 0, 10**9, 100, "random sequences to try, beyond the graph"),
    Number("steps", 1, 10_000, 60, "steps in the longest sequence"),
    Number(
        "seed",
        0,
        2**63 - 1,
        0,
        "what random choices are drawn from: the same seed, the same run",
    ),
    Number("late_ms", 1, 60_000, 1_000, "on a real clock, how late a timer may fire; never early"),
    Number(
        "grace_ms",
        0,
        60_000,
        30,
        "on a real clock, how long it is seen whether an answer comes that must not",
        "30, in a long run at least 100",
    ),
    Number(
        "answer_ms",
        1,
        600_000,
        5_000,
        "on a real clock, how long an answer is waited for that must come",
    ),
    Number(
        "max_findings",
        1,
        1_000,
        25,
        "stop when so many are found; others are looked for until then",
    ),
    Number("walks", 0, 10**9, 500, "random walks over the graph and beyond it, quick ones"),
    Number(
        "jobs",
        1,
        1_000,
        0,
        "processes for the walks, if they are many",
        "one for each processor",
    ),
)

NUMBERS: Final[Mapping[str, Number]] = MappingProxyType({row.name: row for row in _ROWS})
