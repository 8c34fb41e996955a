"""The interface between the engine and a specification, and the properties of one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

State = Any  # immutable and hashable
Input = Any  # immutable and hashable

# The next state, the responses and the ids of the rules applied; a specification may add fields.
AnyOutcome = tuple[Any, ...]


class Outcome(NamedTuple):
    """One outcome of an input: the next state, the responses, and the rules applied."""

    state: State
    responses: tuple[Any, ...] = ()
    applied: tuple[str, ...] = ()


class CanonicalState(Protocol):
    """A state that represents all states that differ from it only in names.

    `names` maps the names in the original state to the names in `node`, in the order of the latter.
    """

    @property
    def node(self) -> State:
        """The canonical state itself."""

    @property
    def names(self) -> Mapping[str, str]:
        """Original names to canonical names."""

    def restore(self, given: Input, number: int) -> Input:
        """An input of the canonical state, in the names of the original one, as step `number`."""


class Unchanged(NamedTuple):
    """The canonical state of a specification without symmetry: the state itself."""

    node: State
    names: Mapping[str, str] = MappingProxyType({})

    def restore(self, given: Input, _number: int) -> Input:
        """The input as it is."""
        return given


class Unreduced(Protocol):
    """Turns the states of a reduced state space into those in which every name is kept."""

    nodes: list[State]
    numbers: dict[State, int]

    def add(self, nodes: Sequence[State], names: Sequence[tuple[str, ...]]) -> None:
        """Add the states that the new canonical states represent."""

    def edges(self, number: int, arrows: Iterable[Any]) -> Iterable[Iterable[Any]]:
        """The transitions of each state that a canonical state represents."""


class Invariant(NamedTuple):
    """A condition of every reachable state; `words` is a full sentence."""

    words: str
    holds: Callable[[State], bool]


class StepInvariant(NamedTuple):
    """A condition of every transition: of the state before, the input, and the state after."""

    words: str
    holds: Callable[[State, Input, State], bool]


class LeadsTo(NamedTuple):
    """A temporal property: every state with `cause` is followed by a state with `effect`.

    It is checked under weak fairness: `fair` maps an input to the action it belongs to, or to None
    if nothing is assumed of it. A behaviour counts only if no such action stays enabled forever
    without being taken.
    """

    words: str
    cause: Callable[[State], bool]
    effect: Callable[[State], bool]
    fair: Callable[[Input], Hashable | None] = lambda _given: None


Property = Invariant | StepInvariant | LeadsTo


class Specification(Protocol):
    """A state machine with its constants, as TLC's model; a class may derive from this one."""

    @property
    def initial(self) -> State:
        """The initial state, in canonical form."""

    def inputs(self, state: State) -> Iterable[Input]:
        """The inputs that are possible in a state."""

    def successors(self, state: State, given: Input) -> Iterable[AnyOutcome]:
        """Every outcome of an input in a state."""

    def canonical(self, state: State) -> CanonicalState:
        """The state that represents it."""
        return Unchanged(state)

    def action(self, given: Input) -> str:
        """The name under which statistics count an input."""
        return str(given)

    def unreduced(self) -> Unreduced | None:
        """The inverse of the symmetry reduction; None if `canonical` reduces nothing."""
        return None
