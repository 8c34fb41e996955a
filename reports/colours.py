"""Colours of what a person reads on a terminal: the verdict, what came back, what Kafka does.

What is coloured is the text as it stands, line by line: a finding is told alike wherever it goes,
and one that was saved is told as it was. No colour says anything that the words do not.
"""

from __future__ import annotations

import os
import re
from typing import Final, TextIO

RED: Final = "31"
GREEN: Final = "32"
YELLOW: Final = "33"
BOLD: Final = "1"
PLAIN: Final = ""

# What a line begins with, and how the line is coloured.
LINES: Final = (
    (r"verdict    (conforms to |the model of .* is as it should be$)", f"{BOLD};{GREEN}"),
    (r"verdict    (diverges from |.* with \d|\d+ findings? in )", f"{BOLD};{RED}"),
    (r"(groups|verdict) .*[1-9][\d,]* accepted, 0 rejected", f"{BOLD};{GREEN}"),
    (r"(groups|verdict) .* [1-9][\d,]* rejected", f"{BOLD};{RED}"),
    (r".* answered as (by )?Kafka( would)?$", f"{BOLD};{GREEN}"),
    (r"(groups|verdict)  ", f"{BOLD};{YELLOW}"),
    (r"In group .* no order of the operations is lawful", f"{BOLD};{RED}"),
    (r"Finding [0-9a-f]{8}: ", BOLD),
    (r"The port failed", RED),
    (r"rejected   |ERROR      |new        ", RED),
    (r"lost       |undecided  ", YELLOW),
)
# Headings, and how what stands below them by two blanks is coloured.
HEADINGS: Final = (
    (r"What came back:$|What has to come next, and cannot:$", RED),
    (r"What .* does here:$", GREEN),
)


def wanted(stream: TextIO) -> bool:
    """Whether to colour what goes there: on a terminal, unless the environment has its own mind.

    NO_COLOR, if it is not empty, forbids it (https://no-color.org), FORCE_COLOR asks for it
    (https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def painted(text: str) -> str:
    """The text with its colours, as ECMA-48 has them; without them it is what it was."""
    lines, below = [], PLAIN
    for line in text.split("\n"):
        style = _of(LINES, line)
        if not line.startswith("  "):
            below = _of(HEADINGS, line)
        elif not line.startswith("   ") and line != "  or":
            style = below
        lines.append(f"\x1b[{style}m{line}\x1b[0m" if style else line)
    return "\n".join(lines)


def _of(styles: tuple[tuple[str, str], ...], line: str) -> str:
    return next((style for start, style in styles if re.match(start, line)), PLAIN)
