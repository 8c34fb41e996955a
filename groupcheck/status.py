"""What a command comes to: the exit statuses, and the error that ends it with one line."""

from __future__ import annotations

from collections.abc import Mapping

CONFORMS, DIVERGES, IMPOSSIBLE = 0, 1, 2

STATUS = "Exit status: 0 conforms, 1 diverges, 2 the run itself was impossible."


class ImpossibleError(Exception):
    """The run is impossible; the message says why, and what was told until then stands."""

    def __init__(self, why: str, status: int = IMPOSSIBLE) -> None:
        super().__init__(why)
        self.status = status


def check_known(profile: str, profiles: Mapping[str, object]) -> None:
    """See that there is such a profile.

    Raises:
        ImpossibleError: there is none.
    """
    if profile not in profiles:
        msg = f"unknown profile {profile!r}; known: {', '.join(profiles)}"
        raise ImpossibleError(msg)
