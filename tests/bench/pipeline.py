"""How fast recordings are taken in and checked, in how much memory: Spark beside a plain process.

Recordings are made from the model, with a known number of unlawful answers in known groups: each
run has to find all of them and no other. `--huge N` makes one group of N events among the others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.made_recordings import Made, Wanted, recordings
from support.processes import Peak

HERE = Path(__file__)


def plain(directory: Path) -> dict[str, tuple[str, int]]:
    """The same check in this process alone: what is unlawful, by group."""
    from groupcheck.pipeline.events import Event  # noqa: PLC0415 - in a process of its own
    from groupcheck.pipeline.replay import Replay  # noqa: PLC0415
    from groupcheck.pipeline.schemas import EVENTS  # noqa: PLC0415
    from groupcheck.pipeline.sources import lines  # noqa: PLC0415
    from groupcheck.pipeline.traces import TraceReader  # noqa: PLC0415

    found: dict[str, tuple[str, int]] = {}
    for path in sorted(directory.glob("*.jsonl")):
        replays: dict[str, Replay] = {}
        for name, row in TraceReader(str(path)).rows(lines(str(path))):
            if name == "event":
                event = Event._make(map(row.get, EVENTS.names))
                if event.group_id not in replays:
                    replays[event.group_id] = Replay(event)
                replays[event.group_id].take(event)
        for group_id, replay in replays.items():
            for name, row in replay.end():
                if name == "finding":
                    found[group_id] = str(path), row["line"]
    return found


class Took(NamedTuple):
    """What a command took: seconds, of processor too, and memory at its peak."""

    seconds: float
    mb: int = 0
    processor_s: float = 0


def _run(command: list[str]) -> tuple[str, Took]:
    """What a command prints, and what it took."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = Peak(process.pid)
    told, _ = process.communicate()
    seconds = time.monotonic() - began
    return told, Took(seconds, *peak.stop())


def _line(what: str, events: int, took: Took, note: str = "") -> None:
    seconds, mb, processor_s = took
    figures = f"{seconds:8.1f} s {events / seconds:10,.0f} events/s {mb:7,} MB"
    sys.stdout.write(f"{what:<24} {figures} {processor_s:8.1f} s of processor  {note}\n")
    sys.stdout.flush()


def _on_spark(directory: Path, made: Made, cores: int, conf: list[str]) -> None:
    common = ["--master", f"local[{cores}]", "--json", *conf]
    groupcheck = [sys.executable, "-m", "groupcheck"]
    out, report = (directory.parent / f"{name}-{cores}" for name in ("events", "report"))
    sources = ["ingest", str(directory), "--out", str(out)]
    _, took = _run([*groupcheck, *sources, *common])
    _line(f"ingest, {cores} cores", made.events, took)
    checked = ["check", str(out), "--report", str(report)]
    told, took = _run([*groupcheck, *checked, *common])
    _line(f"check, {cores} cores", made.events, took, _judged(report, made, told))


def _judged(report: Path, made: Made, told: str) -> str:
    """Whether all that is unlawful was found where it is, and nothing else."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - it comes with the extra

    rows = pq.read_table(report / "findings", columns=["group_id", "source", "line"]).to_pylist()
    found = {r["group_id"]: (r["source"].removeprefix("file://"), r["line"]) for r in rows}
    assert json.loads(told)["undecided"] == 0
    return _same(found, made)


def _same(found: dict[str, tuple[str, int]], made: Made) -> str:
    assert found == made.unlawful, f"{len(found)} found, {len(made.unlawful)} made"
    return f"all {len(found)} unlawful events found, no other"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=100, help="of each group")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--unlawful", type=int, default=50)
    parser.add_argument("--huge", type=int, default=0, help="events of one more group")
    parser.add_argument("--cores", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark's")
    parser.add_argument("--no-plain", action="store_true", help="leave the plain process out")
    parser.add_argument("--plain", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        sys.stdout.write(json.dumps(plain(options.plain)))
        return
    with tempfile.TemporaryDirectory(prefix="pipeline-") as scratch:
        directory = Path(scratch) / "recordings"
        directory.mkdir()
        began = time.monotonic()
        wanted = Wanted(options.groups, options.events, options.files, options.unlawful)
        made = recordings(directory, wanted._replace(huge=options.huge))
        _line("made", made.events, Took(time.monotonic() - began), f"{made.groups:,} groups")
        if not options.no_plain:
            told, took = _run([sys.executable, str(HERE), "--plain", str(directory)])
            found = {group: (path, line) for group, (path, line) in json.loads(told).items()}
            _line("both in a plain process", made.events, took, _same(found, made))
        conf = [part for each in options.conf for part in ("--conf", each)]
        for cores in options.cores:
            _on_spark(directory, made, cores, conf)


if __name__ == "__main__":
    main()
