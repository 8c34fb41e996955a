"""The lines of progress that a command may print to standard error, as on a slow machine."""

from __future__ import annotations

import re
from typing import Final

LINE: Final = re.compile(r"^(?:found|running) {4}.*\n", re.MULTILINE)


def without_progress(text: str) -> str:
    """A text without these lines."""
    return LINE.sub("", text)
