"""Run every broker, and write the pages on them.

    python bench/brokers.py run [PORT...] [--sequences N] [--into DIR]
    python bench/brokers.py record [PORT...] [--sequences N]
    python bench/brokers.py confirm [--into DIR]
    python bench/brokers.py check [--into DIR]
    python bench/brokers.py compared [--into DIR]
    python bench/brokers.py minors [--into DIR]
    python bench/brokers.py verify [NAME...]

`run` starts or resumes a long run on each port (all by default); `confirm` replays the sequence of
each finding on Kafka of the same version; `check` fails if Kafka or this project's coordinator has
a finding without a known cause that mostly comes again when its sequence runs alone. From the
results in DIR, `compared` writes docs/brokers-compared.md, and `minors` writes
docs/kafka-versions.md.

`record` records a long run on Kafka in tests/recorded (with `--sequences 300`; 100 for a minor
version), without the tests that show its bugs, and keeps at most 200 of them, in place of all that
there were. After it, `confirmed.py --record --write` adds tests to those of four versions.

`verify` verifies kfake, librdkafka's mock broker, Mokapi and Tansu, at most ten minutes each, and
writes the page of each in docs, such as docs/kfake.md. The part of a page under "Checked in the
source" stays.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from broker_pages import (
    ABOUT,
    ANSWER_MS,
    GRACE_MS,
    TIME_S,
    Column,
    Found,
    MinorRun,
    broker_page,
    compared_page,
    minors_page,
)
from recorded_brokers import RECORDED, record, recording_of
from whole_runs import run_whole

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.numeric_options import PROFILE
from groupcheck.properties.brokers.apache import RELEASES
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.long_runs.long_run import long_run
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.source import UnknownPortError, port_source
from groupcheck.properties.result import Settings
from groupcheck.properties.run import replay, replay_seen
from groupcheck.properties.sequence import Sequence, parse
from groupcheck.properties.tolerances import LONG_RUN, Tolerances
from groupcheck.properties.verify import Verification
from groupcheck.reports.finding_text import text_of
from groupcheck.reports.progress import Bars
from groupcheck.reports.steps import steps_of
from groupcheck.reports.terminal import summary
from groupcheck.reports.verification_record import result_record
from support.session_twice import explains

ROOT: Final = Path(__file__).parents[1]
# The ports, and the titles of their columns.
PORTS: Final[Mapping[str, str]] = {
    "kafka:4.1": "Kafka 4.1",
    "kafka:2.7": "Kafka 2.7",
    "kafka:0.10.2": "Kafka 0.10.2",
    "serve": "groupcheck serve, 2.7",
    "serve:4.1": "groupcheck serve, 4.1",
    "kfake": "kfake",
    "librdkafka-mock": "librdkafka's mock",
}
KAFKA: Final[Mapping[str, str]] = {n: f"kafka:{n}" for n in ("4.1", "2.7", "0.10.2")}
REPEATS: Final = 5  # of the sequence of a finding without a known cause
SET: Final = ("group.initial.rebalance.delay.ms", "group.min.session.timeout.ms")
# Known causes of Kafka's own findings: the port, words in the finding's text, and the cause.
KAFKA_14422: Final = (
    "a bug of Kafka, [KAFKA-14422](https://issues.apache.org/jira/browse/KAFKA-14422), fixed"
    " later: the response to a leader that joins at a version below 5 cannot contain static"
    " members, since `JoinGroupResponse.json` does not mark their group.instance.id as ignorable."
    " The response fails, and the later ones are never sent"
)
NOT_YET_WRITTEN: Final = (
    "Kafka answers a JoinGroup with MEMBER_ID_REQUIRED before the record of the new group is"
    " committed, which takes until its batch is written (`group.coordinator.append.linger.ms`), and"
    " DescribeGroups shows what is committed: in the model that is a held append, a fault that"
    " cannot be injected into a broker"
)
TIMED_OUT_TWICE: Final = (
    "a bug of Kafka, fixed by [KAFKA-7824](https://issues.apache.org/jira/browse/KAFKA-7824) in"
    " 2.2: a session that starts twice in one millisecond has two timers. When the second one"
    " fires, the coordinator does not check whether the member still exists"
    " (`GroupCoordinator.scala:737`), and starts an unneeded rebalance. With a second timer"
    " the model allows the whole observation"
)
KAFKA_15755: Final = (
    "a bug of Kafka, fixed by [KAFKA-15755](https://issues.apache.org/jira/browse/KAFKA-15755) in"
    " 3.5.2: an error of a whole LeaveGroup has no members, and `LeaveGroupResponse.java` expects"
    " exactly one before version 3"
)
PULL_7708: Final = (
    "a bug of Kafka, fixed by [pull request 7708](https://github.com/apache/kafka/pull/7708) in"
    " 2.5: Kafka fails at a pending member id with a group.instance.id, and then at the response,"
    " since `JoinGroupRequest.getErrorResponse` lacks version 6 (`JoinGroupRequest.java:147`)"
)
KAFKA_10284: Final = (
    "a bug of Kafka, fixed by [KAFKA-10284](https://issues.apache.org/jira/browse/KAFKA-10284) in"
    " 2.6.1: a static member rejoins without the protocol of the group. Kafka fails when it"
    " stores the assignments (`MemberMetadata.scala:84`), and then at the response"
)
# The versions with KAFKA-14422, which 3.3.2 fixes; 2.4 ignores the field.
STATIC: Final = tuple(f"kafka:{n}" for n in ("2.5", "2.6", "2.7", "2.8", "3.0", "3.1", "3.2"))
EXPLAINED: Final = (
    (STATIC, ("UNSUPPORTED_VERSION (35)",), KAFKA_14422),
    (STATIC, ("closed the connection before it answered JoinGroup",), KAFKA_14422),
    (STATIC, ("a second response to one request", "as static member"), KAFKA_14422),
    (
        STATIC,
        ("no error, CompletingRebalance, ", "instead of no error, PreparingRebalance, ", "static"),
        KAFKA_14422,
    ),
    (("kafka:4.1",), ("MEMBER_ID_REQUIRED (79)", "Dead, protocol"), NOT_YET_WRITTEN),
    (("kafka:4.1",), ("MEMBER_ID_REQUIRED (79)", "groups: none"), NOT_YET_WRITTEN),
    (("kafka:3.4",), ("LeaveGroup", "UNSUPPORTED_VERSION (35)"), KAFKA_15755),
    (("kafka:2.4",), ("JoinGroup v6", "no answer", "UNKNOWN_SERVER_ERROR (-1)"), PULL_7708),
    (("kafka:2.4",), ("as static member", "CompletingRebalance: no answer"), KAFKA_10284),
)
RESULTS: Final = ROOT / "build" / "brokers"
DOCS: Final = ROOT / "docs"


def run(spec: str, sequences: int, into: Path) -> None:
    """Run a long run on one broker, and save its result."""
    source = port_source(spec, tolerances=LONG_RUN)
    profile = source.profile or PROFILE
    settings = Settings(profile, steps=30, sequences=sequences, max_findings=100)
    try:
        with Bars() as bars:
            schedule = long_run(into / f"{_name(spec)}.run.jsonl")
            verification = Verification(source, settings, bars, schedule=schedule)
            result = verification.run()
    finally:
        source.stop()
    result.covered = verification.covered()
    saved = result_record(result)
    kept: dict[str, Any] = msgspec.to_builtins(saved)
    kept["undecided"] = saved.undecided
    kept["date"] = datetime.now(UTC).date().isoformat()
    kept["rules"] = sorted(result.covered[profile].applied)
    for each, finding in zip(kept["findings"], result.findings, strict=True):
        each["text"] = text_of(finding)
        each["rule"] = _rule(finding)
        each["session_twice"] = profile == "0.10.2" and explains(finding, LONG_RUN)
    _save(into, spec, kept)
    sys.stdout.write(summary(saved, [], ()))


def record_tests(spec: str, sequences: int) -> bool:
    """Record tests of a broker; returns whether every test that differs has a known cause."""
    source = port_source(spec, tolerances=LONG_RUN)
    profile = source.profile or PROFILE
    settings = Settings(profile, steps=30, sequences=sequences, side_by_side=20, max_findings=100)
    causes: Counter[str] = Counter()

    def differs(finding: Finding) -> None:
        twice = profile == "0.10.2" and explains(finding, LONG_RUN)
        cause = _cause(spec, {"session_twice": twice, "text": text_of(finding)})
        causes[cause] += 1
        if not cause:
            sys.stderr.write(text_of(finding))

    path = recording_of(spec)
    tests, steps = record(source, settings, path, differs)
    sys.stdout.write(
        f"{spec}: {tests:,} tests, {steps:,} steps, {path.stat().st_size:,} bytes;"
        f" {causes.total()} tests differ, {causes['']} of unknown cause\n"
    )
    return not causes[""]


def _rule(finding: Finding) -> str:
    """Return the rule that a finding violates: the rule that Kafka applies."""
    if finding.reason:
        return finding.reason
    applied = finding.allowed[0].applied if finding.allowed else ()
    return applied[-1] if applied else ""


def confirm(into: Path) -> bool:
    """Replay each finding on Kafka; returns whether Kafka shares none of them."""
    well = True
    others = [spec for spec in PORTS if spec not in KAFKA.values()]
    for spec, kept in _saved(into, others):
        for each in kept["findings"]:
            each["on_kafka"] = _on_kafka(each)
            well = well and not each["on_kafka"]["shared"]
        _save(into, spec, kept)
    for source in _started.values():
        source.stop()
    return well


_started: dict[str, Any] = {}


def _sequence_of(each: Mapping[str, Any]) -> Sequence:
    trace = "".join(json.dumps(line) + "\n" for line in each["trace"])
    return parse(trace, each["id"])


def _comes_again(spec: str, each: Mapping[str, Any]) -> bool:
    """Whether the sequence of a finding mostly has one again on a new broker, alone.

    Kafka has races. In 2.7 a session may end in the millisecond in which its member's SyncGroup is
    answered: the timer has expired, waits for the group's lock, and then removes the member
    although the answer has restarted its session (`GroupCoordinator.scala:1289`).
    """
    sequence, times = _sequence_of(each), 0
    source = port_source(spec, tolerances=LONG_RUN)
    try:
        for _ in range(REPEATS):
            port = source.connect()
            try:
                again = replay(sequence, port)
                times += again is not None and not _cause(spec, {"text": text_of(again)})
            finally:
                port.shutdown()
    finally:
        source.stop()
    return times > REPEATS / 2


def _on_kafka(each: Mapping[str, Any]) -> dict[str, Any]:
    sequence = _sequence_of(each)
    spec = KAFKA[sequence.profile]
    if sequence.profile != "0.10.2":
        config = Config.of(sequence.broker)._asdict()
        spec += "?" + "&".join(f"{name}={config[name.replace('.', '_')]}" for name in SET)
    if spec not in _started:
        _started[spec] = port_source(spec, tolerances=LONG_RUN)
    source = _started[spec]
    settings = dict(source.broker_settings().values)
    port = source.connect()
    try:
        seen = replay_seen(sequence._replace(broker=settings), port)
    finally:
        port.shutdown()
    shown = {
        "port": spec,
        "shared": seen.finding is not None and _rule(seen.finding) == each["rule"],
        "finding": None if seen.finding is None else seen.finding.finding_id,
        "answers": [answer.text for answer in steps_of(seen.exchanges, seen.names)[-1].answers],
    }
    sys.stderr.write(f"{each['id']}: {shown}\n")
    return shown


def _columns(into: Path) -> Iterator[Column]:
    """The columns of the comparison."""
    for spec, kept in _saved(into, PORTS):
        found = tuple(
            Found(f["id"], f["rule"], f["title"], f["text"], f.get("on_kafka"), _cause(spec, f))
            for f in kept["findings"]
        )
        yield Column(PORTS[spec], spec, kept, EVERY_PROFILE[kept["profile"]].rules, found)


def check(into: Path) -> bool:
    """Return whether every finding of Kafka and of this project's coordinator has a known cause.

    A finding that does not mostly come again does not count: it is a race of Kafka, the machine was
    busy, or it needs other groups besides.
    """
    well = True
    ports = [*(f"kafka:{each.minor}" for each in RELEASES), "serve", "serve:4.1"]
    for spec, kept in _saved(into, ports):
        unknown = [f for f in kept["findings"] if not _cause(spec, f)]
        again = [found for found in unknown if _comes_again(spec, found)]
        for found in unknown:
            once = "" if found in again else " (did not come again)"
            sys.stdout.write(f"{spec}{once}: {found['text']}\n")
        ended = kept["ended_early"]
        sys.stdout.write(
            f"{spec}: {kept['sequences']:,} sequences, {len(kept['findings'])} findings,"
            f" {len(unknown)} of unknown cause, {len(again)} of them came again"
            f"{f'; {ended}' if ended else ''}\n"
        )
        well = well and not again and not ended
    return well


def _runs_of_minors(into: Path) -> Iterator[MinorRun]:
    """The runs on the minor versions of Kafka."""
    releases = {f"kafka:{release.minor}": release for release in RELEASES}
    for spec, kept in _saved(into, releases):
        causes = tuple(_cause(spec, found) for found in kept["findings"])
        yield MinorRun(releases[spec], kept, causes)


def verify(name: str) -> None:
    """Verify a broker that has a page of its own, and write the page."""
    source = port_source(name, tolerances=Tolerances(answer_ms=ANSWER_MS, grace_ms=GRACE_MS))
    try:
        settings = Settings(source.profile or PROFILE, time_s=TIME_S)
        verification = Verification(source, settings)
        result = result_record(run_whole(verification))
    finally:
        source.stop()
    path = DOCS / f"{name}.md"
    before = path.read_text(encoding="utf-8")
    unreachable = sum(each.unreachable() for each in verification.coverages.values())
    path.write_text(broker_page(name, result, unreachable, before), encoding="utf-8")
    sys.stdout.write(f"{name}: {result.covered:,} of {result.transitions:,} covered,")
    sys.stdout.write(f" {len(result.findings)} findings in {result.seconds:.0f} s\n")


def _cause(spec: str, found: Mapping[str, Any]) -> str:
    """Return the known cause of a finding, or an empty string."""
    if found.get("session_twice"):
        return TIMED_OUT_TWICE
    text = found["text"]
    causes = (why for at, words, why in EXPLAINED if spec in at and all(w in text for w in words))
    return next(causes, "")


def _saved(into: Path, specs: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The ports that have a saved result, with it."""
    for spec in specs:
        path = into / f"{_name(spec)}.json"
        if path.exists():
            yield spec, json.loads(path.read_text(encoding="utf-8"))


