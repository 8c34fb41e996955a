"""How much is judged of histories that are cut off in front, and which share of errors is found.

Groups as they are in production, cut at random, one answer of each spoilt at random. No lawful one
may be rejected, and nothing but what was spoilt be found.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from groupcheck.pipeline.recordings.events import Event
from support.production import Production
from support.replayed import as_events, at_once

ERRORS = (16, 22, 25, 27, 82)
GOOD = '"errorCode":0'


def cut(profile: str, random: Random, events: int) -> list[Event]:
    """A history without its beginning."""
    happened = Production(random, profile).go(events)
    rows = as_events(happened[random.randrange(1, events // 2) :], profile)
    header = {**json.loads(rows[0].body or ""), "before": True}
    return [rows[0]._replace(body=json.dumps(header)), *rows[1:]]


def spoilt(rows: list[Event], random: Random) -> tuple[list[Event], int]:
    """The history with another error in an answer, and the line of it."""
    answers = [
        n
        for n, row in enumerate(rows)
        if row.kind == "response" and GOOD in (row.body or "") and row.api != "OffsetFetch"
    ]
    at = random.choice(answers)
    body = (rows[at].body or "").replace(GOOD, f'"errorCode":{random.choice(ERRORS)}')
    return [*rows[:at], rows[at]._replace(body=body), *rows[at + 1 :]], rows[at].line


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=200, help="of each version")
    parser.add_argument("--events", type=int, default=4_000)
    options = parser.parse_args()
    for profile in ("2.7", "4.1"):
        counts: Counter[str] = Counter()
        for seed in range(options.histories):
            random = Random(seed)
            rows = cut(profile, random, options.events)
            verdict = next(row for name, row in at_once(rows).end() if name == "verdict")
            assert verdict["verdict"] != "rejected", seed
            counts["events"] += verdict["events"]
            counts["judged"] += verdict["accepted"]
            counts["known"] += verdict["verdict"] == "accepted"
            since = int(verdict["reason"].split()[-2]) if verdict["verdict"] == "accepted" else None
            bad, line = spoilt(rows, random)
            verdict = next(row for name, row in at_once(bad).end() if name == "verdict")
            late = since is not None and line > since
            counts["late"] += late
            if verdict["verdict"] == "rejected":
                counts["found"] += 1
                counts["found late"] += late
        told = (
            f"{profile}: {counts['known']} of {options.histories} known at some time, "
            f"{counts['judged'] / counts['events']:.0%} of the events judged; of the errors "
            f"{counts['found'] / options.histories:.0%} found, "
            f"{counts['found late'] / counts['late']:.0%} of those after the group was known"
        )
        sys.stdout.write(f"{told}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
