"""Files of graphs and witnesses: other tools read the states and transitions that were explored."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable
from functools import reduce
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

import networkx as nx
import pytest

from groupcheck.model.bodies import camel
from groupcheck.model.classic.exploring.exploration import Witness
from groupcheck.model.classic.instances.instance import instances, virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.statistics import statistics
from groupcheck.model.engine.trace import trace_of
from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import Run, UnfairError
from groupcheck.properties.sequence import Sequence, load
from groupcheck.reports.graph_files import write_graph, write_witness
from groupcheck.reports.itf import VARIABLES
from support.spaces import explored_once, whole

PROFILE = PROFILES["2.7"]


@pytest.fixture(scope="module")
def space() -> StateSpace:
    return explored_once(virtual_time_instances(PROFILE, 1)["storing"])


@pytest.fixture(scope="module")
def folder(space: StateSpace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs") / "made" / "for it"
    assert write_graph("storing", space, folder) == [
        folder / "storing.graphml",
        folder / "storing.dot",
        folder / "storing.json",
    ]
    return folder


def test_networkx_reads_the_same_graph_back_from_graphml(space: StateSpace, folder: Path) -> None:
    graph = nx.read_graphml(folder / "storing.graphml", node_type=int, force_multigraph=True)
    assert graph.number_of_nodes() == len(space.nodes)
    assert Counter(graph.edges()) == Counter(
        (source, edge.target) for source, edges in enumerate(space.edges) for edge in edges
    )
    assert Counter(nx.get_edge_attributes(graph, "action").values()) == statistics(space).actions
    assert graph.nodes[0]["state"] == "absent"


def test_the_json_has_every_node_and_edge_with_its_input_answers_and_rules(
    space: StateSpace, folder: Path
) -> None:
    read = json.loads((folder / "storing.json").read_text(encoding="utf-8"))
    assert read["format"] == 1
    assert [node["id"] for node in read["nodes"]] == list(range(len(space.nodes)))
    edges = [(source, edge) for source, edges in enumerate(space.edges) for edge in edges]
    assert [(e["source"], e["target"], tuple(e["rules"])) for e in read["edges"]] == [
        (source, edge.target, edge.applied) for source, edge in edges
    ]
    assert [len(e["answers"]) for e in read["edges"]] == [len(e.responses) for _, e in edges]
    joins = [e["input"]["body"] for e in read["edges"] if e["action"] == "JoinGroup"]
    assert {body["groupId"] for body in joins} == {"group", ""}


NODE = re.compile(r'  (\d+) \[label="((?:[^"\\]|\\.)*)"\];')
EDGE = re.compile(r'  (\d+) -> (\d+) \[label="((?:[^"\\]|\\.)*)", tooltip="((?:[^"\\]|\\.)*)"\];')


def test_every_line_of_the_dot_file_is_a_node_or_an_edge_of_the_graph(
    space: StateSpace, folder: Path
) -> None:
    head, style, *lines, end = (folder / "storing.dot").read_text(encoding="utf-8").splitlines()
    assert (head, style, end) == ('digraph "storing" {', "  node [shape=box];", "}")
    nodes, edges = lines[: len(space.nodes)], lines[len(space.nodes) :]
    assert all(map(NODE.fullmatch, nodes))
    found = [EDGE.fullmatch(line) for line in edges]
    assert [(int(m[1]), int(m[2])) for m in found if m] == [
        (source, edge.target) for source, edges in enumerate(space.edges) for edge in edges
    ]


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def members(request: pytest.FixtureRequest) -> int:
    return cast("int", request.param)


@pytest.fixture(scope="module")
def witnesses(members: int) -> list[Witness]:
    """A witness of each rule, in the first instance that has one.

    For one member only in the instances that do not combine features, which take 2 s instead of 20.
    """
    graphs = {
        name: StateGraph(whole(instance))
        for name, instance in instances(PROFILE, members).items()
        if members > 1 or "-" not in name
    }
    found: dict[str, Witness] = {}
    for name, graph in graphs.items():
        for rule in PROFILE.rules:
            if rule not in found and (transitions := graph.witness_of(rule)):
                steps = tuple(trace_of(graph.space, transitions))
                found[rule] = Witness(rule, name, graph.space.instance, steps)
    edges = (edge for graph in graphs.values() for each in graph.space.edges for edge in each)
    assert set(found) == {rule for edge in edges for rule in edge.applied}
    return list(found.values())


def test_a_witness_is_written_under_the_name_of_its_rule(
    witnesses: list[Witness], tmp_path: Path
) -> None:
    witness = next(w for w in witnesses if w.rule == "sync/stable")
    assert write_witness(witness, tmp_path) == [
        tmp_path / "witness_sync_stable.itf.json",
        tmp_path / "witness_sync_stable.jsonl",
    ]


def test_the_trace_of_each_witness_has_no_difference_on_the_built_in_coordinator(
    witnesses: list[Witness], members: int, tmp_path: Path
) -> None:
    for witness in witnesses:
        if witness.space not in virtual_time_instances(PROFILE, members):
            continue  # the built-in coordinator lacks its features
        _, trace = write_witness(witness, tmp_path)
        sequence = load(trace)
        assert len(sequence.steps) == len(witness.steps)
        # Where Kafka allows several choices it may make another, but not with every seed.
        assert any(_done_whole(sequence, seed) for seed in range(10))


def _done_whole(sequence: Sequence, seed: int) -> bool:
    run = Run(BuiltinPort(seed), PROFILE, sequence.broker)
    try:
        assert not any(map(run.step, sequence.steps))
    except UnfairError:
        return False  # a member was removed before its id was revealed
    return True


def test_the_states_of_an_itf_trace_are_those_of_the_model(
    witnesses: list[Witness], members: int, tmp_path: Path
) -> None:
    for witness in witnesses:
        itf, _ = write_witness(witness, tmp_path)
        read = json.loads(itf.read_text(encoding="utf-8"))
        assert read["#meta"]["format"] == "ITF"
        assert read["vars"] == list(VARIABLES)
        assert [state["#meta"] for state in read["states"]] == [
            {"index": index} for index in range(len(witness.steps) + 1)
        ]
        initial, *after = [
            tuple(_decoded(hint, state[name]) for name, hint in VARIABLES.items())
            for state in read["states"]
        ]
        assert initial == (*instances(PROFILE, members)[witness.space].initial, None, (), ())
        assert after == [
            (*outcome.coordinator, given, outcome.responses, outcome.applied)
            for given, outcome in witness.steps
        ]


SCALARS: dict[Any, Callable[[Any], Any]] = {
    int: lambda value: int(value["#bigint"]),
    bytes: base64.b64decode,
    ErrorCode: lambda value: ErrorCode[value],
}


def _decoded(hint: Any, value: Any) -> Any:
    """A value of that type from its form in ITF."""
    if isinstance(hint, UnionType):
        kinds = get_args(hint)
        if NoneType not in kinds:
            kind = next(kind for kind in kinds if kind.__name__ == value["tag"])
            return _decoded(kind, value["value"])
        rest = [kind for kind in kinds if kind is not NoneType]
        return next((_decoded(reduce(or_, rest), item) for item in value), None)
    if get_origin(hint) is tuple:
        return _decoded_tuple(get_args(hint), value)
    if hasattr(hint, "_fields"):
        return hint(**{n: _decoded(h, value[camel(n)]) for n, h in get_type_hints(hint).items()})
    return SCALARS.get(hint, hint)(value)


def _decoded_tuple(kinds: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if kinds[-1] is not ...:
        return tuple(_decoded(k, v) for k, v in zip(kinds, value["#tup"], strict=True))
    if isinstance(value, dict):
        key, mapped = get_args(kinds[0])
        return tuple((_decoded(key, k), _decoded(mapped, v)) for k, v in value["#map"])
    return tuple(_decoded(kinds[0], item) for item in value)
