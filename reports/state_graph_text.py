"""The state graph of the model itself, where nothing was run, and as text for other tools."""

from __future__ import annotations

from collections.abc import Iterable

from groupcheck.model.exploring.projection import Projection
from groupcheck.reports.state_graph import GraphArrow


def arrows_of(projection: Projection) -> list[GraphArrow]:
    """The arrows of the model itself, those of Kafka's table first."""
    order = [*projection.kafkas, *projection.arrows]
    return [
        GraphArrow(
            str(arrow.source),
            str(arrow.target),
            tuple(reason for reason, _ in projection.arrows[arrow].most_common()),
            0,
        )
        for arrow in sorted(projection.arrows, key=order.index)
    ]


def as_dot(arrows: Iterable[GraphArrow], title: str) -> str:
    """The graph for Graphviz."""
    lines = [f'  label="{title}"; labelloc=t; node [shape=box, style=rounded];']
    for arrow in arrows:
        reasons = "\\n".join(arrow.reasons)
        lines.append(f'  "{arrow.source}" -> "{arrow.target}" [label="{reasons}"];')
    return "\n".join(["digraph group {", *lines, "}", ""])


def as_mermaid(arrows: Iterable[GraphArrow], title: str) -> str:
    """The graph as Mermaid text, which GitHub, GitLab and many editors draw."""
    lines = ["---", f"title: {title}", "---", "stateDiagram-v2"]
    lines += [
        f"    {arrow.source} --> {arrow.target}: {'<br/>'.join(arrow.reasons)}" for arrow in arrows
    ]
    return "\n".join([*lines, ""])
