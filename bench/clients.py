"""The consumers of client libraries: `python bench/clients.py run|page|malformed`.

`run PORT... --into DIR` verifies libraries and writes a result of each to DIR. `page --into DIR`
writes docs/clients-compared.md from these results. `malformed` gives consumers bad assignments and
subscriptions, and writes docs/clients-malformed.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kept_results import replaced

from groupcheck.model.member.sources import link
from groupcheck.model.member.specification import PARTS, VERSIONS, instances
from groupcheck.properties.clients.malformed import Outcome, outcomes
from groupcheck.properties.clients.port import ClientInfo, ClientPort
from groupcheck.properties.clients.process import ProcessPort
from groupcheck.properties.clients.source import ClientSource, client_source
from groupcheck.properties.clients.verify import Limits, verify
from groupcheck.reports.clients import ClientRun, run_json

PORTS: Final = (
    "kafka-clients:4.1",
    "kafka-clients:3.9",
    "kafka-clients:2.7",
    "librdkafka",
    "kafka-python",
    "aiokafka",
    "builtin",
)
PAGE: Final = Path(__file__).parents[1] / "docs" / "clients-compared.md"

MALFORMED_PAGE: Final = PAGE.with_name("clients-malformed.md")

MALFORMED: Final = """\
# Bad bytes for clients

What consumers do with an assignment, or as the leader with the subscription of another member,
that is cut off, of a version to come, or has a topic that does not exist; and with null user data,
which is right. `python bench/clients.py malformed` writes this page.

An assignment of a later version has further fields behind the known ones, so a consumer can read
it. Afterwards the group rebalances again: a consumer that does not join then has to be closed.

"""

HEAD: Final = """\
# Clients compared

[`groupcheck clients verify`](clients.md) has led consumers of client libraries through the
transitions of a specification of Kafka's Java consumer. kafka-clients 2.7 is compared with the
rules of 2.7, every other client with those of 4.1. A difference is not always an error of the
client: a library may handle an error in another way that is right, too. A client was not led
through an instance for which it has no row.

`python bench/clients.py run` verifies all of them, and `python bench/clients.py page` writes this
page. `groupcheck clients verify librdkafka` finds the same for one.

| client | instance | transitions tried | as Kafka's | differ |
| --- | --- | --- | --- | --- |
"""
RULES: Final = """
## Rule by rule

Each rule of the specification, and in how many of the transitions that were tried a client differs
from it. **=** means in none, and **-** that the rule was not tried. Several rules apply in a
transition, so a difference counts for each of them.

"""
FINDINGS: Final = """
## The differences

