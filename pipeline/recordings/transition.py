"""A transition as the table `transitions` has it: without members, and without timers."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupcheck.model.state import Coordinator, Group
from groupcheck.model.step import Outcome
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request

NO_GROUP: Final = "none"


class Transition(NamedTuple):
    """The group's state before, the input, the rules that were applied, the state after."""

    before: str
    given: str
    rules: tuple[str, ...]
    after: str


def transition_of(before: Coordinator, given: Input, outcome: Outcome) -> Transition:
    """The transition of one allowed outcome."""
    name = given.api if isinstance(given, Request) else type(given).__name__
    after = state_name(outcome.coordinator.group)
    return Transition(state_name(before.group), name, tuple(dict.fromkeys(outcome.fired)), after)


def state_name(group: Group | None) -> str:
    """The state of a group, or that there is none."""
    return NO_GROUP if group is None else str(group.state)
