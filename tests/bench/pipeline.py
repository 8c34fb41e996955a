"""How fast recordings are taken in and checked, in how much memory: Spark beside a plain process.

Groups are as in production, made from the model, with a known number of unlawful answers in known
groups: each run has to find all of them and no other. `--huge N` makes one group of N events among
the others. With `--table` what `ingest` would write is made, and `check` alone is measured.
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

from support.made_in_bulk import Bulk, events, recordings
from support.made_recordings import Made
from support.processes import Peak

HERE = Path(__file__)


def plain(directory: Path) -> dict[str, tuple[str, int]]:
    """The same check of a table of events in this process alone: what is unlawful, by group."""
    from groupcheck.pipeline.ingest import stored  # noqa: PLC0415 - in a process of its own
    from groupcheck.pipeline.kernels import event_batches, replay  # noqa: PLC0415

    return {
        row["group_id"]: (row["source"].removeprefix("file://"), row["line"])
        for file in stored(str(directory))
        for batch in replay(event_batches(file))
        for row in batch.column("finding").drop_null().to_pylist()
    }


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


def _groupcheck(cores: int, conf: list[str], *command: str) -> tuple[str, Took]:
    common = ["--master", f"local[{cores}]", "--json", "--overwrite", *conf]
    return _run([sys.executable, "-m", "groupcheck", *command, *common])


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
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=1_000, help="of each group")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--unlawful", type=int, default=50)
    parser.add_argument("--huge", type=int, default=0, help="events of one more group")
    parser.add_argument("--table", action="store_true", help="make a table of events")
    parser.add_argument("--cores", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark's")
    parser.add_argument("--no-plain", action="store_true", help="leave the plain process out")
    parser.add_argument("--scratch", type=Path, help="where to write meanwhile")
    parser.add_argument("--plain", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        sys.stdout.write(json.dumps(plain(options.plain)))
        return
    wanted = Bulk(options.groups, options.events, options.files, options.unlawful, options.huge)
    conf = [part for each in options.conf for part in ("--conf", each)]
    with tempfile.TemporaryDirectory(prefix="pipeline-", dir=options.scratch) as scratch:
        measure(Path(scratch), wanted, options.cores, conf, options)


def measure(
    scratch: Path, wanted: Bulk, cores: list[int], conf: list[str], options: argparse.Namespace
) -> None:
    """Make what is wanted, and measure each command with it."""
    sources, table, report = (scratch / name for name in ("sources", "table", "report"))
    began = time.monotonic()
    if options.table:
        made = events(table, wanted)
    else:
        sources.mkdir()
        made = recordings(sources, wanted)
    _line("made", made.events, Took(time.monotonic() - began), f"{made.groups:,} groups")
    for number in cores:
        if not options.table:
            command = ("ingest", str(sources), "--out", str(table))
            _line(f"ingest, local[{number}]", made.events, _groupcheck(number, conf, *command)[1])
        command = ("check", str(table), "--report", str(report))
        told, took = _groupcheck(number, conf, *command)
        _line(f"check, local[{number}]", made.events, took, _judged(report, made, told))
    if not options.no_plain:
        told, took = _run([sys.executable, str(HERE), "--plain", str(table)])
        found = {group: (path, line) for group, (path, line) in json.loads(told).items()}
        _line("check, plain process", made.events, took, _same(found, made))


if __name__ == "__main__":
    main()
