"""Counting finds the numbers that exploring finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from groupcheck.model.engine.actions import ActionSpecification, ActionStep
from groupcheck.model.engine.checking import violations
from groupcheck.model.engine.counting import count
from groupcheck.model.engine.exploration import TooManyStatesError, explore
from groupcheck.model.engine.noting import UnfitError, noting
from groupcheck.model.engine.rules import Effect, Guard, Rule, Table, Version, version_of
from groupcheck.model.engine.specification import Invariant, Unchanged
from groupcheck.model.twophase.specification import CONSISTENT, TwoPhase

Do = Callable[[ActionStep], None]


class Cell(NamedTuple):
    number: int = 0
    flag: bool = False


class Cells(NamedTuple):
    cells: tuple[Cell, ...] = (Cell(), Cell(1))
    kept: Any = None


@dataclass(frozen=True)
class Small(ActionSpecification):
    version: Version

    @property
    def initial(self) -> Cells:
        return Cells()

    def subjects(self, name: str) -> tuple[None]:
        del name
        return (None,)


def _small(*actions: Do) -> Small:
    """Two cells, and an action for each function."""
    return Small(version_of("small", (_table(f"do{n}", do) for n, do in enumerate(actions))))


def _table(name: str, do: Do) -> Table:
    always = Guard("always", lambda _step, _subject: True)
    effect = Effect("do it", lambda step, _subject: do(step))
    return Table(name, name, (Rule(name, name, {"small": "here"}, (always,), (effect,)),))


def _increase(step: ActionStep) -> None:
    first = step.state.cells[0]
    step.set_at("cells", 0, number=(first.number + 1) % 40)


def _swap(step: ActionStep) -> None:
    step.set(cells=step.state.cells[::-1])


def _flip(step: ActionStep) -> None:
    step.set_at("cells", 1, flag=step.choose("the flag", (False, True)))


def _keep(step: ActionStep) -> None:
    step.set(kept=step.state.cells[1])


def _restore(step: ActionStep) -> None:
    if step.state.kept is not None:
        step.set(cells=(step.state.cells[0], step.state.kept))


def _same(instance: ActionSpecification) -> int:
    space, counted = explore(instance), count(instance)
    assert counted.states == len(space.nodes)
    assert counted.transitions == space.transition_count
    assert counted.depth == space.depth
    assert counted.applied == space.applied
    return counted.states


@pytest.mark.parametrize("managers", [1, 2, 3, 4, 5])
def test_counting_finds_the_numbers_of_exploring(managers: int) -> None:
    _same(TwoPhase(managers))


# TLC finds as many of seven and of eight: bench/counting.py compares them.
@pytest.mark.parametrize(
    ("managers", "numbers"),
    [
        (7, (296_448, 2_744_705, 22)),
        (8, (1_745_408, 18_507_777, 25)),
        pytest.param(9, (10_340_352, 123_558_401, 28), marks=pytest.mark.exhaustive),
    ],
)
def test_counting_finds_millions_of_states(managers: int, numbers: tuple[int, int, int]) -> None:
    assert count(TwoPhase(managers))[:3] == numbers


def test_values_may_be_moved_kept_and_chosen_and_columns_become_wider() -> None:
    assert _same(_small(_increase, _swap)) == 40 * 40
    assert _same(_small(_flip, _swap)) == 8
    assert _same(_small(_flip, _swap, _keep, _restore)) == 56


def test_a_broken_invariant_has_a_shortest_path_to_a_violation() -> None:
    never = CONSISTENT._replace(holds=lambda state: state.decision != "Commit")
    instance = TwoPhase(3)
    ((words, path),) = count(instance, [CONSISTENT, never]).broken.items()
    assert words == never.words
    states = {instance.initial}
    for given in path:
        able = [state for state in states if given in instance.inputs(state)]
        states = {each.state for state in able for each in instance.successors(state, given)}
    assert not all(map(never.holds, states))
    (found,) = violations(explore(instance), [never])
    assert len(path) == len(found.path)


def test_an_invariant_can_be_broken_in_the_initial_state() -> None:
    assert count(TwoPhase(2), [Invariant("Never.", lambda _: False)]).broken == {"Never.": []}


def test_the_number_of_states_can_be_limited_and_is_reported_while_counting() -> None:
    expanded: list[int] = []
    found = count(TwoPhase(3), progress=expanded.append, most_states=288)
    assert found.states == sum(expanded) == 288
    with pytest.raises(TooManyStatesError, match="more than 287 states"):
        count(TwoPhase(3), most_states=287)


def _ordered(step: ActionStep) -> None:
    step.set(kept=step.state.cells[0] < step.state.cells[1])


def _longer(step: ActionStep) -> None:
    step.set(cells=(*step.state.cells, Cell()))


@pytest.mark.parametrize(
    ("do", "why"), [(_ordered, "cannot be noted"), (_longer, "changes its length")]
)
def test_what_cannot_be_counted_is_an_error(do: Do, why: str) -> None:
    with pytest.raises(UnfitError, match=why):
        count(_small(do))


def test_a_rule_that_depends_on_more_than_the_state_is_an_error() -> None:
    fields = iter(["number", "flag"] * 9)

    def fickle(step: ActionStep) -> None:
        getattr(step.state.cells[0], next(fields))

    with pytest.raises(UnfitError, match="depends on more than the state"):
        count(_small(_flip, _swap, _increase, fickle))


def test_a_state_of_more_than_64_bits_is_an_error() -> None:
    with pytest.raises(UnfitError, match="more than 64 bits"):
        count(TwoPhase(16), most_states=100_000)


def test_a_specification_with_symmetry_is_an_error() -> None:
    class Symmetric(TwoPhase):
        def canonical(self, state: Any) -> Unchanged:
            return Unchanged(state)

    with pytest.raises(UnfitError, match="Symmetric has its own `canonical`"):
        count(Symmetric())


def test_a_record_that_notes_equals_the_plain_one() -> None:
    noted = noting(Cell, (3, True))
    assert noted == Cell(3, flag=True)
    assert Cell(3, flag=True) == noted
    assert noted != Cell(3)
    assert hash(noted) == hash(Cell(3, flag=True))
    assert isinstance(noted, Cell)
    assert noted._replace(number=4) == Cell(4, flag=True)
    assert noted[:1] == (3,)
