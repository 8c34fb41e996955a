"""The oracle: every state that the observations allow (subset construction)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from groupcheck.model.engine.specification import AnyOutcome, Input, Specification, State

O = TypeVar("O", bound=AnyOutcome)  # noqa: E741 - an outcome


class Oracle(Generic[O]):
    """The states that a system may be in, given what was observed of it so far."""

    def __init__(self, initial: State, successors: Callable[[State, Input], Iterable[O]]) -> None:
        self.states: list[State] = [initial]
        self.kept: list[O] = []  # the outcomes that the last observation allowed
        self.successors = successors

    @classmethod
    def of(cls, instance: Specification) -> Oracle[AnyOutcome]:
        """The oracle of a specification, in its initial state."""
        return Oracle(instance.initial, instance.successors)

    def predict(self, given: Input) -> list[O]:
        """Every outcome of an input, from every state that the system may be in."""
        return [o for state in self.states for o in self.successors(state, given)]

    def keep(self, outcomes: list[O]) -> bool:
        """Continue with the outcomes that were observed; False, and no change, if there is none."""
        if outcomes:
            self.kept = outcomes
            self.states = list(dict.fromkeys(outcome[0] for outcome in outcomes))
        return bool(outcomes)
