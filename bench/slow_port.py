"""The time to verify a slow port: `python bench/slow_port.py [OPTION]`.

Verifies the built-in coordinator as a program that waits before each answer: with one program, and
with several side by side. Ends with status 1 if one run covers transitions that the other does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from whole_runs import run_whole

from groupcheck.properties.ports.source import port_source
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.verify import Verification
from support.waiting_program import port_of


def main() -> None:
    """Print a row for each number of programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ms", type=float, default=5.0, help="the time for each message (5)")
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--programs", type=int, nargs="+", default=[1, 16])
    options = parser.parse_args()
    sys.stdout.write("| programs | seconds | ratio | sequences | steps | covered |\n")
    sys.stdout.write("| ---: | ---: | ---: | ---: | ---: | ---: |\n")
    first_s, covered = 0.0, set[int]()
    for programs in options.programs:
        settings = Settings(members=options.members, walks=500, side_by_side=programs)
        began_s = time.monotonic()
        result = run_whole(Verification(port_source(port_of(options.ms)), settings))
        took_s = time.monotonic() - began_s
        first_s = first_s or took_s
        covered.add(_covered(result))
        figures = f"{programs} | {took_s:.1f} | {first_s / took_s:.1f} | {result.sequences:,}"
        sys.stdout.write(f"| {figures} | {result.steps:,} | {_covered(result):,} |\n")
        sys.stdout.flush()
        if result.findings:
            sys.exit(f"a finding: {result.findings[0].key}")
    if len(covered) > 1:
        sys.exit("the runs cover different numbers of transitions")


def _covered(result: Result) -> int:
    """The transitions covered, and those of allowed outcomes not observed."""
    counts = [instance.transitions for instance in result.instances]
    return sum(each.covered + each.not_observed for each in counts)


if __name__ == "__main__":
    main()
