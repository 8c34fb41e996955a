"""The command line: options in, one clear line or a report out, an exit status.

0 the port conforms, 1 it diverges, 2 the run itself was impossible.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence

from groupcheck.options import parser
from groupcheck.status import CONFORMS, DIVERGES, IMPOSSIBLE, ImpossibleError
from groupcheck.telling import Told


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status."""
    told = Told()
    with contextlib.redirect_stdout(told):
        status, complaint = _run(arguments)
    if told.getvalue():
        status = _print(told.getvalue(), status)
    if complaint:
        _say(complaint)
    return status


def _run(arguments: Sequence[str] | None) -> tuple[int, str]:
    """The exit status, and the one line to be said if something was impossible."""
    try:
        options = parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options), ""
    except ImpossibleError as impossible:
        return impossible.status, str(impossible)
    except KeyboardInterrupt:
        return IMPOSSIBLE, "interrupted, before anything was found"
    except SystemExit:  # all that was asked for was --help or --version
        return CONFORMS, ""


def _print(text: str, status: int) -> int:
    """Print what a command told; its status, or that nothing can be said for want of output."""
    try:
        if sys.stdout is None:
            raise OSError(0, "it is closed")  # noqa: TRY301 - there is one way to say it
        encoding = sys.stdout.encoding
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        _give_up_output()
        if not isinstance(error, BrokenPipeError):  # a reader that has gone is in its right
            _say(f"cannot write to standard output: {error.strerror}")
        return DIVERGES if status == DIVERGES else IMPOSSIBLE
    return status


def _give_up_output() -> None:
    """What could not be written is not tried again when the interpreter exits."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(complaint: str) -> None:
    """One line, and below it, indented, what is quoted of a broker's log."""
    from groupcheck.reports.words import bounded

    if sys.stderr is not None:
        lines = map(bounded, complaint.split("\n  "))
        with contextlib.suppress(OSError):  # the exit status says it too
            sys.stderr.write("groupcheck: " + "\n  ".join(lines) + "\n")
