"""How the commands tell a person something: in colours, where those are wanted."""

from __future__ import annotations

import argparse
import io
import sys


def tell(text: str) -> None:
    """Print a text that is made for people, and not for machines."""
    from groupcheck.reports.colours import painted, wanted

    sys.stdout.write(painted(text) if wanted(sys.stdout) else text)


def add_verbose(command: argparse.ArgumentParser, what: str) -> None:
    """The option by which more is told."""
    command.add_argument("-v", "--verbose", action="store_true", help=f"tell more: {what}")


class Told(io.StringIO):
    """What a command prints, kept until it is done; it is a terminal if that is where it goes."""

    def __init__(self) -> None:
        super().__init__()
        self._goes_to = sys.stdout

    def isatty(self) -> bool:
        """Whether it goes to a terminal."""
        return self._goes_to is not None and self._goes_to.isatty()
