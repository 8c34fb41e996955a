"""The log messages of Kafka's group coordinators, by profile; `messages.tsv` lists them.

The profile 2.7 stands for 2.2 to 2.7 (lines as of 2.7.2), 0.10.2 for 0.10.2 (0.10.2.2), and 4.1 for
4.x (4.1). `log_events` says which rule of the model logs which message.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ANY: Final = r".*"
# What a placeholder such as <G> in a message stands for.
PLACEHOLDERS: Final = {
    "G": rf"(?P<group>{ANY})",
    "g": rf"(?P<group>{ANY}?)",
    "S": r"(?P<state>\w+)",
    "N": r"(?P<generation>-?\d+)",
    "M": rf"(?P<member>{ANY}?)",
    "I": rf"(?P<instance>{ANY}?)",
    "K": r"(?P<members>\d+)",
    "R": rf"(?P<reason>{ANY})",
    "P": r"__consumer_offsets-\d+",
    "*": ANY,
}


class Message(NamedTuple):
    """A message; `what` happened, None if it does not change the state of a group."""

    what: str | None
    source: str
    text: str
    pattern: re.Pattern[str]


@cache
def messages(profile: str) -> tuple[Message, ...]:
    """The messages of a profile, in the order in which they are tried."""
    table = Path(__file__).with_name("messages.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines()[1:])
    return tuple(
        Message(what or None, source, text, _pattern(text))
        for of, what, source, text in rows
        if of == profile
    )


def _pattern(text: str) -> re.Pattern[str]:
    parts = re.split(r"<(.)>", text)
    found = [PLACEHOLDERS[part] if at % 2 else re.escape(part) for at, part in enumerate(parts)]
    return re.compile("".join(found) + r"\.?$", re.DOTALL)
