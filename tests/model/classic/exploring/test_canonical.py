"""The canonical form: equal exactly for states that differ only in names."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest

from groupcheck.model.classic.exploring.canonical import with_names
from groupcheck.model.classic.state import Append, Coordinator, GroupAppend
from groupcheck.model.engine.exploration import StateSpace, explore
from support.spaces import explored


@pytest.fixture(scope="module", params=["membership", "metadata", "storing"])
def space(request: pytest.FixtureRequest) -> StateSpace:
    return explored("2.7", request.param)


def _renamed(state: Coordinator, names: dict[str, str], later: int) -> Coordinator:
    """The same state under other member ids, and `later` generations later if not in the first."""
    group = state.group
    if group is None:
        return state
    shift = later if group.generation_id else 0

    def renamed(entry: Append) -> Append:
        if not isinstance(entry, GroupAppend):
            return entry
        given = tuple((names[member_id], part) for member_id, part in entry.assignments)
        return GroupAppend(entry.generation_id + shift, given)

    return state._replace(
        appends=tuple(map(renamed, state.appends)),
        group=group._replace(
            generation_id=group.generation_id + shift,
            leader=names.get(group.leader or ""),
            members=tuple(sorted(m._replace(member_id=names[m.member_id]) for m in group.members)),
            pending=tuple(sorted(p._replace(member_id=names[p.member_id]) for p in group.pending)),
        ),
    )


def test_the_canonical_form_of_a_canonical_state_is_itself(space: StateSpace) -> None:
    for node in space.nodes:
        assert space.canonical(node).node == node


def test_other_names_and_later_generations_have_the_same_canonical_form(space: StateSpace) -> None:
    for node in space.nodes:
        group = node.group
        ids = (
            [m.member_id for m in group.members] + [p.member_id for p in group.pending]
            if group
            else []
        )
        for order in permutations([f"#{n}" for n in range(len(ids))]):
            names = dict(zip(ids, order, strict=True))
            for later in (0, 1, 7):
                form = space.canonical(_renamed(node, names, later))
                assert form.node == node
                assert set(form.names) == set(order)


@pytest.mark.untraced
@pytest.mark.exhaustive
def test_the_states_without_symmetry_are_the_renamings_of_the_canonical_ones(
    space: StateSpace,
) -> None:
    pool = space.instance.names
    whole = explore(space.instance, symmetry=False)
    orbits = Counter(space.canonical(node).node for node in whole.nodes)
    assert set(orbits) == set(space.nodes)
    for node, size in orbits.items():
        names = space.canonical(node).names
        ways = permutations(pool, len(names))
        assert size == len({with_names(node, dict(zip(names, way, strict=True))) for way in ways})


def test_no_two_canonical_states_are_equal(space: StateSpace) -> None:
    assert len(set(space.nodes)) == len(space.nodes) == len(space.numbers)
