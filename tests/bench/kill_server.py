"""Kill a server that keeps its groups in a directory: `python tests/bench/kill_server.py`.

Clients commit and rebalance meanwhile. It fails if anything that they were told is lost, or if the
server does not come up again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.served_process import CLIENTS, kills

LONGEST_S = 1.0


def main() -> None:
    """Kill, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", default="2.7")
    arguments = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        profile = ("--profile", arguments.profile)
        found = kills(Path(name), arguments.times, arguments.seed, LONGEST_S, *profile)
    if found.lost:
        sys.exit("lost: " + "; ".join(found.lost))
    seconds = time.perf_counter() - started
    print(  # noqa: T201 - it is what this is for
        f"profile {arguments.profile}: {arguments.times} kills in {seconds:,.0f} s,"
        f" {CLIENTS} clients: {found.acknowledged:,} answers to commits and joins, none lost"
    )


if __name__ == "__main__":
    main()
