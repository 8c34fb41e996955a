"""Renders the page that compares brokers, from saved results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from groupcheck.model.engine.rules import VersionRule
from groupcheck.reports.formatting import counted

APIS: Final[Mapping[str, str]] = {
    "join": "JoinGroup",
    "sync": "SyncGroup",
    "heartbeat": "Heartbeat",
    "leave": "LeaveGroup",
    "commit": "OffsetCommit",
    "txn-commit": "TxnOffsetCommit",
    "end-txn": "EndTxn: the markers of transactions",
    "fetch": "OffsetFetch",
    "describe": "DescribeGroups",
    "list": "ListGroups",
    "delete": "DeleteGroups",
    "offset-delete": "OffsetDelete",
    "rebalance": "Rebalances",
    "time": "Timers",
    "log": "What is stored",
}

HEAD: Final = """\
# Brokers compared

How real coordinators behave, each checked against the profile that the table names. The page is for
readers who choose a test double or write a port. `python bench/brokers_compared.py` runs the
brokers ([long runs](long-runs.md)) and writes this page.

"""

LEGEND: Final = """
**yes**: the broker applied the rule, and no finding is against it. `-`: its version of Kafka has no
such rule. Blank: the rule was not observed with certainty, or cannot be tested over the wire. A
number is a finding, with a link to its shortest sequence below.

"""

FINDINGS: Final = """
## Findings

Each finding with its shortest sequence, without metadata and timeouts, and the difference at its
last step. The sequences of coordinators other than Kafka were replayed on Kafka of the same
version, which answered as expected each time{but}. `groupcheck replay` shows all the details of a
sequence that a run has saved.
"""
# What a line leaves out of a step: the metadata of a JoinGroup, and its timeouts.
DETAILS: Final = re.compile(r" \(session timeout [^)]*\)|,? offering (?!no protocol).*$")


class Found(NamedTuple):
    """A finding: the rule it is against, its text, and what Kafka answers to its sequence."""

    finding_id: str
    rule: str
    title: str
    story: str
    on_kafka: Mapping[str, Any] | None = None
    cause: str = ""


class Column(NamedTuple):
    """A broker: the title of its column, its saved result, and the rules of its profile."""

    title: str
    port: str
    kept: Mapping[str, Any]
    rules: Mapping[str, VersionRule]
    all_found: tuple[Found, ...] = ()

    @property
    def found(self) -> tuple[Found, ...]:
        """The findings that Kafka does not share."""
        return tuple(f for f in self.all_found if not (f.on_kafka and f.on_kafka["shared"]))


def page(columns: Sequence[Column]) -> str:
    """The comparison, as Markdown."""
    parts = [HEAD, _runs(columns), LEGEND, *_tables(columns), *_findings(columns)]
    return "".join(parts)


def _findings(columns: Sequence[Column]) -> Iterable[str]:
    """A table of the findings of each broker, with their known causes."""
    shared = sum(len(column.all_found) - len(column.found) for column in columns)
    yield FINDINGS.format(but=f", except for {counted(shared, 'finding')}" if shared else "")
    for column in columns:
        if not column.found:
            continue
        yield f"\n### {column.title}: findings\n\n"
        yield f"`{column.port}`, checked against {column.kept['kafka']}.\n\n"
        rows = (
            (f'<a id="{f.finding_id}"></a>{f.finding_id}', _steps(f.story), _plain(f.title))
            for f in column.found
        )
        yield _table(["finding", "shortest sequence", "difference"], rows)
        causes: dict[str, list[str]] = {}
        for found in column.found:
            if found.cause:
                causes.setdefault(found.cause, []).append(found.finding_id)
        for cause, ids in causes.items():
            yield f"\nKnown cause of {', '.join(ids)}: {cause}.\n"


def _steps(story: str) -> str:
    """The numbered steps of a finding's text, each without its details."""
    steps = re.findall(r"^ +(\d+)\. (.*)$", story, re.MULTILINE)
    lines = (f"{number}. {DETAILS.sub('', step)}" for number, step in steps)
    return "<br>".join(_plain(line.replace(" sends ", ": ", 1)) for line in lines)


def _runs(columns: Sequence[Column]) -> str:
    rows: dict[str, list[str]] = {}
    for column in columns:
        kept = column.kept
        total, covered = (
            sum(each["transitions"][name] for each in kept["instances"])
            for name in ("total", "covered")
        )
        cells = {
            "port": f"`{column.port}`",
            "checked against": kept["kafka"],
            "on": kept["date"],
            "sequences": f"{kept['sequences']:,}",
            "steps": f"{kept['steps']:,}",
            "transitions covered": f"{covered:,} of {total:,}",
            "undecided": f"{kept['undecided']:,}",
            "not reproduced": f"{kept['findings_not_reproduced']:,}",
            "time": f"{kept['seconds'] / 60:.0f} min",
            "findings": str(len(column.found)),
            "more findings that Kafka shares": _own(column),
            "findings with a known cause": _explained(column),
        }
        for name, cell in cells.items():
            rows.setdefault(name, []).append(cell)
    return _table(["", *(column.title for column in columns)], ([k, *v] for k, v in rows.items()))


def _own(column: Column) -> str:
    """The number of findings that Kafka shares, if they were replayed on it."""
    looked_at = [found.on_kafka for found in column.all_found if found.on_kafka is not None]
    return str(sum(each["shared"] for each in looked_at)) if looked_at else ""


def _explained(column: Column) -> str:
    causes = [found.cause for found in column.found if found.cause]
    return f"{len(causes)}, by {counted(len(set(causes)), 'cause')}" if causes else ""


def _tables(columns: Sequence[Column]) -> Iterable[str]:
    """A table for each API, with a row for each rule that a broker applied or violated."""
    seen = {rule for column in columns for rule in column.kept["rules"]}
    seen |= {found.rule for column in columns for found in column.found}
    says: dict[str, str] = {}
    for column in columns:
        for name, rule in column.rules.items():
            says.setdefault(name, rule.words)
    for kind, title in APIS.items():
        names = [n for n in says if n.split("/")[0] == kind and n in seen]
        if names:
            rows = ([_plain(says[n]), *(_cell(column, n) for column in columns)] for n in names)
            yield f"\n## {title}\n\n" + _table(["rule", *(c.title for c in columns)], rows)
    other = [f for c in columns for f in c.found if f.rule not in says]
    if other:
        yield f"\n## No rule of the model\n\n{counted(len(other), 'finding')}: "
        yield ", ".join(map(_link, other)) + "\n"


def _cell(column: Column, rule: str) -> str:
    found = [f for f in column.found if f.rule == rule]
    if found:
        return ", ".join(map(_link, found))
    if rule not in column.rules:
        return "-"
    return "yes" if rule in column.kept["rules"] else ""


def _link(found: Found) -> str:
    return f"[{found.finding_id}](#{found.finding_id})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _plain(text: str) -> str:
    """Text for a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")
