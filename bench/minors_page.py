"""Renders the page on the minor versions of Kafka, from saved results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from groupcheck.model.profiles.minors import CHANGES
from groupcheck.model.sources import link
from groupcheck.properties.brokers.apache import Release
from groupcheck.reports.formatting import counted, percent

HEAD: Final = """\
# Minor versions of Kafka

Every minor version of Apache Kafka from 2.4 on can be started by name, and is checked against the
profile that describes it. `groupcheck verify kafka:3.9` does both.

`python bench/brokers_compared.py run kafka:3.9 --sequences 1200` runs one of them, and
`python bench/brokers_compared.py minors` writes this page from the results. A difference is
unexplained if the profile does not allow it and no known bug of Kafka causes it. `covered` is the
share of the model's transitions that the run has shown: administration of groups comes first, then
transactions and static members, and random walks go through all of them.

"""
COLUMNS: Final = (
    *("version", "release", "started with", "profile"),
    *("on", "sequences", "steps", "covered", "findings", "unexplained"),
)
PROFILES: Final = """
## The profiles

0.10.0, 0.10.2, 2.7 and 4.1 are checked against TLC, and this project's coordinator implements 2.7
and 4.1. The others are edits of 2.7, read in Kafka's source and confirmed on the brokers above.
They are for live brokers and for `groupcheck replay`; `groupcheck rules --diff 2.7 3.9` prints what
differs. `explore` and `verify builtin` do not know them. They have the API versions of 2.7, from
3.2 on also JoinGroup 8 and 9 and LeaveGroup 5. Newer versions of other APIs are not sent.

Not in these profiles, as the runs above do not show it: which offsets expire (KAFKA-13636), groups
larger than `group.max.size` before 2.6 (KAFKA-9885), appends that fail, and what 2.4 and 2.5 do
after a static member has come back without the protocol of its group (KAFKA-10284: Kafka fails).

"""


class MinorRun(NamedTuple):
    """A run on a release: its saved result, and for each finding the known cause, if any."""

    release: Release
    kept: Mapping[str, Any]
    causes: tuple[str, ...]


def minors_page(runs: Iterable[MinorRun]) -> str:
    """The page, as Markdown."""
    runs = list(runs)
    lines = [f"| {' | '.join(each)} |" for each in (COLUMNS, ("---",) * len(COLUMNS))]
    lines += map(_row, runs)
    known = dict.fromkeys(cause for run in runs for cause in run.causes if cause)
    if known:
        lines += [
            "",
            "Known causes of findings:",
            "",
            *(f"- {_versions(c, runs)}: {c}." for c in known),
        ]
    changes = [
        "| profile | differs from 2.7 | Kafka | source |",
        "| --- | --- | --- | --- |",
        *(
            f"| {', '.join(each.profiles)} | {each.words} | {each.issue} "
            f"| [{each.source}]({link('2.7', each.source)}) |"
            for each in CHANGES
        ),
    ]
    return HEAD + "\n".join(lines) + "\n" + PROFILES + "\n".join(changes) + "\n"


def _row(run: MinorRun) -> str:
    release, kept = run.release, run.kept
    unexplained = sum(not cause for cause in run.causes)
    counts = [each["transitions"] for each in kept["instances"]]
    covered, total = (sum(each[name] for each in counts) for name in ("covered", "total"))
    cells = (
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
    return f"| {' | '.join(cells)} |"


def _versions(cause: str, runs: Iterable[MinorRun]) -> str:
    """The versions in whose runs a cause explains findings."""
    found = {run.release.minor: run.causes.count(cause) for run in runs if cause in run.causes}
    return ", ".join(f"{minor} ({counted(n, 'finding')})" for minor, n in found.items())