def _save(into: Path, spec: str, kept: Mapping[str, Any]) -> None:
    text = json.dumps(kept, indent=1) + "\n"
    (into / f"{_name(spec)}.json").write_text(text, encoding="utf-8")


def _name(spec: str) -> str:
    return spec.replace(":", "-")


def main() -> int:
    """Run the command line."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = ["run", "record", "confirm", "check", "compared", "minors", "verify"]
    options.add_argument("command", choices=commands)
    options.add_argument("ports", metavar="PORT", nargs="*")
    options.add_argument("--sequences", type=int, default=10_000)
    options.add_argument("--into", type=Path, default=RESULTS)
    try:
        return do(options.parse_args())
    except (PortUnavailableError, UnknownPortError) as error:
        sys.stderr.write(f"brokers: {error}\n")
        return 2


def do(given: argparse.Namespace) -> int:
    """Run a command; returns the exit status."""
    given.into.mkdir(parents=True, exist_ok=True)
    match given.command:
        case "run":
            for spec in given.ports or PORTS:
                run(spec, given.sequences, given.into)
        case "record":
            known = [record_tests(spec, given.sequences) for spec in given.ports or RECORDED]
            return 0 if all(known) else 1
        case "confirm":
            return 0 if confirm(given.into) else 1
        case "check":
            return 0 if check(given.into) else 1
        case "compared":
            text = compared_page(list(_columns(given.into)))
            (DOCS / "brokers-compared.md").write_text(text, encoding="utf-8")
        case "minors":
            text = minors_page(_runs_of_minors(given.into))
            (DOCS / "kafka-versions.md").write_text(text, encoding="utf-8")
        case "verify":
            for name in given.ports or ABOUT:
                verify(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
