"""How fast brokers' logs are read and checked by one core, in one plain process without Spark.

The logs are made from the model: each run has to accept all of their groups. Beside the lines of
groups stand as many of other classes as asked for. `--spaces` shows instead, space by space, how
many steps it shows a log that the spaces of the automaton do not show.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import spaces
from groupcheck.pipeline.kernels import begun
from groupcheck.pipeline.logs.automaton import MEMBERS, SPACES, automaton, steps_of
from groupcheck.pipeline.logs.files import LogReader, Manner
from groupcheck.pipeline.logs.replay import LogReplay
from groupcheck.pipeline.recordings.events import Event
from groupcheck.pipeline.schemas import EVENTS
from groupcheck.pipeline.sources import Line
from support.made_logs import BEGAN_MS, Printed, line, walk

KINDS = 5  # histories, each of which stands for many groups
OTHER = "[2026-11-22 03:08:05,254] INFO [Log partition=t-0] Rolled new log segment. (kafka.log.Log)"


def made(profile: str, groups: int, lines: int, others: int) -> list[bytes]:
    """The lines of groups side by side, each after as many others."""
    random = Random(7)
    kinds: list[list[Printed]] = []
    while len(kinds) < KINDS:
        found = list(walk(random, profile, "membership", 10 * lines))
        kinds += [found[:lines]] if len(found) >= lines else []
    printed = []
    for number in range(groups):
        for at, each in enumerate(kinds[number % KINDS]):
            at_ms = BEGAN_MS + 1_000 * at + number
            printed.append((at_ms, line(profile, each, f"group-{number}", at_ms)))
    texts = (text for _, text in sorted(printed))
    return [each.encode() + b"\n" for text in texts for each in (*[OTHER] * others, text)]


def measure(profile: str, texts: list[bytes]) -> None:
    """Read the lines, and check them."""
    began = time.process_time()
    automaton(profile)
    built = time.process_time()
    rows = LogReader("file:///bench.log", Manner()).rows(map(Line, range(1, len(texts) + 1), texts))
    events = [Event._make(map(r.get, EVENTS.names)) for name, r in rows if name == "event"]
    events.sort(key=lambda event: event[:4])
    read = time.process_time()
    replays: dict[str, LogReplay] = {}
    for event in events:
        if event.group_id not in replays:
            replays[event.group_id] = begun(event)  # type: ignore[assignment]
        replays[event.group_id].take(event)
    told = [row for replay in replays.values() for name, row in replay.end() if name == "verdict"]
    over = time.process_time()
    wrong = [row for row in told if row["verdict"] != "accepted"]
    assert not wrong, wrong[0]
    for what, number, seconds in (
        ("read", len(texts), read - built),
        ("checked", len(events), over - read),
        ("both", len(texts), over - built),
    ):
        rate = f"{number / seconds:10,.0f} a second"
        sys.stdout.write(f"{profile:<7} {what:<8} {number:9,} in {seconds:6.1f} s {rate}\n")
    sys.stdout.write(f"{profile:<7} the automaton is made in {built - began:.1f} s\n")


def show_spaces(profile: str) -> None:
    """How many steps each space shows that those of the automaton do not."""
    found = spaces(PROFILES[profile], MEMBERS)
    known = {step[:5] for name in SPACES[profile] for step in steps_of(found[name])}
    for name in found.keys() - set(SPACES[profile]):
        more = {step[:5] for step in steps_of(found[name])} - known
        sys.stdout.write(f"{profile:<7} {name:<28} {len(more)} more\n")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="2.7", choices=("0.10.2", "2.7", "4.1"))
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--lines", type=int, default=100, help="of each group")
    parser.add_argument("--others", type=int, default=1, help="lines of other classes beside each")
    parser.add_argument("--spaces", action="store_true")
    options = parser.parse_args()
    if options.spaces:
        show_spaces(options.profile)
        return
    measure(options.profile, made(options.profile, options.groups, options.lines, options.others))


if __name__ == "__main__":
    main()
