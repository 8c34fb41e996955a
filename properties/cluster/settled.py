"""In which states a cluster can settle after each of a sequence of inputs, by the specification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from groupcheck.model.brokers import (
    ANNOUNCE,
    ARRIVE,
    CLAIM,
    DELIVER,
    EXPAND,
    HANDLE,
    LOAD,
    LOSE,
    RENEW,
    SHRINK,
    ClusterInput,
    Nodes,
)
from groupcheck.model.cluster.environment import fetches
from groupcheck.model.cluster.specification import Brokers
from groupcheck.model.cluster.state import Cluster, Settings

MOST_STATES: Final = 50_000

# What a cluster does by itself; a fault is none of it.
_GOES_ON: Final = frozenset((RENEW, CLAIM, HANDLE, DELIVER, ARRIVE, LOSE, LOAD, EXPAND, ANNOUNCE))


class TooManyStatesError(ValueError):
    """The cluster can be in too many states before it settles."""


def allowed(settings: Settings, inputs: Sequence[ClusterInput]) -> frozenset[Nodes]:
    """The nodes in ZooKeeper with which a cluster can have settled after these inputs.

    It settles before each of them. A state in which an input is not possible does not count, so
    there may be none. What leaders of Kafka 2.4 have announced is left out.

    `settings` must allow the inputs: with enough faults and requests.

    Raises:
        TooManyStatesError: there are more than `MOST_STATES` states before it settles.
    """
    states = _after(Brokers(settings), tuple(inputs))
    return frozenset(state.nodes._replace(announced=()) for state in states)


@lru_cache(maxsize=1_000)  # sequences have beginnings in common
def _after(instance: Brokers, inputs: tuple[ClusterInput, ...]) -> frozenset[Cluster]:
    if not inputs:
        return _settle(instance, [instance.initial])
    *earlier, given = inputs
    return _settle(
        instance,
        [
            outcome.state
            for state in _after(instance, tuple(earlier))
            if given in instance.inputs(state)
            for outcome in instance.successors(state, given)
        ],
    )


def _settle(instance: Brokers, states: Iterable[Cluster]) -> frozenset[Cluster]:
    """The states in which nothing happens without an input."""
    seen = set(states)
    left = list(seen)
    ends = set()
    while left:
        state = left.pop()
        # A leader waits for replica.lag.time.max.ms before it wants a smaller ISR. One that cannot
        # write an ISR tries again.
        settled = True
        for given in goes_on(instance, state):
            for outcome in instance.successors(state, given):
                settled = settled and (given.name == SHRINK or outcome.state == state)
                if outcome.state not in seen:
                    seen.add(outcome.state)
                    left.append(outcome.state)
        if settled:
            ends.add(state)
        if len(seen) > MOST_STATES:
            msg = f"more than {MOST_STATES:,} states before the cluster settles"
            raise TooManyStatesError(msg)
    return frozenset(ends)


def goes_on(instance: Brokers, state: Cluster) -> Iterator[ClusterInput]:
    """What a cluster does by itself in a state."""
    for given in instance.inputs(state):
        if given.name in _GOES_ON or (given.name == SHRINK and not fetches(state, given)):
            yield given
