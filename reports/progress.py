"""Progress bars on standard error, when it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm


class Bars:
    """One bar at a time: the next phase ends the one before."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None

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
        nowhere = sys.stderr is None or None  # None: tqdm looks whether it is a terminal
        bar: tqdm[Any] = tqdm(total=total, desc=what, disable=nowhere, leave=False, unit="")
        self._bar = bar

        def tell(done: int) -> None:
            bar.update(done)

        return tell

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
