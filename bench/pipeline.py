"""Speed and memory of the pipeline: `python bench/pipeline.py`.

Recordings: `ingest` and `check` on Spark, and a check in one process without Spark. The model
generates groups as in production. Some have a response that is not allowed, and each run has to
find exactly these. `--huge N` adds one group of N events. `--copies N` also checks a table that has
each group N times, under other names.

`--logs` and `--offsets-topic` measure one core without Spark: logs of brokers, and segments of the
offsets topic, which the model generates, and all of which must be accepted. `--instances` prints
for each model instance how many steps of a log it has that the automaton does not have.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import pyarrow.compute as pc
import pyarrow.parquet as pq
from processes import Took, measured

from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.pipeline.history_replay import HistoryReplay
from groupcheck.pipeline.kernels import begun
from groupcheck.pipeline.logs.automaton import INSTANCES, MEMBERS, automaton, steps_of
from groupcheck.pipeline.logs.files import LogReader, LogSource
from groupcheck.pipeline.offsets_topic.appends import subsets
from groupcheck.properties.histories.lines import Line
from support.made_logs import BEGAN_MS, Printed, line, printed_on_a_walk
from support.made_recordings import Made, Wanted, recordings
from support.made_segments import check_source, partition, write

HERE = Path(__file__)
NAMED = r'"(group-\d+|a-huge-group)"'  # a group in the body of a request or response
KINDS = 5  # different histories; several groups have the same one
OTHER = "[2026-11-22 03:08:05,254] INFO [Log partition=t-0] Rolled new log segment. (kafka.log.Log)"


def plain(directory: Path) -> dict[str, tuple[str, int]]:
    """Check a table of events in this process, without Spark: the violations by group."""
    from groupcheck.pipeline.inputs import stored  # noqa: PLC0415 - in a process of its own
    from groupcheck.pipeline.kernels import event_batches, replay  # noqa: PLC0415

    return {
        row["group_id"]: (row["source"].removeprefix("file://"), row["line"])
        for file in stored(str(directory))
        for batch in replay(event_batches(file))
        for row in batch.column("finding").drop_null().to_pylist()
    }


def _line(what: str, events: int, took: Took, note: str = "") -> None:
    seconds, mb, processor_s = took
    figures = f"{seconds:8.1f} s {events / seconds:10,.0f} events/s {mb:7,} MB"
    sys.stdout.write(f"{what:<24} {figures} {processor_s:8.1f} s of CPU  {note}\n")
    sys.stdout.flush()


def _groupcheck(cores: int, conf: list[str], *command: str) -> tuple[str, Took]:
    common = ["--master", f"local[{cores}]", "--json", "--overwrite", *conf]
    output, _, took = measured([sys.executable, "-m", "groupcheck", *command, *common])
    return output, took


def _verdict(report: Path, made: Made, output: str) -> str:
    """Assert that exactly the violations were found, each at its line."""
    rows = pq.read_table(report / "findings", columns=["group_id", "source", "line"]).to_pylist()
    found = {r["group_id"]: (r["source"].removeprefix("file://"), r["line"]) for r in rows}
    assert json.loads(output)["check"]["undecided"] == 0
    return _same(found, made)


def _same(found: dict[str, tuple[str, int]], made: Made) -> str:
    assert found == made.violations, f"{len(found)} found, {len(made.violations)} made"
    return f"all {len(found)} violations found, no other"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=1_000, help="of each group")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--violations", type=int, default=50)
    parser.add_argument("--huge", type=int, default=0, help="events of one more group")
    parser.add_argument("--copies", type=int, default=0, help="of each group, in one more table")
    parser.add_argument("--cores", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark's")
    parser.add_argument("--no-plain", action="store_true", help="without the check in one process")
    parser.add_argument("--scratch", type=Path, help="the folder for temporary files")
    parser.add_argument("--logs", action="store_true", help="logs of brokers, on one core")
    parser.add_argument("--offsets-topic", action="store_true", help="segments, on one core")
    parser.add_argument(
        "--instances", action="store_true", help="steps that the automaton does not have"
    )
    parser.add_argument("--profile", default="2.7", choices=("0.10.2", "2.7", "4.1"))
    parser.add_argument("--plain", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.logs:
        logs(options.profile, log_lines(options.profile, options.groups, options.events, 1))
        return
    if options.offsets_topic:
        offsets_topic(options.profile, options.groups * options.events)
        return
    if options.instances:
        not_covered(options.profile)
        return
    if options.plain:
        sys.stdout.write(json.dumps(plain(options.plain)))
        return
    wanted = Wanted(
        options.groups,
        options.events,
        options.files,
        options.violations,
        kinds=20,
        huge=options.huge,
    )
    conf = [part for each in options.conf for part in ("--conf", each)]
    with tempfile.TemporaryDirectory(prefix="pipeline-", dir=options.scratch) as scratch:
        measure(Path(scratch), wanted, options.cores, conf, options)


def measure(
    scratch: Path, wanted: Wanted, cores: list[int], conf: list[str], options: argparse.Namespace
) -> None:
    """Make the recordings, and measure each command on them."""
    sources, table, report = (scratch / name for name in ("sources", "table", "report"))
    began = time.monotonic()
    sources.mkdir()
    made = recordings(sources, wanted)
    _line("made", made.events, Took(time.monotonic() - began), f"{made.groups:,} groups")
    for number in cores:
        command = ("ingest", str(sources), "--out", str(table))
        _line(f"ingest, local[{number}]", made.events, _groupcheck(number, conf, *command)[1])
        command = ("check", str(table), "--report", str(report))
        output, took = _groupcheck(number, conf, *command)
        _line(f"check, local[{number}]", made.events, took, _verdict(report, made, output))
    if options.copies:
        several = scratch / "copies"
        _copy(table, several, options.copies)
        many = made._replace(violations=_violations_of_copies(made, options.copies))
        command = ("check", str(several), "--report", str(report))
        output, took = _groupcheck(cores[-1], conf, *command)
        what = f"check, local[{cores[-1]}], copies"
        _line(what, made.events * options.copies, took, _verdict(report, many, output))
    if not options.no_plain:
        output, _, took = measured([sys.executable, str(HERE), "--plain", str(table)])
        found = {group: (path, line) for group, (path, line) in json.loads(output).items()}
        _line("check, plain process", made.events, took, _same(found, made))


def _copy(table: Path, into: Path, copies: int) -> None:
    """Write a table that has each group of another table several times, under other names."""
    shutil.copytree(table, into, ignore=shutil.ignore_patterns("part-*"))
    with Pool() as pool:
        each = product((table / "events").iterdir(), (into / "events",), (copies,))
        pool.starmap(_copy_file, each, chunksize=1)


def _copy_file(file: Path, into: Path, copies: int) -> None:
    events = pq.read_table(file)
    for number in range(copies):
        renamed = {
            "group_id": pc.binary_join_element_wise(str(number), events["group_id"], "-"),
            "body": pc.replace_substring_regex(events["body"], NAMED, rf'"{number}-\1"'),
        }
        copied = events
        for name, column in renamed.items():
            field = events.schema.get_field_index(name)
            copied = copied.set_column(field, events.schema.field(name), column)
        pq.write_table(copied, into / f"{number}-{file.name}", compression="zstd")


def _violations_of_copies(made: Made, copies: int) -> dict[str, tuple[str, int]]:
    every = product(range(copies), made.violations.items())
    return {f"{number}-{group}": where for number, (group, where) in every}


def log_lines(profile: str, groups: int, lines: int, others: int) -> list[bytes]:
    """The lines of several groups by time, each after `others` lines of other classes."""
    random = Random(7)
    kinds: list[list[Printed]] = []
    while len(kinds) < KINDS:
        found = list(printed_on_a_walk(random, profile, "membership", 10 * lines))
        kinds += [found[:lines]] if len(found) >= lines else []
    printed = []
    for number in range(groups):
        for at, each in enumerate(kinds[number % KINDS]):
            at_ms = BEGAN_MS + 1_000 * at + number
            printed.append((at_ms, line(profile, each, f"group-{number}", at_ms)))
    texts = (text for _, text in sorted(printed))
    return [each.encode() + b"\n" for text in texts for each in (*[OTHER] * others, text)]


def logs(profile: str, texts: list[bytes]) -> None:
    """Read the lines, and check them."""
    began = time.process_time()
    automaton(profile)
    built = time.process_time()
    rows = LogReader("file:///bench.log", LogSource()).rows(
        map(Line, range(1, len(texts) + 1), texts)
    )
    events = [row for name, row in rows if name == "event"]
    events.sort(key=lambda event: event[:4])
    read = time.process_time()
    replays: dict[str, HistoryReplay] = {}
    for event in events:
        if event.group_id not in replays:
            replays[event.group_id] = begun(event)
        replays[event.group_id].take(event)
    verdicts = [
        row for replay in replays.values() for name, row in replay.end() if name == "verdict"
    ]
    over = time.process_time()
    wrong = [row for row in verdicts if row["verdict"] != "accepted"]
    assert not wrong, wrong[0]
    for what, number, seconds in (
        ("read", len(texts), read - built),
        ("checked", len(events), over - read),
        ("both", len(texts), over - built),
    ):
        rate = f"{number / seconds:10,.0f} a second"
        sys.stdout.write(f"{profile:<7} {what:<8} {number:9,} in {seconds:6.1f} s {rate}\n")
    sys.stdout.write(f"{profile:<7} the automaton is ready after {built - began:.1f} s\n")


def not_covered(profile: str) -> None:
    """Print how many steps each instance has that the automaton does not have."""
    found = instances(PROFILES[profile], MEMBERS)
    known = {step[:5] for name in INSTANCES[profile] for step in steps_of(found[name])}
    for name in found.keys() - set(INSTANCES[profile]):
        more = {step[:5] for step in steps_of(found[name])} - known
        sys.stdout.write(f"{profile:<7} {name:<28} {len(more)} more\n")


def offsets_topic(profile: str, records: int) -> None:
    """Read segments of the offsets topic, and check them."""
    batches = partition(profile, 30, 100)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        begun = time.process_time()
        subsets(profile)
        first_s = time.process_time() - begun
        offsets = write(where / f"{0:020}.log", profile, batches)
        while offsets[-1] < records:
            # The same groups continue after a gap, as after a compaction.
            base = offsets[-1] + 1
            offsets = write(where / f"{base:020}.log", profile, batches, base)
        size = sum(each.stat().st_size for each in where.iterdir())
        begun = time.process_time()
        checked = check_source(where)
        taken_s = time.process_time() - begun
    found = len(checked.tables.get("finding", []))
    sys.stdout.write(
        f"the automaton is ready after {first_s:.1f} s of CPU\n"
        f"{offsets[-1]:,} records, {size / 1e6:.1f} MB, {found} rejected: {taken_s:.1f} s, "
        f"{offsets[-1] / taken_s:,.0f} records a second on one core\n"
    )
    assert not found


if __name__ == "__main__":
    main()
