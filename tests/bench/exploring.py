"""How fast a space is explored on Spark beside one process, in how much memory.

Both engines explore the same space, one after the other, and have to find the same: states, edges,
depth, the figures of each action and rule, the digest of the states. `--spark-alone` is for a space
that the memory of one process does not hold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.processes import Peak

SAME = ("states", "edges", "depth", "out_degree", "discovered", "actions", "rules", "digest")


def _explored(engine: str, asked: list[str]) -> dict[str, Any]:
    """What an engine finds of the space, with a line that says how long it took."""
    command = [sys.executable, "-m", "groupcheck", "explore", "--json", "--engine", engine, *asked]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = Peak(process.pid)
    told, _ = process.communicate()
    seconds = time.monotonic() - began
    mb, processor_s = peak.stop()
    (space,) = json.loads(told)["spaces"]
    states: int = space["states"]
    sys.stdout.write(
        f"{engine:<8} {states:>10,} states {seconds:8.1f} s {states / seconds:8,.0f} states/s"
        f" {mb:7,} MB {processor_s:8.1f} s of processor\n"
    )
    sys.stdout.flush()
    return {name: space[name] for name in SAME}


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="2.7")
    parser.add_argument("--space", default="static")
    parser.add_argument("--members", default="3")
    parser.add_argument("--spark-alone", action="store_true")
    options, more = parser.parse_known_args()
    asked = ["--profile", options.profile, "--space", options.space, "--members", options.members]
    found = _explored("spark", [*asked, *more])
    if not options.spark_alone:
        assert _explored("python", asked) == found, "the engines differ"
        sys.stdout.write("both found the same\n")


if __name__ == "__main__":
    main()
