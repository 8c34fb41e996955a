"""The assignors of client libraries: `python bench/assignors.py run|page|speed`.

`run PORT... --cases N --into DIR` verifies libraries and writes a result of each to DIR; with
`--assignor NAME`, only that one, and the rest of the result stays. `page --into DIR` writes
docs/assignors-compared.md from these results. `speed` assigns 100,000 partitions to 1,000 members
with each library and prints the seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kept_results import replaced

from groupcheck.model.assignors.group import Assignment, Group, Member, Topic
from groupcheck.model.assignors.promises import ADVICE, ASSIGNORS, PROMISES, SEVERITIES
from groupcheck.model.assignors.rebalances import followed
from groupcheck.properties.assignors.port import AssignorFailedError, AssignorPort
from groupcheck.properties.assignors.source import assignor_source
from groupcheck.properties.assignors.verify import Settings, verify
from groupcheck.reports.assignors import AssignorsRun, run_json, source_of

PORTS: Final = (
    "kafka-clients:4.1",
    "kafka-clients:2.7",
    "librdkafka",
    "franz-go",
    "kafka-python",
    "aiokafka",
    "builtin",
)
PAGE: Final = Path(__file__).parents[1] / "docs" / "assignors-compared.md"

HEAD: Final = """\
# Assignors compared

[`groupcheck assignors verify`](assignors.md) has given random groups to the assignors of client
libraries and compared the assignments with what Kafka promises to users. A group may have members
with different subscriptions, members that subscribe to nothing, static members, racks, and owners
of partitions from earlier generations, also of partitions that no longer exist.

`python bench/assignors.py run --cases 100000` verifies all of them, and `python bench/assignors.py
page` writes this page. `groupcheck assignors verify kafka-clients:4.1 --cases 3000` finds most
of it for one. An assignor that has not answered in time five times is not asked again, so its
findings are of fewer groups.
"""
PROMISES_HEAD: Final = """
## The promises

A promise is checked only on assignments that keep those before it. *Advice* is no promise, and does
not count in the verdict.

