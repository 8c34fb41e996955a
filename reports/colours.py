"""Colours the text of findings and summaries for a terminal, line by line.

A colour never carries information that the text does not have.
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

# The start of a line, and its colour.
LINES: Final = (
    (r"verdict    (conforms to |no errors in )", f"{BOLD};{GREEN}"),
    (
        r"verdict    (diverges from |.*; \d+ findings? so far|\d+ findings? in )",
        f"{BOLD};{RED}",
    ),
    (r"(groups|verdict) .*[1-9][\d,]* accepted, 0 rejected", f"{BOLD};{GREEN}"),
    (r"(groups|verdict) .* [1-9][\d,]* rejected", f"{BOLD};{RED}"),
    (r".*, each answered as Kafka would$", f"{BOLD};{GREEN}"),
    (r".*: every group has an order that Kafka allows$", f"{BOLD};{GREEN}"),
    (r"(groups|verdict)  ", f"{BOLD};{YELLOW}"),
    (r"In group .* no order of the operations is allowed", f"{BOLD};{RED}"),
    (r"Finding [0-9a-f]{8}: ", BOLD),
    (r"The port failed", RED),
    (r"rejected   |ERROR      |new        ", RED),
    (r"lost       |undecided  ", YELLOW),
)
# Headings, and the colour of the lines below them that are indented by two.
HEADINGS: Final = (
    (r"Observed:$|Required next, but not allowed:$", RED),
    (r"Expected from .*:$", GREEN),
)


def wanted(stream: TextIO) -> bool:
    """Whether to colour the output: on a terminal, unless the environment says otherwise.

    NO_COLOR, if it is not empty, forbids it (https://no-color.org), FORCE_COLOR asks for it
    (https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def painted(text: str) -> str:
    """The text with colours as ECMA-48 escape sequences."""
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
