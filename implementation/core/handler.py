"""What the handlers of all APIs have in common: the parts of the coordinator that they call."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.preconditions import Preconditions
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.removal import Removal
from groupcheck.implementation.core.shared import Part, Shared
from groupcheck.implementation.core.static_members import StaticMembers
from groupcheck.implementation.core.transactions import Transactions


class Parts(NamedTuple):
    """The parts that act on groups; there is one of each."""

    preconditions: Preconditions
    rebalance: Rebalance
    membership: Membership
    static_members: StaticMembers
    transactions: Transactions
    removal: Removal


class Handler(Part):
    """Handles the requests of one API, or of a few."""

    __slots__ = (
        "_membership",
        "_preconditions",
        "_rebalance",
        "_removal",
        "_static_members",
        "_transactions",
    )

    def __init__(self, shared: Shared, parts: Parts) -> None:
        super().__init__(shared)
        self._preconditions = parts.preconditions
        self._rebalance = parts.rebalance
        self._membership = parts.membership
        self._static_members = parts.static_members
        self._transactions = parts.transactions
        self._removal = parts.removal
