"""Speed and memory of exploring on Spark and in one process: `python bench/exploring.py`.

Both engines explore the same instances, one after the other, and must find the same states,
transitions, depth, statistics of actions and rules, digest of the states, violated properties, and
traces. One process also finds the components. `states` finds only the states and transitions.

With `--max-memory` one process must end because the limit is too small for the instance, and all
processes of Spark together must explore it with less. Its result is then compared with that of
`states`, which has no limit.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from processes import measured

from groupcheck.model.classic.exploring.exploration import Settings, chosen
from groupcheck.model.classic.exploring.fingerprint import digest, key, written
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import explore
from groupcheck.numeric_options import memory

SAME: Final = (
    "states",
    "transitions",
    "depth",
    "out_degree",
    "discovered",
    "actions",
    "rules",
    "digest",
)
INSTANCES: Final = (
    ("2.7", "membership", "2"),
    ("2.7", "membership", "3"),
    ("2.7", "membership", "4"),
    ("2.7", "failover", "3"),
    ("4.1", "static-storing", "4"),
)

Asked = tuple[str, str, str]


def _run(engine: str, command: list[str]) -> tuple[str, int, int]:
    """Run a command, and print its row: its output, its exit status and its peak in MB."""
    output, status, (seconds, mb, processor_s) = measured([sys.executable, *command])
    states = json.loads(output)["exploration"]["instances"][0]["states"] if output else 0
    sys.stdout.write(
        f"{engine:<8} {states:>9,} states {seconds:8.1f} s {processor_s:8.1f} s of CPU"
        f" {states / max(processor_s, 0.1):8,.0f} states a CPU second {mb:7,} MB\n"
    )
    sys.stdout.flush()
    return output, status, mb


def _explored(engine: str, asked: Asked, *more: str) -> tuple[dict[str, Any], int]:
    """The result of an engine of `groupcheck explore`, and its peak in MB."""
    output, status, mb = _run(engine, [*_command(asked), "--engine", engine, *more])
    assert status == 0
    found = json.loads(output)["exploration"]
    same = {name: found["instances"][0][name] for name in SAME}
    return same | {"properties": found["properties"]}, mb


def _command(asked: Asked) -> list[str]:
    profile, instance, members = asked
    command = ["-m", "groupcheck", "explore", "--json", "--profile", profile]
    return [*command, "--instance", instance, "--members", members]


def _states(asked: Asked) -> dict[str, Any]:
    """The states and transitions that the explorer finds in one process."""
    output, _, _ = _run("states", [__file__, "--states", *asked])
    found: dict[str, Any] = json.loads(output)["exploration"]["instances"][0]
    return found


def _print_states(profile: str, instance: str, members: str) -> None:
    found = explore(chosen(Settings(PROFILES[profile], int(members), (instance,)))[instance])
    keys = (key(written(node)) for node in found.nodes)
    counts = {
        "states": len(found.nodes),
        "transitions": found.transition_count,
        "depth": found.depth,
    }
    sys.stdout.write(
        json.dumps({"exploration": {"instances": [counts | {"digest": digest(keys)}]}})
    )


def _compared(asked: Asked, more: list[str]) -> None:
    """Compare both engines on an instance."""
    spark, _ = _explored("spark", asked, *more)
    python, _ = _explored("python", asked)
    assert spark == python, "the engines differ"
    states = _states(asked)
    assert states == {name: spark[name] for name in states}


def _limited(asked: Asked, more: list[str], size: str) -> None:
    """Assert that one process exceeds the memory limit, and Spark does not."""
    _, status, _ = _run("python", [*_command(asked), "--max-memory", size])
    assert status == 2, "one process needs less"
    spark, mb = _explored("spark", asked, *more)
    assert mb * 2**20 < memory(size), "Spark needs more"
    states = _states(asked)
    assert states == {name: spark[name] for name in states}, "the engines differ"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", help="of one instance, instead of several")
    parser.add_argument("--instance")
    parser.add_argument("--members")
    parser.add_argument("--max-memory", metavar="SIZE")
    parser.add_argument("--states", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--conf", metavar="NAME=VALUE", action="append", default=[])
    options = parser.parse_args()
    more = [each for setting in options.conf for each in ("--conf", setting)]
    if options.states:
        _print_states(*options.states)
        return
    one = (options.profile, options.instance, options.members)
    for asked in [one] if options.instance else INSTANCES:
        sys.stdout.write(f"{asked[1]} of {asked[0]}, members: {asked[2]}\n")
        if options.max_memory:
            _limited(asked, more, options.max_memory)
        else:
            _compared(asked, more)
    sys.stdout.write("all found the same\n")


if __name__ == "__main__":
    main()
