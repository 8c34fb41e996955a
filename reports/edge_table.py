"""The transitions of a result as columns of numbers, for the table of the HTML page.

Each text is stored once; a row has the numbers of its texts. A hundred thousand rows take a few
megabytes, a tenth of the size of objects.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.classic.exploring.group_graph import Arrow, arrows_of_step, state_of
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import Coordinator
from groupcheck.properties.coverage.kind import Kind
from groupcheck.reports.explored_graphs import Known
from groupcheck.reports.formatting import bounded
from groupcheck.reports.graph_files import state_attributes, transition_attributes

COLUMNS = ("instance", "before", "input", "answers", "rules", "after", "arrows")


class _Texts:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def edge_table(instances: tuple[Known, ...], arrows: list[Arrow]) -> dict[str, Any]:
    """The columns, the texts of their numbers, and the outcomes as letters."""
    texts = {name: _Texts() for name in COLUMNS}
    columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
    kinds: list[str] = []
    places = {arrow: place for place, arrow in enumerate(arrows)}
    for known in instances:
        nodes = known.space.nodes
        profile = known.space.instance.profile
        states = [bounded(_state(node)) for node in nodes]
        letters = iter(known.result.outcomes)
        for node, edges in enumerate(known.space.edges):
            before = state_of(nodes[node])
            for edge, kind in zip(edges, letters, strict=False):
                if kind == Kind.NOT_ASKED:
                    continue
                words = transition_attributes(nodes[node], edge)
                ways = arrows_of_step(profile, before, state_of(nodes[edge.target]), edge.applied)
                row = {
                    "instance": known.name,
                    "before": states[node],
                    "input": bounded(words["input"]),
                    "answers": bounded(words["answers"]) or "no answer",
                    "rules": words["rules"],
                    "after": states[edge.target],
                    "arrows": " ".join(str(places[arrow]) for arrow, _ in ways),
                }
                for name, text in row.items():
                    columns[name].append(texts[name].number(text))
                kinds.append(kind)
    return {
        "columns": columns,
        "texts": {name: list(each.numbers) for name, each in texts.items()},
        "outcomes": "".join(kinds),
        "reasons": _reasons(instances),
    }


def _state(node: Coordinator) -> str:
    words = state_attributes(node)
    members = f": {words['members']}" if words["members"] else ""
    generation = f", generation {words['generation']}" if words["generation"] else ""
    return f"{words['state']}{generation}{members}"


def _reasons(instances: tuple[Known, ...]) -> dict[str, str]:
    """Each rule in words, with its source."""
    if not instances:
        return {}
    rules = EVERY_PROFILE[instances[0].space.instance.profile.name].rules
    return {name: f"{rule.words} [{rule.source}]" for name, rule in rules.items()}
