"""Paths of the reduced graph are paths of the full one, and of a coordinator."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.exploring.canonical import canonical
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.edits import DropGuard
from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.trace import trace_of
from groupcheck.model.vocabulary import Request, SyncGroupRequest
from groupcheck.properties.explored import deviating_space

PROFILE = PROFILES["2.7"]


@pytest.fixture(scope="module", params=virtual_time_instances(PROFILE, 2))
def reduced(request: pytest.FixtureRequest) -> StateSpace:
    return explore(virtual_time_instances(PROFILE, 2)[request.param])


@pytest.fixture(scope="module")
def full(reduced: StateSpace) -> StateSpace:
    return explore(reduced.instance, symmetry=False)


def _by_name(given: Input) -> Input:
    """An input with the assignments of a leader in the order of names."""
    if isinstance(given, Request) and isinstance(given.body, SyncGroupRequest):
        assignments = tuple(sorted(given.body.assignments))
        return given._replace(body=given.body._replace(assignments=assignments))
    return given


def test_a_path_of_the_reduced_graph_is_a_path_of_the_full_one(
    reduced: StateSpace, full: StateSpace
) -> None:
    graph = StateGraph(reduced)
    frames = [canonical(node, timed=full.instance.timed) for node in full.nodes]
    numbers = [reduced.numbers[form.node] for form in frames]
    for node in range(len(reduced.nodes)):
        here = {0}
        for transition in graph.path(node):
            step = graph.edge(transition)
            following = set()
            for at in here:
                given = step.given
                if isinstance(given, Request):
                    given = _by_name(frames[at].restore(given, 0))
                following |= {
                    edge.target
                    for edge in full.edges[at]
                    if _by_name(edge.given) == given
                    and edge.applied == step.applied
                    and numbers[edge.target] == step.target
                }
            assert following
            here = following
        assert {numbers[at] for at in here} == {node}


def test_each_step_of_a_path_is_an_allowed_step_from_the_state_before_it(
    reduced: StateSpace,
) -> None:
    graph = StateGraph(reduced)
    instance = reduced.instance
    for node in range(len(reduced.nodes)):
        state = Coordinator()
        for given, outcome in trace_of(reduced, graph.path(node)):
            assert outcome in successors(state, given, instance.profile, instance.config)
            state = outcome.coordinator
        assert reduced.canonical(state).node == reduced.nodes[node]


@pytest.mark.parametrize("version", ["2.7", "4.1"])
def test_a_model_that_adds_members_of_any_id_has_few_states_each_with_a_trace(version: str) -> None:
    space = explore(virtual_time_instances(PROFILES[version], 2)["metadata"])
    edit = DropGuard("join/pending-member", "the member id is pending")
    edited = deviating_space(space, PROFILES[version].edited(edit))
    assert edited is not None
    assert len(edited.nodes) < len(space.nodes)
    graph = StateGraph(edited)
    for node in range(1, len(edited.nodes)):
        state = trace_of(edited, graph.path(node))[-1].outcome.coordinator
        assert edited.canonical(state).node == edited.nodes[node]
