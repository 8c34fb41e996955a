"""The files of an explored instance: GraphML, DOT and JSON; of a witness: ITF and a trace.

The JSON has every field of states and transitions; the other two have them as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import networkx as nx

from groupcheck.model.bodies import encode_record
from groupcheck.model.classic.exploring.exploration import Witness
from groupcheck.model.classic.exploring.fingerprint import edge_ids
from groupcheck.model.classic.instances.inputs import action
from groupcheck.model.classic.state import Coordinator, Group
from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.properties.sequence import Sequence, dump, step_message
from groupcheck.reports.itf import as_itf
from groupcheck.reports.messages import answer_text, step_text

FORMAT = 1


def write_graph(name: str, space: StateSpace, directory: Path) -> list[Path]:
    """Write NAME.graphml, NAME.dot and NAME.json; the files written.

    Raises:
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    graphml, dot, as_json = (directory / f"{name}.{kind}" for kind in ("graphml", "dot", "json"))
    nx.write_graphml(text_graph(space), graphml)
    for path, lines in ((dot, dot_lines(name, space)), (as_json, json_lines(name, space))):
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    return [graphml, dot, as_json]


def write_witness(witness: Witness, directory: Path) -> list[Path]:
    """Write a witness as .itf.json and as a trace for `groupcheck replay`; the files written.

    Raises:
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    stem = "witness_" + witness.rule.replace("/", "_")
    texts = {
        directory / f"{stem}.itf.json": json.dumps(as_itf(witness), indent=1) + "\n",
        directory / f"{stem}.jsonl": dump(as_sequence(witness)),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def as_sequence(witness: Witness) -> Sequence:
    """The inputs of the witness."""
    instance = witness.instance
    steps = tuple(step.given for step in witness.steps)
    return Sequence(instance.profile.name, instance.broker, steps)


def json_lines(name: str, space: StateSpace) -> Iterator[str]:
    """The graph as one JSON object, a line for each node and edge; node 0 is the initial state."""
    head = {
        "format": FORMAT,
        "instance": name,
        "profile": space.instance.profile.name,
        "config": space.instance.broker,
    }
    yield json.dumps(head)[:-1] + ', "nodes": ['
    yield from _listed({"id": n, "state": encode_record(s)} for n, s in enumerate(space.nodes))
    yield '], "edges": ['
    ids = chain.from_iterable(edge_ids(space))
    yield from _listed(
        {"id": edge_id, **_edge(source, edge)}
        for edge_id, (source, edge) in zip(ids, _edges(space), strict=True)
    )
    yield "]}"


def _listed(values: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The items of a JSON list, one a line."""
    for number, value in enumerate(values):
        yield ("," if number else "") + json.dumps(value, separators=(",", ":"))


def _edge(source: int, edge: Transition) -> dict[str, Any]:
    return {
        "source": source,
        "target": edge.target,
        "action": action(edge.given),
        "input": step_message(edge.given),
        "answers": [encode_record(response) for response in edge.responses],
        "rules": edge.applied,
    }


def text_graph(space: StateSpace) -> nx.MultiDiGraph[int]:
    """The graph with attributes as text."""
    shown: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for number, node in enumerate(space.nodes):
        shown.add_node(number, **state_attributes(node))
    for source, edge in _edges(space):
        shown.add_edge(source, edge.target, **transition_attributes(space.nodes[source], edge))
    return shown


def dot_lines(name: str, space: StateSpace) -> Iterator[str]:
    """The graph for Graphviz; input and answers are tooltips."""
    yield f"digraph {_quoted(name)} {{"
    yield "  node [shape=box];"
    for number, node in enumerate(space.nodes):
        words = state_attributes(node)
        label = "\n".join(filter(None, (words["state"], words["members"])))
        yield f"  {number} [label={_quoted(label)}];"
    for source, edge in _edges(space):
        words = transition_attributes(space.nodes[source], edge)
        label = f"{words['action']}\n{words['rules']}"
        tooltip = "\n".join(filter(None, (words["input"], words["answers"])))
        attributes = f"label={_quoted(label)}, tooltip={_quoted(tooltip)}"
        yield f"  {source} -> {edge.target} [{attributes}];"
    yield "}"


def _edges(space: StateSpace) -> Iterator[tuple[int, Transition]]:
    return ((source, edge) for source, edges in enumerate(space.edges) for edge in edges)


def state_attributes(node: Coordinator) -> dict[str, Any]:
    """A state as text attributes."""
    group = node.group
    if group is None:
        return {"state": "absent", "generation": 0, "members": ""}
    members = [
        f"{member.member_id}{' (leader)' * (member.member_id == group.leader)}"
        f"{' in join' * (member.awaiting_join is not None)}"
        f"{' in sync' * (member.awaiting_sync is not None)}"
        for member in group.members
    ]
    members += [f"{pending.member_id} pending" for pending in group.pending]
    return {
        "state": str(group.state),
        "generation": group.generation_id,
        "members": ", ".join(members),
    }


def transition_attributes(source: Coordinator, edge: Transition) -> dict[str, str]:
    """A transition as text attributes, with the member names of its source state."""
    group = source.group or Group()
    ids = [m.member_id for m in group.members] + [p.member_id for p in group.pending]
    names = dict(zip(ids, ids, strict=True))
    return {
        "action": action(edge.given),
        "input": step_text(edge.given, names),
        "answers": "; ".join(answer_text(r.body, names) for r in edge.responses),
        "rules": ", ".join(edge.applied),
    }


def _quoted(text: str) -> str:
    """A string as DOT has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
