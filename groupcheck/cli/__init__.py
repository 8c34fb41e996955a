"""The command line: parse the options, run a command, print its output, return its status."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence

from groupcheck.cli.exit_status import CONFORMS, DIVERGES, NO_VERDICT, CommandError
from groupcheck.cli.output import BufferedOutput
from groupcheck.cli.registry import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    gc.set_threshold(50_000)  # states are nested tuples, and few of them become garbage
    output = BufferedOutput()
    with contextlib.redirect_stdout(output):
        status, error = _run(arguments)
    if output.getvalue():
        status = _print(output.getvalue(), status)
    if error:
        _print_error(error)
    return status


def _run(arguments: Sequence[str] | None) -> tuple[int, str]:
    """Run a command: its exit status, and an error message or ''."""
    try:
        options = parser().parse_args(arguments)
        status: int = options.run(options)
    except CommandError as error:
        return error.status, str(error)
    except KeyboardInterrupt:
        return NO_VERDICT, "interrupted, before anything was found"
    except SystemExit:  # argparse has printed --help or --version
        return CONFORMS, ""
    return status, ""


def _print(text: str, status: int) -> int:
    """Print the output of a command. Returns its status, or NO_VERDICT if printing fails."""
    try:
        if sys.stdout is None:
            raise OSError(0, "it is closed")  # noqa: TRY301 - one place prints the error
        encoding = sys.stdout.encoding
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        _discard_output()
        if not isinstance(error, BrokenPipeError):  # a reader may stop reading, as `head` does
            _print_error(f"cannot write to standard output: {error.strerror}")
        return DIVERGES if status == DIVERGES else NO_VERDICT
    return status


def _discard_output() -> None:
    """Keep the interpreter from writing the buffered output again when it exits."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(message: str) -> None:
    """Print a message to standard error: one line, and quoted log lines indented below it."""
    from groupcheck.reports.formatting import bounded

    if sys.stderr is not None:
        lines = map(bounded, message.split("\n  "))
        with contextlib.suppress(OSError):  # the exit status reports the error too
            sys.stderr.write("groupcheck: " + "\n  ".join(lines) + "\n")
