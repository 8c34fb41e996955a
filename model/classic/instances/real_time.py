"""The instances for a long run on a broker: only their initial delay can fire.

Only the order of requests decides what is allowed, so hundreds of tests can run in parallel. All
inputs exist in Kafka's wire protocol: no faults, no held appends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.instances.instance import Instance, real_clock_instances, supported
from groupcheck.model.classic.state import Advance, Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import EndTxnRequest, Request


class Askable(Instance):
    """An instance of the inputs that the wire protocol has: no marker of the empty group id."""

    __slots__ = ()

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """The inputs that can be sent to a broker."""
        return filter(_is_askable, super().inputs(state))


def _is_askable(given: Input) -> bool:
    """Whether a broker can process it: it writes markers only for groups in the transaction."""
    if not isinstance(given, Request) or not isinstance(given.body, EndTxnRequest):
        return True
    return bool(given.body.group_id)


class AtOnce(Askable):
    """An instance whose initial delay is too short for a request to arrive before its end.

    The order of a request and the end of the delay cannot be observed: both are allowed.
    """

    __slots__ = ()

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """The inputs of clients, or the end of the delay if it is due."""
        timer = state.group.join_timer if state.group else None
        if timer is not None and timer.initial:
            yield Advance(timer.left_ms)
        else:
            yield from super().inputs(state)


# The features of the instances besides `order`, in the order of the walks. ListGroups is first: it
# returns all groups of the broker, and each test adds some.
ABOUT: Final[Mapping[str, Feature]] = MappingProxyType(
    {
        "order-administration": Feature.ADMINISTRATION,
        "order-transactions": Feature.TRANSACTIONS,
        "order-static": Feature.STATIC_MEMBERS,
    }
)


def real_time_instances(
    profile: Profile, members: int, broker: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Instance]:
    """The instances of a version for a broker with these settings; `order` is the last."""
    (order,) = real_clock_instances(profile, members, broker).values()
    at_once = not order.config.group_initial_rebalance_delay_ms
    order = AtOnce(*order) if at_once else Askable(*order)
    features = supported(profile)
    needs = {
        Feature.ADMINISTRATION: "ListGroups" in profile.max_versions,
        Feature.TRANSACTIONS: "TxnOffsetCommit" in profile.max_versions,
    }
    found = {
        name: order._replace(features=frozenset({feature}))
        for name, feature in ABOUT.items()
        if feature in features and needs.get(feature, True)
    }
    return {**found, "order": order}
