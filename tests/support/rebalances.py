"""The scenarios of three consumers in article 002: in how many rebalances all have partitions."""

from __future__ import annotations

from typing import Final, NamedTuple

Phases = tuple[tuple[str, int], ...]

FIRST: Final = (("Empty", 0), ("CompletingRebalance", 1))
SECOND: Final = (("PreparingRebalance", 1), ("CompletingRebalance", 2), ("Stable", 2))
THIRD: Final = (("PreparingRebalance", 2), ("CompletingRebalance", 3), ("Stable", 3))


class Scenario(NamedTuple):
    """How a group comes to three consumers.

    Args:
        phases: the states of the group, each with its generation.
        calls: how often each consumer has been assigned partitions and has lost them again, in the
            order of the consumers.
    """

    phases: Phases
    calls: tuple[tuple[int, int], ...]


SCENARIOS: Final = {
    "one rebalance": Scenario((*FIRST, *SECOND), ((1, 0), (1, 0), (1, 0))),
    "two rebalances": Scenario((*FIRST, ("Stable", 1), *SECOND), ((2, 1), (1, 0), (1, 0))),
    "three rebalances": Scenario(
        (*FIRST, ("Stable", 1), *SECOND, *THIRD), ((3, 2), (2, 1), (1, 0))
    ),
}
