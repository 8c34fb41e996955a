"""The severity of a finding: its effect on the clients of the port."""

from __future__ import annotations

from enum import StrEnum
from types import ModuleType
from typing import Final

from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.oracle import Difference
from groupcheck.properties.temporal.property import Property
from groupcheck.properties.temporal.safety import (
    causes,
    log,
    offsets,
    rebalances,
    requests,
    sessions,
    waits,
)


class Severity(StrEnum):
    """The severities, the worst first.

    `safety`: two leaders, two owners of a partition, a lost or wrong offset. `liveness`: a client
    waits forever, or too long. `protocol`: another error or field that clients act on. `cosmetic`:
    null for empty, an error message.
    """

    SAFETY = "safety"
    LIVENESS = "liveness"
    PROTOCOL = "protocol"
    COSMETIC = "cosmetic"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


_MODULES: Final[dict[ModuleType, Severity]] = {
    rebalances: Severity.SAFETY,
    offsets: Severity.SAFETY,
    log: Severity.SAFETY,
    sessions: Severity.LIVENESS,
    waits: Severity.LIVENESS,
    requests: Severity.PROTOCOL,
    causes: Severity.PROTOCOL,
}
_OF_PROPERTIES: Final = {
    each.name: severity
    for module, severity in _MODULES.items()
    for each in vars(module).values()
    if isinstance(each, Property)
}

# Fields that no client acts on.
FOR_PEOPLE: Final = frozenset({"error_message", "client_id", "client_host"})


def severity(finding: Finding, violated: str) -> Severity:
    """The severity of a finding that violates the property of this name; "" for none."""
    if finding.failure is not None:
        return Severity.LIVENESS
    if violated in _OF_PROPERTIES:
        return _OF_PROPERTIES[violated]
    difference = finding.difference
    if difference is None or difference.field is not None:
        return Severity.PROTOCOL
    if difference.kind == "no answer":
        return Severity.LIVENESS
    return Severity.COSMETIC if _is_cosmetic(difference) else Severity.PROTOCOL


def _is_cosmetic(difference: Difference) -> bool:
    if difference.allowed is None or type(difference.allowed) is not type(difference.seen):
        return False
    return all(
        field in FOR_PEOPLE or (not ours and not theirs and None in {ours, theirs})
        for field, ours, theirs in zip(
            difference.allowed._fields, difference.allowed, difference.seen or (), strict=True
        )
        if ours != theirs
    )
