"""Console output of the commands: buffered, with colours on a terminal."""

from __future__ import annotations

import io
import json
import sys


def print_text(text: str) -> None:
    """Print text for people, with colours where they are wanted."""
    from groupcheck.reports.colours import painted, wanted

    sys.stdout.write(painted(text) if wanted(sys.stdout) else text)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=1) + "\n")


class BufferedOutput(io.StringIO):
    """The output of a command, printed when the command ends; a terminal if stdout is one."""

    def __init__(self) -> None:
        super().__init__()
        self._goes_to = sys.stdout

    def isatty(self) -> bool:
        """Whether the output goes to a terminal."""
        return self._goes_to is not None and self._goes_to.isatty()
