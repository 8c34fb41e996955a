"""The states that a recorded group goes through, as the checker finds them."""

from __future__ import annotations

from typing import NamedTuple

from groupcheck.model.classic.state import Coordinator
from groupcheck.properties.histories.checker import Exchange, Observer


class Phase(NamedTuple):
    """From `at_ms` on the group is in a state and a generation."""

    at_ms: int
    state: str
    generation: int


class GroupStates(Observer):
    """The states of a group, each with its generation, in order.

    A state that a step enters and leaves again is not among them. Where the observations allow
    several states, the first is used: in most cases they differ only in the leader.
    """

    def __init__(self) -> None:
        self.phases: list[Phase] = []

    def on_step(
        self, before: list[Coordinator], after: list[Coordinator], exchange: Exchange
    ) -> None:
        """Note the state after the step, if it is another one."""
        del before
        group = after[0].group
        if group is None:
            return
        here = group.state.value, group.generation_id
        if not self.phases or self.phases[-1][1:] != here:
            self.phases.append(Phase(exchange.at_ms, *here))