Each difference has the shortest sequence found that shows it. It was seen at least three times:
when it was found, when it was tried again, and when this sequence was tried. Differences that the
last one did not show are left out; they count in the tables above.
"""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _opened(ports: list[str]) -> Iterator[tuple[ClientSource, ClientPort, ClientInfo]]:
    """The clients that this machine can run, one after the other."""
    for spec in ports:
        source = client_source(spec)
        if missing := source.missing():
            _say(f"{spec}: not run: {missing}")
            continue
        port = source.make(_say)
        try:
            yield source, port, port.open()
        finally:
            port.shutdown()


def run(ports: list[str], into: Path, time_s: int, names: list[str]) -> None:
    """Verify clients in some instances, or in all, and write the result of each to a file.

    Of some instances, the results of the others stay.
    """
    into.mkdir(parents=True, exist_ok=True)
    for source, port, info in _opened(ports):
        limits = Limits(16, info.patience_s, time_s)
        verified = [
            verify(port, name, instance, limits)
            for name, instance in instances(source.version).items()
            if name in (names or [name])
        ]
        result = run_json(ClientRun(source.spec, info, source.version, verified))
        _say(f"{source.spec}: {result['verdict']}")
        file = into / f"{source.spec}.json"
        if names and file.exists():
            before = json.loads(file.read_text(encoding="utf-8"))
            result = replaced(before, result, "instances", "instance")
        file.write_text(json.dumps(result, indent=1), encoding="utf-8")


def malformed(ports: list[str]) -> str:
    """What consumers do with bad bytes, in Markdown."""
    names: list[str] = []
    rows: dict[tuple[str, str], list[Outcome]] = {}
    for _, port, info in _opened(ports):
        if isinstance(port, ProcessPort):
            names.append(f"{info.name} {info.version}")
            for each in outcomes(port, info.patience_s):
                rows.setdefault((each.what, each.case), []).append(each)
    head = [f"| bytes | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    table = [
        f"| {what}: {case} | {' | '.join(each.words for each in row)} |"
        for (what, case), row in rows.items()
    ]
    wrong = [
        f"- {name}, {each.what} with {each.case}: {each.wrong}."
        for row in rows.values()
        for name, each in zip(names, row, strict=True)
        if each.wrong
    ]
    found = ["", "What no consumer should do:", "", *wrong] if wrong else []
    return MALFORMED + "\n".join([*head, *table, *found, ""])


def page(results: Mapping[str, Any]) -> str:
    """The comparison in Markdown."""
    lines = [HEAD.rstrip("\n")]
    for result in results.values():
        name = f"{result['name']} {result['version']}"
        lines += (f"| {name} | {each['name']} | {_counts(each)} |" for each in result["instances"])
    lines += [RULES.rstrip("\n"), "", *_rules(results), FINDINGS.rstrip("\n")]
    for result in results.values():
        found = [finding for finding in result["findings"] if finding["confirmed"]]
        if found:
            lines += ["", f"### {result['name']} {result['version']}"]
            lines += (line for finding in found for line in _finding(result, finding))
    return "\n".join([*lines, ""])


def _counts(each: Mapping[str, Any]) -> str:
    if each["unsupported"]:
        return "none: it has no such assignor | |"
    tried = each["transitions"] - each["untried"]
    return f"{tried:,} of {each['transitions']:,} | {each['same']:,} | {each['differing']:,}"


def _rules(results: Mapping[str, Any]) -> Iterator[str]:
    names = [f"{result['name']} {result['version']}" for result in results.values()]
    yield f"| rule | {' | '.join(names)} |"
    yield f"| --- |{' --- |' * len(names)}"
    sums = [_sums(result) for result in results.values()]
    for part in PARTS:
        for rule in part.rules:
            version = max(rule.sources)
            source = link(version, rule.sources[version])
            cells = [_cell(same[rule.id], differing[rule.id]) for same, differing in sums]
            yield f"| [`{rule.id}`]({source}) | {' | '.join(cells)} |"


def _sums(result: Mapping[str, Any]) -> tuple[Counter[str], Counter[str]]:
    same: Counter[str] = Counter()
    differing: Counter[str] = Counter()
    for each in result["instances"]:
        for rule, counts in each["rules"].items():
            same[rule] += counts["same"]
            differing[rule] += counts["differing"]
    return same, differing


def _cell(same: int, differing: int) -> str:
    if not same and not differing:
        return "-"
    return f"{differing} of {same + differing}" if differing else "="


def _finding(result: Mapping[str, Any], finding: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"**{finding['words']}** ({finding['id']}, {finding['instance']})."
    yield ""
    yield from (f"{number}. {given}" for number, given in enumerate(finding["inputs"], 1))
    yield ""
    yield f"- Kafka's {result['profile']}: {_events(finding['expected'])}"
    yield f"- {result['name']}: {_events(finding['seen'])}"
    for name in finding["applied"]:
        rule = VERSIONS[result["profile"]].rules[name]
        yield f"- [`{name}`]({link(result['profile'], rule.source)}): {rule.words}"


def _events(events: list[str]) -> str:
    return "; then ".join(events) or "nothing"


def main() -> None:
    """Run a subcommand."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    each = commands.add_parser("run", help="verify clients")
    each.add_argument("ports", nargs="*", default=list(PORTS), metavar="PORT")
    each.add_argument("--instance", action="append", default=[], metavar="NAME")
    each.add_argument("--time", type=int, default=600, metavar="SECONDS")
    commands.add_parser("page", help="write the page")
    both = [each, commands.choices["page"]]
    bad = commands.add_parser("malformed", help="give clients bad bytes, and write the page")
    bad.add_argument("ports", nargs="*", default=list(PORTS), metavar="PORT")
    for command in both:
        command.add_argument("--into", type=Path, default=Path("clients"), metavar="DIR")
    options = parser.parse_args()
    if options.command == "run":
        run(options.ports, options.into, options.time, options.instance)
    elif options.command == "malformed":
        MALFORMED_PAGE.write_text(malformed(options.ports), encoding="utf-8")
    else:
        files = {spec: options.into / f"{spec}.json" for spec in PORTS}
        results = {
            spec: json.loads(file.read_text(encoding="utf-8"))
            for spec, file in files.items()
            if file.exists()
        }
        PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
