"""What a command comes to: the exit statuses, and the error that ends it with one line."""

from __future__ import annotations

CONFORMS, DIVERGES, IMPOSSIBLE = 0, 1, 2

STATUS = "Exit status: 0 conforms, 1 diverges, 2 the run itself was impossible."


class ImpossibleError(Exception):
    """The run is impossible; the message says why, and what was told until then stands."""

    def __init__(self, why: str, status: int = IMPOSSIBLE) -> None:
        super().__init__(why)
        self.status = status
