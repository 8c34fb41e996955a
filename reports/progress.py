"""Progress on standard error: bars on a terminal, else lines; and each finding as a line."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from tqdm import tqdm

from groupcheck.reports.formatting import bounded, counted

INTERVAL_S: Final = 10.0  # between two lines


class Bars:
    """One bar at a time: the next phase ends the previous one."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None
        self._findings = 0
        self._last_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def __call__(self, what: str, total: int | None) -> Callable[[int], None]:
        """Begin a phase."""
        self._end()
        nowhere = sys.stderr is None or None  # None: tqdm checks whether it is a terminal
        bar: tqdm[Any] = tqdm(total=total, desc=what, disable=nowhere, leave=False, unit="")
        self._bar = bar
        count = 0

        def advance(done: int) -> None:
            nonlocal count
            count += done
            bar.update(done)
            if bar.disable:
                self._line(what, count, total)

        return advance

    def found(self, title: str) -> None:
        """Print a finding in one line."""
        self._findings += 1
        self._print(f"found      {self._findings}: {title}")

    def _line(self, what: str, count: int, total: int | None) -> None:
        """Print a line, unless the last one is new."""
        now_s = time.monotonic()
        if now_s - self._last_s < INTERVAL_S:
            return
        self._last_s = now_s
        of = "" if total is None else f" of {total:,}"
        found = f"; {counted(self._findings, 'finding')} so far" if self._findings else ""
        self._print(f"running    {what}: {count:,}{of}{found}")

    @staticmethod
    def _print(line: str) -> None:
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                tqdm.write(bounded(line), file=sys.stderr)

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