| promise | severity | what Kafka promises | source |
| --- | --- | --- | --- |
"""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _run(port_names: list[str], only: list[str], cases: int, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for spec in port_names:
        source = assignor_source(spec)
        port = source.make(_say)
        info = port.open()
        settings = Settings(source.version, cases)
        verified = [
            verify(port, name, settings) for name in info.assignors if name in only or not only
        ]
        port.shutdown()
        result = run_json(AssignorsRun(spec, info, source.version, settings.seed, verified))
        file = into / f"{spec.replace(':', '-')}.json"
        if only and file.exists():
            result = replaced(json.loads(file.read_text("utf-8")), result, "assignors", "assignor")
            result["findings"].sort(key=lambda each: SEVERITIES.index(each["severity"]))
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        _say(f"{spec}: {result['verdict']}")


def page(results: Mapping[str, Any]) -> str:
    """The page of the results of libraries, by PORT argument."""
    return "\n".join([HEAD, *_table(results)]) + "\n" + promises() + "".join(_details(results))


def _table(results: Mapping[str, Any]) -> Iterator[str]:
    titles = (f"`{spec}` {each['version']}" for spec, each in results.items())
    yield f"| | {' | '.join(titles)} |"
    yield f"| --- |{' --- |' * len(results)}"
    for name in ASSIGNORS:
        yield f"| {name} | {' | '.join(_cell(name, each) for each in results.values())} |"
    groups = (max(a["groups"] for a in each["assignors"]) for each in results.values())
    yield f"| groups for each assignor | {' | '.join(f'{count:,}' for count in groups)} |"


def _cell(assignor: str, result: Any) -> str:
    """The promises that an assignor breaks, the worst first."""
    if assignor not in {each["name"] for each in result["assignors"]}:
        return "not there"
    found = [
        each["promise"]
        for each in result["findings"]
        if each["assignor"] == assignor and each["severity"] != ADVICE
    ]
    return ", ".join(dict.fromkeys(found)) or "keeps all"


def promises() -> str:
    """The list of promises."""
    rows = []
    for promise in PROMISES:
        versions = [version for version in promise.sources if " " not in version]
        links = (f"[{v}]({source_of(promise, v, promise.assignors[0])})" for v in versions)
        rows.append(
            f"| `{promise.id}` | {promise.severity} | {promise.words} | {', '.join(links)} |\n"
        )
    return PROMISES_HEAD + "".join(rows)


def _details(results: Mapping[str, Any]) -> Iterator[str]:
    for spec, result in results.items():
        if result["findings"]:
            yield f"\n## {result['name']} {result['version']}\n\n"
            yield f"`groupcheck assignors verify {spec}`\n"
        tried = {each["name"]: each["groups"] for each in result["assignors"]}
        for each in result["findings"]:
            does = "could be better:" if each["severity"] == ADVICE else "breaks"
            yield f"\n### `{each['id']}`: {each['assignor']} {does} {each['promise']}\n\n"
            cause = f": {each['cause']}" if each["cause"] else ""
            yield f"In {each['groups']:,} of {tried[each['assignor']]:,} groups{cause}.\n"
            yield _block([*each["text"], each["detail"]])
            for other in each["others"]:
                yield "\nAnother one:\n" + _block(other)


def _block(lines: list[str]) -> str:
    return "\n```text\n" + "\n".join(lines) + "\n```\n"


def _large(*, different: bool = False, racks: bool = False) -> Group:
    """1,000 members and 100 topics of 1,000 partitions; each subscribes to half if different.

    With racks, there are three, and each partition has a replica in one of them.
    """
    in_racks = [frozenset({f"r{n % 3}"} if racks else ()) for n in range(1_000)]
    topics = tuple(Topic(f"t{n:02}", tuple(in_racks)) for n in range(100))
    names = [topic.name for topic in topics]
    members = tuple(
        Member(
            f"m{n:03}",
            tuple(names[n % 2 :: 2] if different and n % 10 else names),
            rack=f"r{n % 3}" if racks else None,
        )
        for n in range(1_000)
    )
    return Group(topics, members)


# The columns of the table of speeds.
GROUPS: Final = {
    "same subscriptions": {},
    "different": {"different": True},
    "same, in racks": {"racks": True},
    "different, in racks": {"different": True, "racks": True},
}


def _timed(port: AssignorPort, assignor: str, group: Group) -> str:
    """Seconds for half of the members, for all of them, and after 10 have left."""
    cells: list[str] = []
    assigned: Assignment = {}
    for members in (group.members[:500], group.members, group.members[10:]):
        start_group = followed(group._replace(members=members), assigned)
        start = time.perf_counter()
        try:
            assigned = port.assign(assignor, start_group)
        except AssignorFailedError as error:
            return " / ".join([*cells, f"{error}"[:40]])
        cells.append(f"{time.perf_counter() - start:.1f}")
    return " / ".join(cells)


def _speed(port_names: list[str], limit_s: float) -> None:
    _say("seconds for half of the members, for all of them, and after 10 have left")
    _say(f"| | {' | '.join(GROUPS)} |\n| --- |{' --- |' * len(GROUPS)}")
    for spec in port_names:
        port = assignor_source(spec).make(lambda _: None)
        if hasattr(port, "_limit_s"):
            port._limit_s = limit_s
        for name in port.open().assignors:
            cells = (_timed(port, name, _large(**each)) for each in GROUPS.values())
            _say(f"| {spec} {name} | {' | '.join(cells)} |")
        port.shutdown()


def main() -> int:
    """Run a part; the status is 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("part", choices=("run", "page", "speed"))
    parser.add_argument("ports", nargs="*", metavar="PORT")
    parser.add_argument("--assignor", action="append", default=[], metavar="NAME")
    parser.add_argument("--cases", type=int, default=1_000, metavar="N")
    parser.add_argument("--into", type=Path, default=Path("assignors"), metavar="DIR")
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS")
    options = parser.parse_args()
    if options.part == "run":
        _run(options.ports or list(PORTS), options.assignor, options.cases, options.into)
    elif options.part == "speed":
        _speed(options.ports or list(PORTS), options.limit)
    else:
        read = ((spec, options.into / f"{spec.replace(':', '-')}.json") for spec in PORTS)
        results = {
            spec: json.loads(file.read_text("utf-8")) for spec, file in read if file.exists()
        }
        PAGE.write_text(page(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
