"""What `groupcheck brokers` prints about a broker; how it is started does not belong here."""

from __future__ import annotations

from typing import NamedTuple


class BrokerListing(NamedTuple):
    """A broker: the PORT to type, its title, the version it is checked against, what it needs.

    `missing` says why it cannot run on this machine; None if it can.
    """

    name: str
    title: str
    profile: str
    needs: str
    missing: str | None
