"""A result as one HTML page without external files or network."""

from __future__ import annotations

import base64
import json
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any, Final, NamedTuple
from xml.etree.ElementTree import tostring

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from groupcheck import __version__
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.properties.coverage.kind import Kind
from groupcheck.reports.arrows import Reasoned, reasoned
from groupcheck.reports.changes import Changes, lines
from groupcheck.reports.charts import covered_over_steps, rounded, sessions
from groupcheck.reports.code_page import code_data, code_files, same_lines
from groupcheck.reports.details import stages_and_outages
from groupcheck.reports.diagram import diagram
from groupcheck.reports.edge_table import edge_table
from groupcheck.reports.explored_graphs import Graphs
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.formatting import bounded, percent
from groupcheck.reports.record import FindingRecord, ResultRecord, Run
from groupcheck.reports.state_graph import GraphArrow, element
from groupcheck.reports.svg import as_svg
from groupcheck.reports.terminal import limits, ran

# The number of last states of a finding that the page shows side by side.
MOST_STATES: Final = 12

WORDS: Final = {
    Kind.ANSWERED: "request covered",
    Kind.HAPPENED: "time or fault covered",
    Kind.DIVERGED: "not allowed",
    Kind.NOT_CHOSEN: "not observed",
    Kind.AMBIGUOUS: "ambiguous",
    Kind.UNSUPPORTED: "not supported",
    Kind.UNTRIED: "not tried",
}
COLUMNS: Final = {
    "kind": "outcome",
    "instance": "instance",
    "before": "state before",
    "input": "input",
    "answers": "Kafka's answers",
    "rules": "rules applied",
    "after": "state after",
}


class Cell(NamedTuple):
    """A field of the model's state after a step, and whether the step changed it."""

    text: str
    changed: bool


class Row(NamedTuple):
    """A field of the model's state, step by step."""

    field: str
    cells: tuple[Cell, ...]


class Finding(NamedTuple):
    """A finding for the page; `steps` are the numbers of the states that it has."""

    record: FindingRecord
    known: bool
    picture: str
    steps: tuple[int, ...]
    changing: tuple[Row, ...]
    constant: tuple[tuple[str, str], ...]


class Guard(NamedTuple):
    """A rule: whether it was applied, and whether its guard was seen false."""

    name: str
    applied: bool
    guard_false: bool
    description: str


@cache
def _template() -> Template:
    return Environment(
        loader=PackageLoader("groupcheck.reports", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    ).get_template("page.html.j2")


def as_html(saved: ResultRecord, changed: Changes, graphs: Graphs) -> str:
    """The page; `graphs` are those of the result's instances, if they are known."""
    arrows = reasoned(graphs.known) if graphs.known else []
    explored = _explored(saved)
    page = files("groupcheck.reports") / "page"
    return _template().render(
        saved=saved,
        port=bounded(saved.port),
        verdict=bounded(saved.verdict),
        version=__version__,
        changes=[bounded(line) for line in lines(changed)],
        findings=[_finding(finding, known=known) for finding, known in changed.listed],
        graph=_graph([arrow.drawn for arrow in arrows] or [arrow for arrow, _ in explored]),
        explored=[(bounded(f"{a.source} -> {a.target}"), reasons) for a, reasons in explored],
        sessions=sessions(saved.check.rebalances) if saved.check else [],
        duration=lambda ms: "" if ms is None else rounded(ms),
        shown=lambda text: "" if text is None else bounded(str(text)),
        arrows=arrows,
        unknown=graphs.unknown,
        table=_table(graphs, arrows),
        words=WORDS,
        names=[known.name for known in graphs.known],
        columns=COLUMNS,
        limits=[bounded(f"{head}: {text}") for head, text in limits(saved)],
        ran=ran(saved),
        guards=_guards(saved),
        code=_code(saved),
        percent=percent,
        finding_text=finding_text,
        port_of=lambda run: bounded(run.port),
        curve=lambda run: _curve(run, saved),
        long_run=lambda run: map(bounded, stages_and_outages(run)),
        style=Markup((page / "page.css").read_text(encoding="utf-8")),  # noqa: S704 - it is ours
        script=Markup((page / "page.js").read_text(encoding="utf-8")),  # noqa: S704 - it is ours
    )


def _code(saved: ResultRecord) -> dict[str, Any] | None:
    if saved.code is None:
        return None
    code = saved.code
    return {"files": code_files(code), "same_lines": same_lines(code), "data": code_data(code)}


def _explored(saved: ResultRecord) -> list[tuple[GraphArrow, list[tuple[str, int]]]]:
    """The group transitions of an exploration, with the number of transitions of each rule."""
    found = []
    for arrow, reasons in saved.exploration.group_transitions.items() if saved.exploration else ():
        source, _, target = arrow.partition(" -> ")
        often = sorted(reasons.items(), key=itemgetter(1), reverse=True)
        drawn = GraphArrow(source, target, tuple(rule for rule, _ in often), sum(reasons.values()))
        found.append((drawn, often))
    return found


def _graph(arrows: list[GraphArrow]) -> Markup | None:
    if not arrows:
        return None
    drawn = element(arrows, "The states of a group and the transitions between them")
    return Markup(tostring(drawn, encoding="unicode"))  # noqa: S704 - ElementTree has escaped it


def _curve(run: Run, saved: ResultRecord) -> Markup:
    if len(run.curve) < 2:
        return Markup()
    return Markup(tostring(covered_over_steps(run.curve, saved.transitions), encoding="unicode"))  # noqa: S704


def _table(graphs: Graphs, arrows: list[Reasoned]) -> Markup | None:
    """The data of the table, with `<` escaped, so that it cannot end its element."""
    if not graphs.known:
        return None
    names = [arrow.arrow for arrow in arrows]
    data: dict[str, Any] = {
        **edge_table(graphs.known, names),
        "words": {str(kind): word for kind, word in WORDS.items()},
        "arrows": list(map(str, names)),
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - JSON in ASCII without any <


def _finding(finding: FindingRecord, *, known: bool) -> Finding:
    picture = ""
    if drawn := diagram(finding):
        picture = base64.b64encode(as_svg(drawn).encode()).decode()
    first = max(len(finding.states) - MOST_STATES, 0)
    states = finding.states[first:]
    fields = dict.fromkeys(field for state in states for field in state)
    changing, constant = [], []
    for field in fields:
        values = [state.get(field, "-") for state in states]
        if len(set(values)) == 1:
            constant.append((field, values[0]))
        else:
            pairs = zip([values[0], *values], values, strict=False)
            changing.append(Row(field, tuple(Cell(now, now != was) for was, now in pairs)))
    steps = tuple(range(first, len(finding.states)))
    return Finding(finding, known, picture, steps, tuple(changing), tuple(constant))


def _guards(saved: ResultRecord) -> list[Guard]:
    """Sorted: the rules that were never applied first, then by name."""
    if saved.rules is None:
        return []
    rules = EVERY_PROFILE[saved.profile].rules if saved.profile in EVERY_PROFILE else {}
    applied, guard_false = set(saved.rules.applied), set(saved.rules.guard_false)
    guards = [
        Guard(
            bounded(name),
            name in applied,
            name in guard_false,
            f"{rules[name].words} [{rules[name].source}]" if name in rules else "",
        )
        for name in dict.fromkeys((*saved.rules.not_applied, *saved.rules.applied))
    ]
    return sorted(guards, key=lambda guard: (guard.applied, guard.guard_false, guard.name))
