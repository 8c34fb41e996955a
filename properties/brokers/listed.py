"""What is told of a broker that can be started by name; how it is started is not here."""

from __future__ import annotations

from typing import NamedTuple


class Listed(NamedTuple):
    """A broker: the PORT to type, what it is, the version it is judged by, and what it needs.

    `missing` says why it cannot run on this machine, if it cannot.
    """

    name: str
    title: str
    profile: str
    needs: str
    missing: str | None
