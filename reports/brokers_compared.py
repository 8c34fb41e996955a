"""The page that compares brokers: what each was seen to do of the rules, and where it departs.

What was run and saved is handed over; nothing is run here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from groupcheck.model.step import Rule
from groupcheck.reports.words import counted

SEQUENCES: Final = "brokers-compared-sequences.md"
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

What real coordinators were seen to do, each judged by the profile that is named: for a person who
chooses a test double, or writes a port. `python bench/brokers_compared.py` ran them
([long runs](long-runs.md)) and wrote this page from what they answered.

"""

LEGEND: Final = f"""
A rule is **yes** where the broker was seen to apply it and nothing was found against it, and `-`
where its version of Kafka has no such rule; a blank is a rule that was not seen to be applied for
sure, or cannot be asked for over the wire. Each number is a finding: it leads to
[the shortest sequence]({SEQUENCES}) whose answer is not Kafka's.

"""

BESIDE: Final = """\
# Brokers compared: the sequences

The findings of [the comparison](brokers-compared.md), each as its shortest sequence of requests.
Those of other coordinators than Kafka were done again on Kafka of the version that they were judged
by; what it answered to the last step stands beside.
"""


class Found(NamedTuple):
    """A finding: the rule it is against, its story, and what Kafka did with its sequence."""

    finding_id: str
    rule: str
    title: str
    story: str
    on_kafka: Mapping[str, Any] | None = None
    cause: str = ""


class Column(NamedTuple):
    """A broker: what the column is called, its result as saved, and the rules it is judged by.

    What Kafka was seen to do as well is not among what it was `found` to do.
    """

    title: str
    port: str
    kept: Mapping[str, Any]
    rules: Mapping[str, Rule]
    all_found: tuple[Found, ...] = ()

    @property
    def found(self) -> tuple[Found, ...]:
        """The findings that Kafka does not share."""
        return tuple(f for f in self.all_found if not (f.on_kafka and f.on_kafka["shared"]))


def page(columns: Sequence[Column]) -> str:
    """The comparison, as Markdown."""
    parts = [HEAD, _runs(columns), LEGEND, *_tables(columns)]
    return "".join(parts)


def sequences_page(columns: Sequence[Column]) -> str:
    """The findings of all brokers, as Markdown."""
    parts = [BESIDE]
    for column in columns:
        if column.found:
            parts.append(
                f"\n## {column.title}\n\n`{column.port}`, judged as {column.kept['kafka']}.\n"
            )
        parts += [_sequence(found) for found in column.all_found]
    return "".join(parts)


def _sequence(found: Found) -> str:
    told = f"\n### {found.finding_id}\n\n```\n{found.story.rstrip()}\n```\n"
    if found.cause:
        told += f"\nThe cause is known: {found.cause}.\n"
    if found.on_kafka is None:
        return told
    answers = "; ".join(found.on_kafka["answers"]) or "nothing"
    if found.on_kafka["shared"]:
        return f"{told}\n**Kafka does the same** (`{found.on_kafka['port']}`).\n"
    return f"{told}\n`{found.on_kafka['port']}` to the last step it was asked: {_plain(answers)}.\n"


def _runs(columns: Sequence[Column]) -> str:
    rows: dict[str, list[str]] = {}
    for column in columns:
        kept = column.kept
        edges = sum(space["edges"] for space in kept["spaces"])
        shown = sum(space["edges_shown"] for space in kept["spaces"])
        cells = {
            "port": f"`{column.port}`",
            "judged as": kept["kafka"],
            "on": kept["date"],
            "sequences": f"{kept['sequences']:,}",
            "steps": f"{kept['steps']:,}",
            "labelled edges shown": f"{shown:,} of {edges:,}",
            "undecided": f"{kept['undecided']:,}",
            "not reproduced": f"{kept['not_reproduced']:,}",
            "time": f"{kept['seconds'] / 60:.0f} min",
            "findings": str(len(column.found)),
            "others, that Kafka shares": _own(column),
            "of them explained": _explained(column),
        }
        for name, cell in cells.items():
            rows.setdefault(name, []).append(cell)
    return _table(["", *(column.title for column in columns)], ([k, *v] for k, v in rows.items()))


def _own(column: Column) -> str:
    """How many findings Kafka shares, if that was looked at."""
    looked_at = [found.on_kafka for found in column.all_found if found.on_kafka is not None]
    return str(sum(each["shared"] for each in looked_at)) if looked_at else ""


def _explained(column: Column) -> str:
    causes = [found.cause for found in column.found if found.cause]
    return f"{len(causes)}, by {counted(len(set(causes)), 'cause')}" if causes else ""


def _tables(columns: Sequence[Column]) -> Iterable[str]:
    """A table for each API, a row for each rule that any broker was seen to apply or break."""
    seen = {rule for column in columns for rule in column.kept["rules"]}
    seen |= {found.rule for column in columns for found in column.found}
    says: dict[str, str] = {}
    for column in columns:
        for name, rule in column.rules.items():
            says.setdefault(name, rule.says)
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
    return f"[{found.finding_id}]({SEQUENCES}#{found.finding_id})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _plain(text: str) -> str:
    """Text as it can stand in a cell."""
    return text.replace("|", "\\|").replace("\n", " ")
