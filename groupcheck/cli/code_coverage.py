"""Measure which lines of a port's code run, for `verify --code`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupcheck.cli.exit_status import CommandError, ending_with_message

if TYPE_CHECKING:
    from groupcheck.properties.code.code import Code
    from groupcheck.properties.code.tracing import Tracing
    from groupcheck.properties.ports.source import PortSource

IN_THIS_PROCESS: Final = ("builtin", "python:")


def traced(source: PortSource, paths: list[Path] | None) -> tuple[PortSource, Tracing | None]:
    """A source of ports whose code in these files and folders is traced, if there are any.

    Raises:
        CommandError: the code cannot be traced.
    """
    if not paths:
        return source, None
    if not source.spec.startswith(IN_THIS_PROCESS):
        msg = f"--code needs a Python port, builtin or python:, not {source.spec}"
        raise CommandError(msg)
    for path in paths:
        if not path.exists():
            msg = f"cannot trace {path}: there is no such file or folder"
            raise CommandError(msg)
    try:
        from groupcheck.properties.code.tracing import Tracing
    except ModuleNotFoundError as error:
        msg = f"--code needs the packages of groupcheck[code]: {error}"
        raise CommandError(msg) from error
    tracing = Tracing(paths)
    return tracing.traced(source), tracing


def code_of(tracing: Tracing | None) -> Code | None:
    """The lines that ran, if the code was traced.

    Raises:
        CommandError: none of the lines ran.
    """
    if tracing is None:
        return None
    from groupcheck.properties.code.measured import NoCodeError, measured

    with ending_with_message(NoCodeError):
        return measured(tracing)
