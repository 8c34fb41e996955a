"""Specifications in the style of TLA+: an input names an action, and any rule of it may apply.

The rules of a table are alternatives here, not a list of which the first that holds decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from groupcheck.model.engine.rules import Version, VersionRule
from groupcheck.model.engine.specification import Outcome, Specification, State
from groupcheck.model.engine.step import EngineStep, steps


class Action(NamedTuple):
    """An input: the name of a table, and its subject, if the table has several."""

    name: str
    subject: Any = None

    def __str__(self) -> str:
        return self.name if self.subject is None else f"{self.name}({self.subject})"


class ActionStep(EngineStep):
    """A step while it is built: its state so far, a named tuple, and its responses."""

    __slots__ = ("responses", "state")

    def __init__(self, version: Version, state: State, script: Sequence[int] = ()) -> None:
        super().__init__(version, script)
        self.state = state
        self.responses: list[Any] = []

    def set(self, **fields: object) -> None:
        """Change fields of the state."""
        self.state = self.state._replace(**fields)

    def set_at(self, name: str, index: int, **fields: object) -> None:
        """Change fields of one element of a field that is a tuple of named tuples."""
        elements = list(getattr(self.state, name))
        elements[index] = elements[index]._replace(**fields)
        self.set(**{name: tuple(elements)})


class ActionSpecification(Specification):
    """A specification by its version, its initial state and the subjects of its actions."""

    version: Version

    def subjects(self, name: str) -> Iterable[Any]:
        """The possible subjects of an action; None for an action without one."""
        raise NotImplementedError

    def inputs(self, state: State) -> Iterator[Action]:
        """The actions of which a rule holds."""
        step = ActionStep(self.version, state)
        actions = (
            Action(name, each) for name in self.version.tables for each in self.subjects(name)
        )
        return (action for action in actions if _enabled(step, action))

    def successors(self, state: State, given: Action) -> Iterator[Outcome]:
        """The outcome of each rule of the action that holds."""

        def act(step: ActionStep) -> None:
            step.choose(given, _enabled(step, given)).apply(step, given.subject)

        for step in steps(lambda script: ActionStep(self.version, state, script), act):
            yield Outcome(step.state, tuple(step.responses), tuple(step.applied))

    def action(self, given: Action) -> str:
        """The name of an input, without its subject."""
        return given.name


def _enabled(step: ActionStep, action: Action) -> list[VersionRule]:
    return [rule for rule in step.version.tables[action.name] if rule.holds(step, action.subject)]
