"""The brokers that can be started by name, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.properties.brokers.listing import BrokerListing
from groupcheck.reports.formatting import bounded


def table(brokers: Sequence[BrokerListing]) -> str:
    """Each broker, what it needs, and whether it can run here."""
    wide = max(len(broker.name) for broker in brokers)
    lines = []
    for broker in brokers:
        here = "can run here" if broker.missing is None else f"cannot run here: {broker.missing}"
        lines.append(
            f"{broker.name:{wide}}  {broker.title}, checked against {broker.profile}: {here}"
        )
        lines.append(f"{'':{wide}}  needs {broker.needs}")
    return "".join(f"{bounded(line)}\n" for line in lines)
