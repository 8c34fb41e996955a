"""The state space without symmetry: renamed from the reduced one, and explored by the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations
from operator import attrgetter

import pytest

from groupcheck.model.classic.exploring.canonical import untimed, with_names
from groupcheck.model.classic.instances.instance import Instance, instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Coordinator, Group
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.vocabulary import Response
from support.economy import exhaustive_if

pytestmark = pytest.mark.untraced

# With three members some are equal and others are not.
SPACES = [
    *((profile, name, 2) for profile in PROFILES for name in ("membership", "storing", "order")),
    ("2.7", "metadata", 3),
    ("2.7", "administration", 2),
    ("2.7", "transactions", 2),
]
LARGE = [*SPACES[-3:], *(("4.1", name, 2) for name in ("membership", "storing", "order"))]


@pytest.fixture(scope="module", params=exhaustive_if(lambda each: each in LARGE, SPACES), ids=str)
def space(request: pytest.FixtureRequest) -> StateSpace:
    version, name, members = request.param
    profile = PROFILES[version]
    return explore(instances(profile, members)[name], symmetry=False)


def _named(after: Coordinator, instance: Instance) -> Iterator[Coordinator]:
    """The forms of a successor in which members keep their names and newcomers get free ones."""
    state = after if instance.timed else untimed(after)
    group = state.group or Group()
    ids = [m.member_id for m in group.members] + [p.member_id for p in group.pending]
    kept = {name: name for name in ids if name in instance.names}
    newcomers = [name for name in ids if name not in kept]
    free = [name for name in instance.names if name not in kept]
    for chosen in permutations(free, len(newcomers)):
        yield with_names(state, kept | dict(zip(newcomers, chosen, strict=True)))


def _typed(given: Input, responses: Iterable[Response]) -> tuple[object, ...]:
    """A label and its types, since records of different types may be equal."""
    answers = tuple(sorted(responses, key=attrgetter("request_id")))
    records = (given, getattr(given, "body", None), answers, *(r.body for r in answers))
    return given, answers, tuple(map(type, records))


def test_each_state_has_the_transitions_that_the_rules_give_it_under_its_own_names(
    space: StateSpace,
) -> None:
    instance = space.instance
    profile, config = instance.profile, instance.config
    applied: Counter[str] = Counter()
    for node, edges in zip(space.nodes, space.edges, strict=True):
        ways: dict[tuple[object, int], set[tuple[str, ...]]] = {}
        for given in instance.inputs(node):
            for after, responses, rules, _ in successors(node, given, profile, config):
                if instance.admits(after):
                    applied.update(set(rules))
                    for target in _named(after, instance):
                        edge = (_typed(given, responses), space.numbers[target])
                        ways.setdefault(edge, set()).add(rules)
        found = {(_typed(e.given, e.responses), e.target): e.applied for e in edges}
        assert len(found) == len(edges)
        assert found.keys() == ways.keys()
        assert all(rules in ways[edge] for edge, rules in found.items())
    assert applied == space.applied


def test_the_depth_of_each_state_is_its_distance_from_the_initial_one(space: StateSpace) -> None:
    steps = {0: 0}
    for node, edges in enumerate(space.edges):
        for edge in edges:
            steps.setdefault(edge.target, steps[node] + 1)
    distances = [steps[node] for node in range(len(space.nodes))]
    assert distances == sorted(distances)
    assert max(distances) == space.depth
