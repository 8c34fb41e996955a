"""A port's code watched while it is verified, for `verify --code`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupcheck.status import ImpossibleError

if TYPE_CHECKING:
    from groupcheck.properties.code.code import Code
    from groupcheck.properties.code.tracing import Tracing
    from groupcheck.properties.ports.source import PortSource

IN_THIS_PROCESS: Final = ("builtin", "python:")


def watched(source: PortSource, paths: list[Path] | None) -> tuple[PortSource, Tracing | None]:
    """The source of the same ports, whose code in these files and folders is watched, if any are.

    Raises:
        ImpossibleError: it cannot be.
    """
    if not paths:
        return source, None
    if not source.spec.startswith(IN_THIS_PROCESS):
        msg = f"--code is for Python in this process, builtin and python:, and not {source.spec}"
        raise ImpossibleError(msg)
    for path in paths:
        if not path.exists():
            msg = f"cannot watch {path}: there is no such file or folder"
            raise ImpossibleError(msg)
    try:
        from groupcheck.properties.code.tracing import Tracing
    except ModuleNotFoundError as error:
        msg = f"--code needs the packages of groupcheck[code]: {error}"
        raise ImpossibleError(msg) from error
    tracing = Tracing(paths)
    return tracing.traced(source), tracing


def code_of(tracing: Tracing | None) -> Code | None:
    """What was seen of the code, if it was watched.

    Raises:
        ImpossibleError: nothing was.
    """
    if tracing is None:
        return None
    from groupcheck.properties.code.measured import NoCodeError, measured

    try:
        return measured(tracing)
    except NoCodeError as error:
        raise ImpossibleError(str(error)) from error
