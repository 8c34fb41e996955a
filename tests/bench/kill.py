"""Kill a program that appends to a log, many times: `python tests/bench/kill.py --times 200`.

It fails if anything that was acknowledged is lost, or if the log cannot be opened once.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.killing import kills

LONGEST_S = 1.0


class Count(logging.Handler):
    """Counts what the log says when it is opened."""

    count = 0

    def emit(self, _: logging.LogRecord) -> None:
        """Count it."""
        self.count += 1


def main() -> None:
    """Kill, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torn = Count()
    logging.getLogger("groupcheck").addHandler(torn)
    started = time.perf_counter()
    acknowledged = largest = 0
    with tempfile.TemporaryDirectory() as name:
        for look in kills(Path(name), arguments.times, arguments.seed, LONGEST_S):
            acknowledged += look.acknowledged
            largest = max(largest, look.size)
            if look.lost:
                sys.exit("lost: " + "; ".join(look.lost))
    seconds = time.perf_counter() - started
    print(  # noqa: T201 - it is what this is for
        f"{arguments.times} kills in {seconds:,.0f} s: {acknowledged:,} appends acknowledged, none"
        f" lost; {torn.count} torn tails cut off; the log never had more than {largest:,} bytes"
    )


if __name__ == "__main__":
    main()
