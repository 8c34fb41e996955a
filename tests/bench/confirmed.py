"""Each finding of one port beside what a real broker does: is it the port's alone?

    python tests/bench/confirmed.py kfake kafka:4.1 --examples 300

verifies the first by the version that the second is, and replays what was found on the second. A
finding that the broker shares would be wrong, or the broker's own: the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import sys

from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.source import PortSource, port_source
from groupcheck.properties.result import Settings
from groupcheck.properties.run import replay
from groupcheck.properties.verify import Verification
from groupcheck.reports.story import title

MOST_FINDINGS = 100


def found_on(spec: str, profile: str, examples: int, seed: int) -> list[Finding]:
    """What a port does otherwise than Kafka of that version."""
    source = port_source(spec, seed=seed)
    settings = Settings(profile, examples=examples, seed=seed, max_findings=MOST_FINDINGS)
    try:
        return Verification(source, settings).run().findings
    finally:
        source.stop()


def shares(source: PortSource, finding: Finding) -> str:
    """What is found of a broker by the same sequence; nothing where it is lawful."""
    port = source.connect()
    try:
        shared = replay(finding.sequence, port)
    finally:
        port.shutdown()
    return "" if shared is None else title(shared)


def main() -> int:
    """Print a row for each finding, and how many the broker shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port")
    parser.add_argument("broker")
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    said = parser.parse_args()
    broker = port_source(said.broker, seed=said.seed)
    shared = 0
    try:
        findings = found_on(said.port, broker.profile or "2.7", said.examples, said.seed)
        for finding in findings:
            as_well = shares(broker, finding)
            shared += bool(as_well)
            length = len(finding.sequence.steps)
            print(f"| {finding.finding_id} | {length} | {title(finding)} | {as_well or 'lawful'} |")  # noqa: T201
    finally:
        broker.stop()
    print(f"{len(findings)} findings, {shared} of them shared by {said.broker}")  # noqa: T201
    return 1 if shared else 0


if __name__ == "__main__":
    sys.exit(main())
