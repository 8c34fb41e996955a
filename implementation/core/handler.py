"""The base class of the handlers of all APIs: the components of the coordinator that they call."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.implementation.core.membership import Membership
from groupcheck.implementation.core.preconditions import Preconditions
from groupcheck.implementation.core.rebalance import Rebalance
from groupcheck.implementation.core.removal import Removal
from groupcheck.implementation.core.shared import Component, Shared
from groupcheck.implementation.core.static_members import StaticMembers
from groupcheck.implementation.core.transactions import Transactions


class Components(NamedTuple):
    """The components that act on groups; there is one of each."""

    preconditions: Preconditions
    rebalance: Rebalance
    membership: Membership
    static_members: StaticMembers
    transactions: Transactions
    removal: Removal


class Handler(Component):
    """Handles the requests of one API, or of a few."""

    __slots__ = (
        "_membership",
        "_preconditions",
        "_rebalance",
        "_removal",
        "_static_members",
        "_transactions",
    )

    def __init__(self, shared: Shared, components: Components) -> None:
        super().__init__(shared)
        self._preconditions = components.preconditions
        self._rebalance = components.rebalance
        self._membership = components.membership
        self._static_members = components.static_members
        self._transactions = components.transactions
        self._removal = components.removal
