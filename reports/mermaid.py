"""Sequence diagrams and state graphs as text: Mermaid, which GitHub draws, and Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import wrap
from typing import Final

from groupcheck.model.classic.exploring.group_graph import GroupGraph
from groupcheck.reports.diagram import Diagram
from groupcheck.reports.state_graph import GraphArrow

ARROWS: Final[dict[str, str]] = {
    "request": "->>",
    "allowed": "-->>",
    "wrong": "-->>",
    "missing": "--x",
}

# The box around a wrong or missing answer.
RED: Final = "rgb(255, 226, 224)"

# The longest line of a label, in characters.
WIDTH: Final = 60

# Characters with a meaning in Mermaid, or in the HTML that it makes.
SPECIAL: Final = re.compile("[#;<>&%{}`\\\\]")


def as_mermaid(diagram: Diagram) -> str:
    """The diagram as text."""
    keys = {name: f"p{i}" for i, name in enumerate(diagram.participants)}
    lines = ["sequenceDiagram", f"    title: {_escaped(diagram.title)}"]
    lines += [f"    participant {key} as {name}" for name, key in keys.items()]
    all_participants = f"{keys[diagram.participants[0]]},{keys[diagram.participants[-1]]}"
    for event in diagram.events:
        if event.kind == "note":
            lines.append(f"    Note over {all_participants}: {_label(event.label)}")
            continue
        arrow = f"{keys[event.source]}{ARROWS[event.kind]}{keys[event.target]}"
        line = f"    {arrow}: {_label(event.label)}"
        lines += [f"    rect {RED}", line, "    end"] if event.is_wrong else [line]
    verdict = "<br/>".join(_label(line) for passage in diagram.verdict for line in passage.text)
    return "\n".join([*lines, f"    Note over {all_participants}: {verdict}", ""])


def _label(text: str) -> str:
    return "<br/>".join(map(_escaped, wrap(text, WIDTH, break_on_hyphens=False)))


def _escaped(text: str) -> str:
    return SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)


def arrows_of(group_graph: GroupGraph) -> list[GraphArrow]:
    """The arrows of the model itself, those of Kafka's table first."""
    order = [*group_graph.expected, *group_graph.arrows]
    return [
        GraphArrow(
            str(arrow.source),
            str(arrow.target),
            tuple(reason for reason, _ in group_graph.arrows[arrow].most_common()),
            0,
        )
        for arrow in sorted(group_graph.arrows, key=order.index)
    ]


def graph_as_dot(arrows: Iterable[GraphArrow], title: str) -> str:
    """The state graph for Graphviz."""
    lines = [f'  label="{title}"; labelloc=t; node [shape=box, style=rounded];']
    for arrow in arrows:
        reasons = "\\n".join(arrow.reasons)
        lines.append(f'  "{arrow.source}" -> "{arrow.target}" [label="{reasons}"];')
    return "\n".join(["digraph group {", *lines, "}", ""])


def graph_as_mermaid(arrows: Iterable[GraphArrow], title: str) -> str:
    """The state graph as Mermaid text."""
    lines = ["---", f"title: {title}", "---", "stateDiagram-v2"]
    lines += [
        f"    {arrow.source} --> {arrow.target}: {'<br/>'.join(arrow.reasons)}" for arrow in arrows
    ]
    return "\n".join([*lines, ""])
