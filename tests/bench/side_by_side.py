"""How many sequences a second a long run does on a broker, by how many are under way at once.

    python tests/bench/side_by_side.py [PORT...]

Only sequences that are free of time are run, of up to 30 steps; on `serve` and Kafka 2.7 if no port
is named. `undecided` are those that were under way while the broker did not answer within a second.
"""

from __future__ import annotations

import sys
from typing import Final

from groupcheck.properties.long_runs import long_run
from groupcheck.properties.ports.source import port_source
from groupcheck.properties.result import Settings
from groupcheck.properties.windows import LONG_RUN_GRACE_MS, Windows

AT_ONCE: Final = {1: 40, 10: 200, 48: 600, 100: 600, 400: 800}  # and how many sequences in all


def measure(spec: str) -> None:
    """Measure one broker, and print a line for each number of sequences at once."""
    for at_once, sequences in AT_ONCE.items():
        source = port_source(spec, windows=Windows(grace_ms=LONG_RUN_GRACE_MS))
        settings = Settings(
            source.profile or "2.7", steps=30, sequences=sequences, side_by_side=at_once
        )
        try:
            result = long_run.LongRun(source, settings).run()
        finally:
            source.stop()
        (stage,) = result.stages
        rate, steps = stage.sequences / stage.seconds, stage.steps / stage.seconds
        sys.stdout.write(
            f"{spec}: {at_once} at once, {rate:.1f} sequences a second, {steps:.0f} steps;"
            f" {stage.undecided} of {stage.sequences} undecided\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    long_run.STAGES = {"walks": 100}  # type: ignore[misc]
    for named in sys.argv[1:] or ["serve", "kafka:2.7"]:
        measure(named)
